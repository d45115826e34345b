"""Products that are linear in each of two operands: shared by `matmul` and `einsum`."""

from __future__ import annotations

from typing import Any

from ...ir.builder import Builder, Sym
from ...ir.nodes import Array, Scalar, Type
from ...ir.symbolic_dims import Dim

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def typed(dtype: str, shape: tuple[Dim, ...]) -> Type:
    return Array(dtype, shape) if shape else Scalar(dtype)


def swap_last(x: Sym) -> Sym:
    """The matrices of a stack, each transposed."""
    axes = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return x.b.emit("transpose", x, axes=axes)


def bilinear(name: str) -> Any:
    """The tangent of a product."""

    def pushforward(b: Builder, dots: Any, out: Any, args: Any, attrs: dict[str, Any]) -> Sym:
        terms = [
            b.emit(name, *args[:i], dot, *args[i + 1 :], **attrs)
            for i, dot in enumerate(dots)
            if dot is not None
        ]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    return pushforward
