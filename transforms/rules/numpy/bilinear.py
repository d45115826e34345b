"""Helpers of multilinear products, shared by `matmul`, `outer` and `einsum`."""

from __future__ import annotations

from typing import Any

from ...ir.builder import Builder, Sym
from ...ir.nodes import Array, Scalar, Type
from ...ir.symbolic_dims import Dim

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def array_or_scalar(dtype: str, shape: tuple[Dim, ...]) -> Type:
    """An array type, or a scalar type if the shape is empty."""
    return Array(dtype, shape) if shape else Scalar(dtype)


def transpose_matrices(x: Sym) -> Sym:
    """The transpose of each matrix of a stack."""
    axes = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    return x.b.emit("transpose", x, axes=axes)


def multilinear_pushforward(name: str) -> Any:
    """The pushforward of a multilinear operation: the product rule."""

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
