"""Results of the `tf` namespace as tensors: immutable arrays.

The functions are written with NumPy.  `gives_tensors` wraps them for plain Python.  The compiler
compiles the wrapped function instead, and marks its results as tensors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..objects.tensor import immutable, is_immutable
from ..objects.variable import Variable


def gives_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that its results are tensors.  A result is copied only if it shares memory
    with a mutable array among the arguments."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if is_immutable(result):  # a tape distinguishes targets from sources by identity
            return result.view() if any(result is x for x in args) else result
        return _as_tensors(result, [*_arrays(args), *_arrays(kwargs)])

    call._s2s_instead = function  # type: ignore[attr-defined]
    call._s2s_tensors = True  # type: ignore[attr-defined]
    return call


def export(space: dict[str, Any]) -> None:
    """Wrap the functions of a module that are listed in its `__all__`."""
    for name in space["__all__"]:
        if inspect.isfunction(space[name]) and not hasattr(space[name], "_s2s_tensors"):
            space[name] = gives_tensors(space[name])


def _as_tensors(value: Any, given: list[Any]) -> Any:
    if isinstance(value, np.ndarray):
        if is_immutable(value):
            return value
        shared = any(value is x or np.may_share_memory(value, x) for x in given)
        return immutable(np.array(value) if shared else value)
    if isinstance(value, (np.generic, bool)):
        return immutable(value)
    if isinstance(value, Variable):
        return immutable(value.numpy())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_as_tensors(v, given) for v in value))
    if type(value) in (tuple, list):
        return type(value)(_as_tensors(v, given) for v in value)
    if type(value) is dict:
        return {k: _as_tensors(v, given) for k, v in value.items()}
    return value


def _arrays(value: Any) -> Iterator[Any]:
    """The mutable arrays in a nested structure."""
    if isinstance(value, np.ndarray):
        if not is_immutable(value):
            yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _arrays(part)
    elif isinstance(value, dict):
        yield from _arrays(tuple(value.values()))
