"""Symbolic outputs: the results of layers called on an `Input`, before there are data.

Each symbol has an example value, computed from a batch of one.  Thus shapes are known and weights
are created immediately.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np


@dataclass(eq=False)
class Made:
    """A recorded call of a layer on symbols."""

    layer: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    number: int = field(default_factory=count().__next__)  # topological order: inputs come first


@dataclass(eq=False)
class Symbol:
    """The result of a recorded call, or element `part` of it."""

    example: Any
    made: Made | None = None
    part: int | None = None

    @property
    def shape(self) -> tuple[Any, ...]:
        return (None, *np.shape(self.example)[1:])

    def __add__(self, other: Any) -> Any:
        return operated(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return operated(operator.add, self, other)

    def __sub__(self, other: Any) -> Any:
        return operated(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return operated(operator.add, -self, other)

    def __mul__(self, other: Any) -> Any:
        return operated(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return operated(operator.mul, self, other)

    def __truediv__(self, other: Any) -> Any:
        return operated(operator.truediv, self, other)

    def __neg__(self) -> Any:
        return operated(operator.mul, self, -1.0)

    def __getitem__(self, index: Any) -> Any:
        return operated(operator.getitem, self, index)

    def __iter__(self) -> Any:
        raise TypeError("the symbolic output of a layer cannot be iterated")

    # Keeps NumPy from converting a symbol to an array of objects.
    __array_ufunc__ = None

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "the symbolic output of a layer is not an array; use a layer, or "
            "layers.Lambda(function) for a function of your own"
        )


def _operation(function: Callable[..., Any]) -> Any:
    raise AssertionError("set by register_operation")


def register_operation(layer: Callable[..., Any]) -> None:
    """Sets the layer that an operator between symbols becomes.  Layers are defined in terms of
    symbols, so this module cannot import it."""
    global _operation
    _operation = layer


def operated(function: Callable[..., Any], left: Any, right: Any) -> Any:
    return _operation(function)(left, right)


def is_symbol(value: Any) -> bool:
    """True for a symbol, or a list or tuple that contains one."""
    if isinstance(value, (list, tuple)):
        return any(map(is_symbol, value))
    return isinstance(value, Symbol)


def examples(value: Any) -> Any:
    """The value with each symbol replaced by its example."""
    if isinstance(value, (list, tuple)):
        return type(value)([examples(v) for v in value])
    return value.example if isinstance(value, Symbol) else value


def promised(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call of a layer on symbols; return the symbols of its results."""
    # `training` is not passed with the examples, so that layers do not update their moving
    # statistics from them.
    others = {name: examples(v) for name, v in kwargs.items() if name != "training"}
    given = layer(*examples(args), **others)
    made = Made(layer, args, kwargs)
    if isinstance(given, (list, tuple)):
        return tuple(Symbol(g, made, part) for part, g in enumerate(given))
    return Symbol(given, made)
