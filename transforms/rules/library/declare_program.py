"""Declaration of library programs, and the intrinsics that they call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.builder import Builder
from ...ir.errors import UnsupportedError
from ...ir.op_registry import surface
from ..declare import as_operand, scipy_operands
from ..promotion import result_dtype

# Programs by path.
LIBRARY: dict[str, Callable[..., Any]] = {}


# Conventions at kinks by path, for docs/rules.md.
KINKS: dict[str, str] = {}


def library_program(
    *paths: str, kinks: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated program for the functions at `paths`; `kinks` states the convention
    for its derivative where there is none."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        for path in paths:
            assert path not in LIBRARY, path
            LIBRARY[path] = f
            KINKS[path] = kinks
        return f

    return declare


def view_of(x: Any, value: Any, writeable: bool = False) -> Any:
    """Intrinsic: `value`, marked as sharing memory with x in NumPy."""
    return value


@surface(f"{__name__}.view_of")
def build_view_of(b: Builder, x: Any, value: Any, writeable: bool = False) -> Any:
    return value if value.operand == x.operand else b.view(value, writeable)


def unsupported(message: str) -> None:
    """Intrinsic: raise UnsupportedError at compile time."""
    raise UnsupportedError(message)


@surface(f"{__name__}.unsupported")
def build_unsupported(b: Builder, message: str) -> None:
    unsupported(message)


def scipy_floats(*operands: Any, single: bool = False) -> Any:
    """Intrinsic: the operands, cast to the dtype in which SciPy computes."""
    return operands


@surface(f"{__name__}.scipy_floats")
def build_scipy_floats(b: Builder, *operands: Any, single: bool = False) -> Any:
    return tuple(scipy_operands([as_operand(b, x) for x in operands], single))


def numpy_float(x: Any) -> Any:
    """Intrinsic: x, cast as NumPy's float ufuncs cast it: integers become float16, float32 or
    float64, according to their size."""
    return x


@surface(f"{__name__}.numpy_float")
def build_numpy_float(b: Builder, x: Any) -> Any:
    operand = as_operand(b, x)
    return operand.astype(result_dtype("exp", (operand.type,)))
