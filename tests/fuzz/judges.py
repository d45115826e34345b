"""The oracles of random programs.  Each raises `Wrong`, or `Skipped` if it does not apply.

loops, python, numba, njit, native
                      the value, the writes, the directional derivative and a second call, on a
                      backend, with new memory filled with NaN
aot                   the same by a library that is built ahead of time, for one trip count
float32, layouts      the same in single precision; with arguments of any memory layout
forward               tangents against adjoints
second, nested        the Hessian is symmetric; reverse over reverse is forward over reverse
tapes                 a tape, compiled and in plain Python, against reverse mode
hessian, vmap         many directions, or many arguments, at once and one by one
without …             the gradient with one optimisation switched off
chunks                parallelisable loops with one iteration per chunk, the last chunk first
jax                   the gradient by JAX, for programs without in-place writes
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

import numpy as np

from s2s.transforms.specialise.calls.calls import surface_of
from tests.switches import SWITCHES, switched_off, threads_everywhere

from .generate import is_pure
from .plain import NAMES, WRT, Run, confirmed, copied, plain_run


class Wrong(Exception):
    """The program is compiled wrongly."""


class Skipped(Exception):
    """The oracle does not apply to the program."""


Judge = Callable[[Any, Run], None]  # of a trial and a run

MACHINE_CODE = ("numba", "njit", "native")


# ---------------------------------------------------------------- memory


@contextmanager
def poisoned() -> Iterator[None]:
    """Fill uninitialised memory with NaN, and with integers that are invalid indices."""
    empty, empty_like = np.empty, np.empty_like
    surface_of(empty)  # the compiler must recognise NumPy's function, not its replacement

    def fill(out: Any) -> Any:
        if out.dtype.kind == "f":
            out.fill(np.nan)
        elif out.dtype.kind in "iu":
            out.fill(np.iinfo(out.dtype).max // 2)
        return out

    with (
        mock.patch.object(np, "empty", lambda *a, **k: fill(empty(*a, **k))),
        mock.patch.object(np, "empty_like", lambda *a, **k: fill(empty_like(*a, **k))),
    ):
        yield


# ---------------------------------------------------------------- backends


def compared(trial: Any, run: Run, g: Any, poison: bool = True) -> tuple[Any, ...]:
    """Call a gradient and compare the value, the gradients and the arguments; return the
    gradients."""
    given = copied(run.args)
    with poisoned() if poison else nullcontext():
        out, gradients = g(*given)
    if not close(out, run.value, 1e-9 * run.scale + run.noise):
        raise Wrong(f"value {out!r}, expected {run.value!r}")
    for name, a, b in zip(NAMES, given, run.after):
        if np.array_equal(a, b):
            continue
        if not np.allclose(a, b, rtol=1e-9, atol=1e-12 + run.noise):
            raise Wrong(f"{name} is {a}, expected {b}")
    for name, a, b in zip(WRT, gradients, run.args):
        if np.shape(a) != np.shape(b):
            raise Wrong(f"the gradient of {name} has shape {np.shape(a)}, not {np.shape(b)}")
    if run.slope is not None:
        actual = dot(gradients, run.direction)
        if not close(actual, run.slope, 1e-5 * run.scale + 1e3 * run.noise):
            if not np.isfinite(actual) or confirmed(trial.function, run, actual):
                raise Wrong(f"derivative {actual!r}, expected {run.slope!r}")
    return gradients


def on(backend: str) -> Judge:
    def judge(trial: Any, run: Run) -> None:
        g = trial.gradient(backend)
        # Machine code does not allocate by NumPy.
        first = compared(trial, run, g, poison=backend not in MACHINE_CODE)
        if run.n == 2:
            second = g(*copied(run.args))[1]
            if any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(first, second)):
                raise Wrong("a second call gives another gradient")
        trial.gradients.setdefault(run.n, first)

    return judge


def aot(trial: Any, run: Run) -> None:
    """Compare, unless the library's size relations exclude the arguments."""
    try:
        compared(trial, run, trial.library(run).f, poison=False)
    except ValueError as error:
        if re.search("but should have|sizes do not fit together", str(error)):
            raise Skipped from None
        raise


