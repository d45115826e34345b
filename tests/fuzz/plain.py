"""A random program under plain Python: its value, what it writes, its slope, its ties."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import operator
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("x", "m", "y", "d", "s", "n", "idx")
WRT = NAMES[:5]
TIE = 1e-7
_serial = itertools.count()
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Eq": operator.eq, "NotEq": operator.ne,
}  # fmt: skip


def load(source: str, folder: Path, main: str = "f") -> Callable[..., Any]:
    """The program as a module in a file, so that its source can be found."""
    name = f"fuzzed_{next(_serial)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(source, str(path), "exec"), vars(module))
    del sys.modules[name]
    return vars(module)[main]


class _Watched(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        tests: list[ast.expr] = []
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators):
            sign = ast.Constant(type(op).__name__)
            tests.append(ast.Call(ast.Name("_compared_", ast.Load()), [left, right, sign], []))
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


@dataclass
class Watched:
    """The program with an eye on its comparisons; `gap` is how near the nearest one came to
    a tie, `strange` whether a float operation overflowed or made a NaN."""

    source: str
    gap: float = np.inf
    strange: bool = False

    def __post_init__(self) -> None:
        tree = ast.fix_missing_locations(_Watched().visit(ast.parse(self.source)))
        space: dict[str, Any] = {"_compared_": self.compared}
        exec(compile(tree, "<watched>", "exec"), space)
        self.function = space["f"]

    def compared(self, a: Any, b: Any, sign: str) -> Any:
        if np.result_type(a, b).kind == "f" and np.size(a) and np.size(b):
            self.gap = min(self.gap, float(np.min(np.abs(np.subtract(a, b)))))
        return _OPERATORS[sign](a, b)

    def __call__(self, *args: Any) -> Any:
        self.gap, self.strange = np.inf, False
        with np.errstate(over="call", invalid="call", divide="call", call=self._note):
            return self.function(*args)

    def _note(self, *_: Any) -> None:
        self.strange = True


@dataclass
class Run:
    """One run of the program: what went in, what came out, and the derivative along a
    direction (None where it cannot be told)."""

    n: int
    args: list[Any]
    after: list[Any]
    value: float
    gap: float
    direction: list[Any]
    slope: float | None
    noise: float
    scale: float

    @property
    def writes(self) -> bool:
        return not all(map(np.array_equal, self.args, self.after))


def arguments(n: int, seed: int = 0) -> list[Any]:
    """Numbers that float32 can hold, so that both precisions start from the same."""
    rng = np.random.default_rng([n, seed])

    def floats(*shape: int) -> Any:
        return rng.uniform(-1, 1, shape).astype(np.float32).astype(np.float64)

    idx = rng.integers(0, n + 2, 3)
    return [floats(n + 2), floats(n + 2, 3), floats(n), floats(), float(floats()), n, idx]


def copied(args: list[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def moved(args: list[Any], direction: list[Any], t: float) -> list[Any]:
    out = copied(args)
    for k, v in enumerate(direction):
        shifted = out[k] + t * v
        out[k] = np.asarray(shifted) if isinstance(out[k], np.ndarray) else float(shifted)
    return out


def along(f: Callable[..., Any], args: list[Any], direction: list[Any], h: float) -> float:
    """The derivative of f along a direction, by the five-point formula."""
    a, b, c, d = (float(f(*moved(args, direction, t))) for t in (h, -h, 2 * h, -2 * h))
    return (8.0 * (a - b) - (c - d)) / (12.0 * h)


def rounding(f: Callable[..., Any], args: list[Any], value: float) -> float:
    """How far the last bits of the arguments move the value of a chaotic program, and more."""
    nudged = copied(args)
    for k in range(len(WRT)):
        up = np.nextafter(nudged[k], np.inf)
        nudged[k] = np.asarray(up) if isinstance(nudged[k], np.ndarray) else float(up)
    bent = [a * (1.0 + 3e-16) if isinstance(a, np.ndarray) and k < 3 else a
            for k, a in enumerate(copied(args))]  # fmt: skip
    return 100.0 * max(abs(float(f(*nudged)) - value), abs(float(f(*bent)) - value))


def plain_run(
    f: Callable[..., Any], watched: Watched, n: int, args: list[Any] | None = None
) -> Run | None:
    """None where nothing can be compared: the value is not finite, too large or not a float,
    something overflowed on the way, or a comparison lies within rounding of a tie."""
    args = args or arguments(n)
    after = copied(args)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = watched(*after)
            value = float(result)
        if watched.strange or watched.gap < TIE or not abs(value) < 1e6:
            return None
        if np.result_type(result).kind != "f":
            return None
        rng = np.random.default_rng(n)
        direction = [rng.normal(size=np.shape(args[k])) for k in range(len(WRT))]
        with np.errstate(all="ignore"):
            fine = along(f, args, direction, 1e-4)
            noise = rounding(f, args, value)
    except (ArithmeticError, TypeError, ValueError) as error:
        # Some of NumPy's views may not be written, nor integers with fractions: such a program is
        # not one.
        known = ("read-only", "Cannot cast ufunc")
        if not watched.strange and not any(text in str(error) for text in known):
            raise
        return None
    scale = max(1.0, abs(fine), abs(value))
    steady = np.isfinite(fine) and noise < 1e-6 * scale
    slope = fine if steady else None
    return Run(n, args, after, value, watched.gap, direction, slope, noise, scale)


def confirmed(f: Callable[..., Any], run: Run, actual: float) -> bool:
    """Whether differences with other steps contradict a derivative, too, and agree with one
    another: a kink between the points of a difference leads it astray."""
    with np.errstate(all="ignore"):
        slopes = [along(f, run.args, run.direction, h) for h in (1e-4, 3e-5, 1e-5, 3e-6)]
    agree = max(slopes) - min(slopes) < 1e-4 * run.scale
    return agree and all(abs(actual - s) > 1e-5 * run.scale for s in slopes)
