"""A random program under plain Python: its value, its writes, its directional derivative, its
ties."""

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
    """The program with instrumented comparisons.  `gap` is the smallest distance of two compared
    values; `strange` is True if a float operation overflowed or produced a NaN."""

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
    """One run of the program: the arguments, the outcome, and the derivative along a direction
    (None if differences do not determine it)."""

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
    """Arguments that float32 represents exactly, so that both precisions have equal inputs."""
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
    """The tolerance for a chaotic program: the change of its value by the last bits of the
    arguments, with a margin."""
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
    """Run the program.  None if it is not comparable: the value is not finite, too large or not a
    float, an operation overflowed, or a comparison is within rounding of a tie."""
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
        # The program is invalid if it writes to a read-only view, or a fraction to an integer
        # array.
        known = ("read-only", "Cannot cast ufunc")
        if not watched.strange and not any(text in str(error) for text in known):
            raise
        return None
    scale = max(1.0, abs(fine), abs(value))
    steady = np.isfinite(fine) and noise < 1e-6 * scale
    slope = fine if steady else None
    return Run(n, args, after, value, watched.gap, direction, slope, noise, scale)


def confirmed(f: Callable[..., Any], run: Run, actual: float) -> bool:
    """True if differences with other steps also contradict a derivative, and agree with one
    another.  A single difference is wrong if there is a kink between its points."""
    with np.errstate(all="ignore"):
        slopes = [along(f, run.args, run.direction, h) for h in (1e-4, 3e-5, 1e-5, 3e-6)]
    agree = max(slopes) - min(slopes) < 1e-4 * run.scale
    return agree and all(abs(actual - s) > 1e-5 * run.scale for s in slopes)
