"""The syntax of arguments on the command line: `--args "float32[32,784], 0 <= int64[32] < 10"`.

A type stands for a pseudo-random value of that type, drawn with a fixed seed.  `float64[n,3]` has a
named size, `float64[:,:]` default sizes.  Comparisons bound the values.  `name=…` is a keyword
argument.  Anything else is a Python expression, evaluated in the namespace of the function's file.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .exit_codes import CommandError

ANY_SIZE = 8
# Named sizes are distinct, so that mixed-up axes cause an error.
NAMED_SIZES = (8, 6, 10, 7, 12, 9)
DEFAULT_INTEGER = 3  # small, because most integer arguments are counts
ADVICE = (
    'write types as float32[32,784], float64[n,3], int, or values; "0 < float64[3]" bounds them'
)

DTYPES = {
    **{name: name for name in (
        "float16", "float32", "float64", "int8", "int16", "int32", "int64",
        "uint8", "uint16", "uint32", "uint64", "complex64", "complex128",
    )},
    "float": "float64", "int": "int64", "bool": "bool", "complex": "complex128",
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}  # fmt: skip


@dataclass
class Bounds:
    """The bounds on values that a comparison such as `0 < x <= 1` states."""

    low: float | None = None
    high: float | None = None
    includes_high: bool = False


@dataclass
class ExampleMaker:
    """Makes example values of types.  `sizes` maps size names to sizes, `evaluate` evaluates
    expressions that are not types."""

    sizes: dict[str, int] = field(default_factory=dict)
    evaluate: Callable[[str], Any] = ast.literal_eval
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def arguments(self, text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and keyword arguments of a text with the syntax of call arguments."""
        tree = self._parse(f"_({text}\n)", text)
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
            raise CommandError(f"--args {text!r}: these are not arguments", ADVICE)
        args = tuple(self._value(a, text) for a in tree.args)
        return args, {k.arg: self._value(k.value, text) for k in tree.keywords if k.arg}

    def value(self, text: str) -> Any:
        """The value of one type or expression."""
        return self._value(self._parse(text, text), text)

    def _parse(self, code: str, text: str) -> ast.expr:
        try:
            return ast.parse(code.strip(), mode="eval").body
        except SyntaxError:
            raise CommandError(f"{text!r} cannot be read", ADVICE) from None

    def _value(self, node: ast.expr, text: str, bounds: Bounds | None = None) -> Any:
        if isinstance(node, ast.Compare):
            return self._bounded(node, text)
        if isinstance(node, ast.Name) and node.id in DTYPES:
            return self.number(node.id, bounds)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            if node.value.id in DTYPES:
                axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                return self.of_axes(node.value.id, axes, text, bounds)
        if isinstance(node, (ast.Tuple, ast.List)):
            parts = [self._value(e, text) for e in node.elts]
            return tuple(parts) if isinstance(node, ast.Tuple) else parts
        if isinstance(node, ast.Dict) and None not in node.keys:
            keys = [ast.literal_eval(k) for k in node.keys if k is not None]
            return dict(zip(keys, (self._value(v, text) for v in node.values)))
        return self.evaluate(ast.unparse(node))

    def of_axes(self, name: str, axes: Sequence[ast.expr], text: str, bounds: Bounds | None) -> Any:
        """An array whose axes are given as expressions."""
        shape = tuple(self._size(a, text) for a in axes)
        return self.array(DTYPES[name], shape, bounds)

    def _size(self, node: ast.expr, text: str) -> int:
        if isinstance(node, ast.Slice) and (node.lower, node.upper, node.step) == (None,) * 3:
            return ANY_SIZE
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= 0:
            return node.value
        if isinstance(node, ast.Name):
            taken = len(self.sizes) % len(NAMED_SIZES)
            return self.sizes.setdefault(node.id, NAMED_SIZES[taken])
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            sides = self._size(node.left, text), self._size(node.right, text)
            return _ARITHMETIC[type(node.op)](*sides)
        raise CommandError(f"{text!r}: {ast.unparse(node)} is no size", ADVICE)

    def _bounded(self, node: ast.Compare, text: str) -> Any:
        parts, bounds, of = [node.left, *node.comparators], Bounds(), None
        for left, sign, right in zip(parts, node.ops, parts[1:]):
            if isinstance(sign, (ast.Gt, ast.GtE)):
                left, right = right, left
            elif not isinstance(sign, (ast.Lt, ast.LtE)):
                return self.evaluate(ast.unparse(node))
            if isinstance(right, ast.Constant) or isinstance(right, ast.UnaryOp):
                of, bounds.high = left, ast.literal_eval(right)
                bounds.includes_high = isinstance(sign, (ast.LtE, ast.GtE))
            else:
                of, bounds.low = right, ast.literal_eval(left)
        assert of is not None
        return self._value(of, text, bounds)

    # ---- values

    def number(self, name: str, bounds: Bounds | None = None) -> Any:
        """A scalar of a dtype.  `float`, `int`, `bool`, `complex`, `float64` and `int64` give
        Python scalars, the others NumPy scalars."""
        dtype = np.dtype(DTYPES[name])
        if bounds is None and dtype.kind in "iub":
            value: Any = dtype.type(DEFAULT_INTEGER if dtype.kind != "b" else True)
        else:
            value = self.array(dtype.name, (1,), bounds)[0]
        return (
            value.item()
            if name in ("float", "int", "bool", "complex", "float64", "int64")
            else value
        )

    def array(self, dtype: str, shape: tuple[int, ...], bounds: Bounds | None = None) -> Any:
        kind = np.dtype(dtype).kind
        bounds = bounds or Bounds()
        low, high = bounds.low, bounds.high
        if kind == "b":
            return self.rng.random(shape) < 0.5
        if kind in "iu":  # small, since integers are often used as indices
            first = 0 if low is None else int(np.ceil(low))
            last = first + 1 if high is None else int(high) - (not bounds.includes_high)
            return self.rng.integers(first, max(first, last) + 1, shape).astype(dtype)
        drawn: Any = self.rng.standard_normal(shape)
        if low is not None and high is not None:
            drawn = low + (high - low) * self.rng.uniform(0.05, 0.95, shape)
        elif low is not None:
            drawn = low + 0.1 + np.abs(drawn)
        elif high is not None:
            drawn = high - 0.1 - np.abs(drawn)
        if kind == "c":
            drawn = drawn + 1j * self.rng.standard_normal(shape)
        return np.asarray(drawn).astype(dtype)

    def like(self, value: Any) -> Any:
        """An array of the same shape and dtype: random for floating dtypes, else zeros."""
        if value.dtype.kind in "fc":
            return self.array(value.dtype.name, value.shape)
        return np.zeros(value.shape, value.dtype)


@dataclass
class SignatureMaker(ExampleMaker):
    """Returns types as strings instead of values, for the signature of an ahead-of-time library
    with named sizes."""

    names: int = 0

    def number(self, name: str, bounds: Bounds | None = None) -> Any:
        return DTYPES[name]

    def of_axes(self, name: str, axes: Sequence[ast.expr], text: str, bounds: Bounds | None) -> Any:
        return self._typed(DTYPES[name], [self._axis(a, text) for a in axes])

    def like(self, value: Any) -> Any:
        return self._typed(value.dtype.name, [self._any_size() for _ in value.shape])

    def _typed(self, dtype: str, axes: list[str]) -> str:
        return f"{dtype}[{','.join(axes)}]"

    def _axis(self, node: ast.expr, text: str) -> str:
        if isinstance(node, ast.Name):
            return str(self.sizes.get(node.id, node.id))
        return self._any_size() if isinstance(node, ast.Slice) else str(self._size(node, text))

    def _any_size(self) -> str:
        self.names += 1
        return f"size_{self.names}"
