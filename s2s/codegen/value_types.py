"""Types of the code generator: scalars, arrays of scalars, tuples and opaque values.

They correspond to Numba's types of the same names.  They are defined here so that Numba is not
imported for kernels that do not need it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..transforms.ir.record import field, record


@record(frozen=True)
class Number:
    """A scalar type; `name` is NumPy's name of the dtype."""

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
    """An array type; `layout` is "C" (contiguous) or "A" (any strides)."""

    dtype: Any
    ndim: int
    layout: str
    readonly: bool = False

    def with_rank(self, ndim: int) -> Array:
        return replace(self, ndim=ndim)

    def read_only(self) -> Array:
        """The read-only type of the same array (`kernels.lent`)."""
        return replace(self, readonly=True)


@record(frozen=True)
class Tuple:
    """The type of a function's results."""

    types: tuple[Any, ...]


@record(frozen=True)
class Literal:
    """An integer constant that overload resolution depends on, such as an exponent."""

    value: int


@record(frozen=True)
class Opaque:
    """A type that is only passed through to Numba functions; `numba` is its Numba type."""

    name: str
    numba: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.name


boolean = Boolean("bool", 1)
float32, float64 = Float("float32", 32), Float("float64", 64)
complex64, complex128 = Complex("complex64", 64), Complex("complex128", 128)
int64 = intp = Integer("int64", 64)
none, string, generator = Opaque("none"), Opaque("str"), Opaque("generator")

_INTEGER_TYPES = [Integer(f"{s}int{n}", n) for n in (8, 16, 32, 64) for s in ("", "u")]
NUMBERS: dict[str, Number] = {
    n.name: n for n in (boolean, float32, float64, complex64, complex128, *_INTEGER_TYPES)
}


def of_dtype(dtype: Any) -> Any:
    """The type of a NumPy dtype: a scalar type, or `Opaque` for any other dtype."""
    name = np.dtype(dtype).name
    return NUMBERS.get(name) or Opaque(name)


def of_spec(spec: Any) -> Any:
    """The type of an array or scalar argument (`ArraySpec`, `ScalarSpec`)."""
    dtype = of_dtype(spec.dtype)
    if not hasattr(spec, "ndim"):
        return dtype
    return Array(dtype, spec.ndim, spec.layout, readonly=not spec.writeable)


@record(frozen=True, eq=False)
class Callee:
    """A resolved overload of an operator or function; `numba` is (Numba's function type, signature)
    if Numba resolved it."""

    function: Any
    args: tuple[Any, ...]
    result: Any
    numba: Any = None
    gathers: bool = False  # whether the last arguments are passed as one tuple (*args)
