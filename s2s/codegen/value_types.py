"""The types of what machine code computes with: numbers, and arrays of them.

They mean what Numba's types of the same names mean, and are here so that Numba need not be loaded
for a kernel that does without it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..transforms.ir.record import field, record


@record(frozen=True)
class Number:
    """Named as NumPy names the dtype."""

    name: str
    bits: int

    def __str__(self) -> str:
        return self.name

    @property
    def bytes(self) -> int:
        return max(self.bits // 8, 1)


class Boolean(Number):
    pass


class Integer(Number):
    @property
    def signed(self) -> bool:
        return self.name[0] == "i"


class Float(Number):
    pass


class Complex(Number):
    @property
    def part(self) -> Number:
        return float32 if self.bits == 64 else float64


@record(frozen=True)
class Array:
    """`layout` is "C", or "A" if it may be any."""

    dtype: Any
    ndim: int
    layout: str
    readonly: bool = False

    def with_rank(self, ndim: int) -> Array:
        return replace(self, ndim=ndim)

    def lent(self) -> Array:
        return replace(self, readonly=True)


@record(frozen=True)
class Tuple:
    """What a function returns."""

    types: tuple[Any, ...]


@record(frozen=True)
class Literal:
    """A number that decides what is computed."""

    value: int


@record(frozen=True)
class Opaque:
    """What is only ever passed on to functions of Numba's, who know it by type."""

    name: str
    numba: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.name


boolean = Boolean("bool", 1)
float32, float64 = Float("float32", 32), Float("float64", 64)
complex64, complex128 = Complex("complex64", 64), Complex("complex128", 128)
int64 = intp = Integer("int64", 64)
none, string, generator = Opaque("none"), Opaque("str"), Opaque("generator")

_INTEGERS = [Integer(f"{s}int{n}", n) for n in (8, 16, 32, 64) for s in ("", "u")]
NUMBERS: dict[str, Number] = {
    n.name: n for n in (boolean, float32, float64, complex64, complex128, *_INTEGERS)
}


def of_dtype(dtype: Any) -> Any:
    """A dtype that there is no number for is opaque."""
    name = np.dtype(dtype).name
    return NUMBERS.get(name) or Opaque(name)


def of_spec(spec: Any) -> Any:
    """The type of an argument that is an array or a number (`ArraySpec`, `ScalarSpec`)."""
    dtype = of_dtype(spec.dtype)
    if not hasattr(spec, "ndim"):
        return dtype
    return Array(dtype, spec.ndim, spec.layout, readonly=not spec.writeable)


@record(frozen=True, eq=False)
class Callee:
    """An operator or a function for arguments of certain types; `numba` is what Numba knows it by
    and the signature, if Numba was asked."""

    function: Any
    args: tuple[Any, ...]
    result: Any
    numba: Any = None
    gathers: bool = False  # whether it takes its last arguments as a tuple
