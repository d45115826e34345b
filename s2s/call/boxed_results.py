"""The classes of the objects that a call of a kernel creates for its results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..transforms.frontend.pytree import Argument, Either, Fixed, Out, OutTree
from ..transforms.ir.nodes import Array, Scalar, Type

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled

INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
NUMPY_SCALARS = INTEGERS | {"float32", "float64", "complex64", "complex128"}
DTYPES = NUMPY_SCALARS | {"bool"}


def boxed_results(compiled: Compiled) -> list[str]:
    """The boxed form of each result: "array", or the class of a scalar, where "int", "float" and
    "bool" are the Python types; empty for other results."""
    returned = {i for tree in (compiled.out, *compiled.grads) for i in _leaves(tree)}
    return [_result(type_, i in returned) for i, type_ in enumerate(compiled.result_types)]


def _result(type_: Type, returned: bool) -> str:
    dtype = getattr(type_, "dtype", "")
    if dtype not in DTYPES:
        return ""
    if isinstance(type_, Array):
        return "array"
    if not isinstance(type_, Scalar):
        return ""
    if dtype in ("bool", "int64"):
        return "int" if dtype == "int64" else "bool"
    # A result that is not returned to the user is stored in an object: a Python float remains one.
    return "float" if type_.weak and dtype == "float64" and not returned else dtype


def _leaves(tree: OutTree) -> Iterator[int]:
    if isinstance(tree, Out):
        yield tree.index
    elif isinstance(tree, Either):
        yield tree.condition.index
        yield from _leaves(tree.first)
        yield from _leaves(tree.second)
    elif not isinstance(tree, (Argument, Fixed)):
        for child in tree.children:
            yield from _leaves(child)