def float32(trial: Any, run: Run) -> None:
    """Compare with the gradient in float64, as far as the program is well conditioned."""
    if run.gap < 1e-3 or run.slope is None:
        raise Skipped
    base = trial.known(run)
    args = [np.float32(a) if k < len(WRT) else a for k, a in enumerate(copied(run.args))]
    args[3] = np.asarray(args[3])
    with np.errstate(all="ignore"):
        value = float(trial.function(*copied(args)))
    _, gradients = trial.gradient("loops")(*copied(args))
    rng = np.random.default_rng(0)
    spread = 0.0
    for _ in range(2):
        bent = copied(run.args)
        for k in range(len(WRT)):
            bent[k] = bent[k] + np.asarray(3e-6 * rng.normal(size=np.shape(bent[k])))
        bent[4] = float(bent[4])
        other = trial.gradient("loops")(*bent)[1]
        spread = max(
            spread, *(float(np.max(np.abs(a - b), initial=0)) for a, b in zip(other, base))
        )
    if abs(value - run.value) > 1e-4 * run.scale or spread > 1e-3 * run.scale:
        raise Skipped
    for name, a, b in zip(WRT, gradients, base):
        if np.asarray(a).dtype != np.float32:
            raise Wrong(f"the float32 gradient of {name} is {np.asarray(a).dtype}")
        if not np.allclose(a, b, rtol=2e-3, atol=2e-3 * run.scale + 30 * spread):
            raise Wrong(f"the float32 gradient of {name} is {a}, in float64 {b}")


def layouts(trial: Any, run: Run) -> None:
    base = trial.known(run)
    x, m, y, *rest = copied(run.args)
    m = np.asfortranarray(m)
    x, y = np.repeat(x, 2)[::2], y[::-1].copy()[::-1]
    if not trial.writes:
        m.flags.writeable = y.flags.writeable = False
    gradients = trial.gradient("loops")(x, m, y, *rest)[1]
    same(gradients, base, run, "with strided arguments")


# ---------------------------------------------------------------- other modes


def forward_mode(trial: Any, run: Run) -> None:
    """The tangent along a direction equals the dot product of gradient and direction."""
    expected = dot(trial.known(run), run.direction)
    for backend in ("loops", "python"):
        jvp = trial.derived("jvp", backend)
        x, *rest = copied(run.args)
        with poisoned():
            value, slope = jvp(x, seeds(run.direction), *rest)
        if not close(value, run.value, 1e-9 * run.scale + run.noise):
            raise Wrong(f"value {value!r} in forward mode, expected {run.value!r}")
        if not close(slope, expected, 1e-8 * run.scale + 1e3 * run.noise):
            raise Wrong(f"forward mode gives {slope!r}, reverse mode {expected!r}")


def second_order(trial: Any, run: Run) -> None:
    """v·(H w) = w·(H v), by forward mode over reverse mode."""
    if run.slope is None:
        raise Skipped
    v, w = run.direction, another(run)
    first = dot(product(trial, run, v), w)
    second = dot(product(trial, run, w, "python"), v)
    agree(run, first, second, "the Hessian is not symmetric")


def nested(trial: Any, run: Run) -> None:
    """Reverse over reverse equals forward over reverse."""
    if run.slope is None:
        raise Skipped
    v, w = run.direction, another(run)
    twice = trial.nested()(*copied(run.args), *seeds(v))[1]
    agree(run, dot(twice, w), dot(product(trial, run, v), w), "reverse over reverse")


def hessian(trial: Any, run: Run) -> None:
    """All directions of x in one sweep equal single directions."""
    if run.slope is None:
        raise Skipped
    v, w = run.direction[0], another(run)[0]
    only = [v, *(np.zeros(np.shape(d)) for d in run.direction[1:])]
    whole = trial.derived("hessian", "loops", wrt="x")(*copied(run.args))
    agree(run, w @ whole @ v, dot(product(trial, run, only)[:1], [w]), "the whole Hessian")


def tapes(trial: Any, run: Run) -> None:
    """A tape equals reverse mode: with the query after its block, in a later branch, and in plain
    Python, on the values at entry of the block."""
    compiled, plain = trial.taped()
    with mock.patch.dict(os.environ, S2S_BACKEND="loops"):
        ways = [compiled(*copied(run.args), again) for again in (False, True)]
        ways.append(plain(*copied(run.args)))
    for got, where in zip(ways, ("a tape", "a tape in a branch", "a tape in plain Python")):
        same(got, trial.known(run), run, where)


def vmap(trial: Any, run: Run) -> None:
    """Gradients of many elements at once are the gradients of each."""
    axes = (0, 0, 0, None, 0, None, None)
    rng = np.random.default_rng(run.n)
    many = [run.args]
    for _ in range(2):
        other = copied(run.args)
        other[0], other[1] = (rng.uniform(-1, 1, np.shape(a)) for a in other[:2])
        other[4] = float(rng.uniform(-1, 1))
        if plain_run(trial.function, trial.watched, run.n, other) is None:
            raise Skipped
        many.append(other)
    stacked = [np.stack([args[k] for args in many]) if a == 0 else run.args[k]
               for k, a in enumerate(axes)]  # fmt: skip
    mapped = trial.mapped(axes)(*stacked)
    for k, args in enumerate(many):
        expected = trial.derived("grad", "loops")(*copied(args))
        for name, a, b in zip(WRT, mapped, expected):
            if not np.allclose(a[k], b, rtol=1e-8, atol=1e-9 * run.scale + 1e3 * run.noise):
                raise Wrong(f"element {k} of the gradient of {name} is {a[k]}, not {b}")


