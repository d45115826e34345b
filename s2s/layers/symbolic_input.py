"""What a layer will give: layers called on an `Input` before there are any data.

Each has an example, which a batch of one gave; so shapes are known and weights are made at once.
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
    """A layer, called on symbols."""

    layer: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    number: int = field(default_factory=count().__next__)  # those it needs have smaller ones


@dataclass(eq=False)
class Symbol:
    """What a call gives, or one part of it."""

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
        raise TypeError("what a layer will give cannot be iterated")

    # NumPy would make an array of objects of it.
    __array_ufunc__ = None

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "what a layer will give is no array yet; use a layer, layers.Lambda(function) for one "
            "of your own"
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
    """Whether it is one, or a list with one in it."""
    if isinstance(value, (list, tuple)):
        return any(map(is_symbol, value))
    return isinstance(value, Symbol)


def examples(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([examples(v) for v in value])
    return value.example if isinstance(value, Symbol) else value


def promised(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The symbols of what a layer gives for symbols."""
    # An example teaches nothing: a layer that keeps what it sees while training shall not.
    others = {name: examples(v) for name, v in kwargs.items() if name != "training"}
    given = layer(*examples(args), **others)
    made = Made(layer, args, kwargs)
    if isinstance(given, (list, tuple)):
        return tuple(Symbol(g, made, part) for part, g in enumerate(given))
    return Symbol(given, made)
