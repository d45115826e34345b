"""One program, judged: plain Python against the backends, directional differences against
gradients, arguments, repetition."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

WRT = ("x", "m", "s")
_serial = itertools.count()


@dataclass
class Verdict:
    """`kind` is "ok", "skipped" (nothing to compare), "refused" or "failed"."""

    kind: str
    reason: str = ""
    where: tuple[str, int] | None = None  # backend and trip count


def load(source: str, folder: Path) -> Callable[..., Any]:
    """The program as a module in a file, so that its source can be found."""
    name = f"fuzzed_{next(_serial)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    del sys.modules[name]
    return module.f


def arguments(n: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng([n, seed])
    idx = rng.integers(0, n + 2, 3)
    x, m = rng.uniform(-1, 1, n + 2), rng.uniform(-1, 1, (n + 2, 3))
    return [x, m, float(rng.uniform(-1, 1)), n, idx]


def copied(args: list[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def along(f: Callable[..., Any], args: list[Any], direction: list[Any], h: float) -> float:
    """The derivative of f along a direction, by the five-point formula."""

    def at(t: float) -> float:
        moved = copied(args)
        for k in range(3):
            moved[k] = moved[k] + t * direction[k]
        return float(f(*moved))

    return (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h)


def rounding(f: Callable[..., Any], args: list[Any], value: float) -> float:
    """How far the last bits of the arguments move the value of a chaotic program, and more."""
    moved = [a * (1.0 + 3e-16) if k < 3 else a for k, a in enumerate(copied(args))]
    nudged = [np.nextafter(a, np.inf) if k < 3 else a for k, a in enumerate(copied(args))]
    return 100.0 * max(abs(float(f(*moved)) - value), abs(float(f(*nudged)) - value))


def judge(
    source: str,
    folder: Path,
    backends: tuple[str, ...] = ("loops", "python"),
    trips: Any = range(4),
) -> Verdict:
    import s2s

    f = load(source, folder)
    transformed = {b: s2s.value_and_grad(f, wrt=WRT, backend=b) for b in backends}
    compared = False
    for n in trips:
        args = arguments(n)
        after = copied(args)
        with np.errstate(all="ignore"):
            value = float(f(*after))
            if not np.isfinite(value) or abs(value) > 1e6:
                continue
            rng = np.random.default_rng(n)
            direction = [rng.normal(size=np.shape(args[k])) for k in range(3)]
            fine, coarse = (along(f, args, direction, h) for h in (2e-4, 5e-4))
            noise = rounding(f, args, value)
        scale = max(1.0, abs(fine), abs(value))
        stable = np.isfinite(fine) and abs(fine - coarse) < 1e-6 * scale
        for backend, g in transformed.items():
            label = f"n={n}, backend {backend}"
            fail = functools.partial(Verdict, "failed", where=(backend, n))
            given = copied(args)
            try:
                out, gradients = g(*given)
            except s2s.UnsupportedError as error:
                return Verdict("refused", error.message)
            except Exception as error:  # noqa: BLE001
                return fail(f"{label}: {type(error).__name__}: {error}")
            if not close(out, value, 1e-9 * scale + noise):
                return fail(f"{label}: value {out!r}, expected {value!r}")
            for name, a, b in zip(("x", "m"), given, after):
                if not np.allclose(a, b, rtol=1e-9, atol=1e-12 + noise):
                    return fail(f"{label}: {name} is {a}, expected {b}")
            if stable:
                compared = True
                actual = sum(float(np.sum(d * v)) for d, v in zip(gradients, direction))
                if not close(actual, fine, 1e-5 * scale + 1e3 * noise):
                    return fail(f"{label}: derivative {actual!r}, expected {fine!r}")
            if any(not np.array_equal(a, b, equal_nan=True)
                   for a, b in zip(gradients, g(*copied(args))[1])):  # fmt: skip
                return fail(f"{label}: a second call gives another gradient")
    return Verdict("ok" if compared else "skipped")


def close(a: Any, b: float, tolerance: float) -> bool:
    return bool(np.isfinite(a)) and abs(float(a) - b) <= tolerance