def product(trial: Any, run: Run, direction: list[Any], backend: str = "loops") -> Any:
    """The Hessian times a direction."""
    x, *rest = copied(run.args)
    with poisoned():
        return trial.derived("hvp", backend)(x, seeds(direction), *rest)


def another(run: Run) -> list[Any]:
    rng = np.random.default_rng(run.n + 7)
    return [rng.normal(size=np.shape(v)) for v in run.direction]


def seeds(direction: list[Any]) -> tuple[Any, ...]:
    *arrays, number = direction
    return (*(np.asarray(d) for d in arrays), float(number))


def agree(run: Run, first: float, second: float, what: str) -> None:
    if not (np.isfinite(first) and np.isfinite(second)):
        raise Wrong(f"second derivatives {first!r} and {second!r}")
    if abs(first - second) > 1e-7 * max(run.scale, abs(first)) + 1e6 * run.noise:
        raise Wrong(f"{what}: {first!r} and {second!r}")


def jax_gradient(trial: Any, run: Run) -> None:
    if run.n != 2 or not is_pure(trial.source) or run.slope is None:
        raise Skipped
    try:
        import jax
    except ImportError as error:
        raise Skipped from error
    jax.config.update("jax_enable_x64", True)
    source = trial.source.replace("import numpy as np", "import jax.numpy as np")
    space: dict[str, Any] = {}
    exec(compile(source, "<jax>", "exec"), space)
    try:
        expected = jax.grad(space["f"], argnums=tuple(range(len(WRT))))(*copied(run.args))
    except Exception as error:
        raise Skipped from error
    slope = dot([np.asarray(e) for e in expected], run.direction)
    actual = dot(trial.known(run), run.direction)
    if np.isfinite(slope) and not close(actual, slope, 1e-8 * run.scale + 1e3 * run.noise):
        if not close(actual, run.slope, 1e-6 * run.scale):
            raise Wrong(f"derivative {actual!r}, by JAX {slope!r}")


# ---------------------------------------------------------------- optimisations


def without(switch: str) -> Judge:
    """A fresh copy of the program, compiled with one optimisation off."""

    def judge(trial: Any, run: Run) -> None:
        with switched_off(switch):
            for backend in ("loops", "python"):
                compared(trial, run, trial.gradient(backend, switch))

    return judge


def chunks(trial: Any, run: Run) -> None:
    """Chunks in another order find dependences between iterations."""
    backwards = mock.patch("s2s.kernels.prange", lambda n: reversed(range(n)))
    with threads_everywhere(), backwards:
        compared(trial, run, trial.gradient("loops", "chunks", parallel=None))


def turned(trial: Any, run: Run) -> None:
    """Reverse the axis order of all buffers whose layout may be changed."""
    layout = "s2s.transforms.lower.memory.layout"
    with (
        mock.patch(f"{layout}.MIN_REUSE_PER_ELEMENT", -np.inf),
        mock.patch(f"{layout}._winning_order", lambda votes, sizes: tuple(range(len(sizes)))[::-1]),
    ):
        compared(trial, run, trial.gradient("loops", "turned"))


JUDGES: dict[str, Judge] = {
    **{backend: on(backend) for backend in ("loops", "python", *MACHINE_CODE)}, "aot": aot,
    "float32": float32, "layouts": layouts, "forward": forward_mode, "second": second_order,
    "nested": nested, "hessian": hessian, "tapes": tapes, "vmap": vmap, "jax": jax_gradient,
    "chunks": chunks, "turned": turned,
    **{f"without {switch}": without(switch) for switch in SWITCHES},
}  # fmt: skip
ALWAYS = ("loops", "python")
ON_REQUEST = (*MACHINE_CODE, "aot")  # slow: they generate machine code
EXTRAS = tuple(name for name in JUDGES if name not in (*ALWAYS, *ON_REQUEST))


# ---------------------------------------------------------------- comparing


def close(a: Any, b: float, tolerance: float) -> bool:
    return bool(np.isfinite(a)) and abs(float(a) - b) <= tolerance


def dot(a: Any, b: Any) -> float:
    return sum(float(np.sum(p * q)) for p, q in zip(a, b))


def same(got: Any, base: Any, run: Run, what: str) -> None:
    for name, a, b in zip(WRT, got, base):
        if not np.allclose(
            a, b, rtol=1e-8, atol=1e-9 * run.scale + 1e3 * run.noise, equal_nan=True
        ):
            raise Wrong(f"{what} the gradient of {name} is {a}, not {b}")
