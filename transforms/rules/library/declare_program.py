"""Declares the programs of the library, by the paths users know them under."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir.builder import Builder
from ...ir.errors import UnsupportedError
from ...ir.op_registry import surface
from ..declare import as_operand, scipy_operands
from ..promotion import result_dtype

LIBRARY: dict[str, Callable[..., Any]] = {}


KINKS: dict[str, str] = {}


def written(*paths: str, kinks: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares what stands for the function at each of these paths, and its convention where it
    has no derivative."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        for path in paths:
            assert path not in LIBRARY, path
            LIBRARY[path] = f
            KINKS[path] = kinks
        return f

    return declare


def view_of(x: Any, value: Any, writeable: bool = False) -> Any:
    """In a program of the library: the result of the function shares memory with x."""
    return value


@surface(f"{__name__}.view_of")
def build_view_of(b: Builder, x: Any, value: Any, writeable: bool = False) -> Any:
    return value if value.operand == x.operand else b.view(value, writeable)


def unsupported(message: str) -> None:
    """In a program of the library: refuses the call while it is compiled."""
    raise UnsupportedError(message)


@surface(f"{__name__}.unsupported")
def build_unsupported(b: Builder, message: str) -> None:
    unsupported(message)


def scipy_floats(*operands: Any, single: bool = False) -> Any:
    """In a program of the library: the operands in the dtype that SciPy computes in."""
    return operands


@surface(f"{__name__}.scipy_floats")
def build_scipy_floats(b: Builder, *operands: Any, single: bool = False) -> Any:
    return tuple(scipy_operands([as_operand(b, x) for x in operands], single))


def numpy_float(x: Any) -> Any:
    """In a program of the library: x as NumPy's functions of floats take it, which of whole
    numbers give float16, float32 or float64 by their size."""
    return x


@surface(f"{__name__}.numpy_float")
def build_numpy_float(b: Builder, x: Any) -> Any:
    operand = as_operand(b, x)
    return operand.astype(result_dtype("exp", (operand.type,)))
