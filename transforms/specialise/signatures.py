"""Whether a call of a Python builtin has arguments that the builtin takes.

The evaluator's own versions of builtins assume it.  `inspect.signature` knows most builtins;
those it does not know are described here.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

_POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
_POSITIONAL_OR_KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD

# Stand-ins with the parameters of builtins that have no signature of their own.


def _range(first: Any, second: Any = 0, third: Any = 1, /) -> None: ...
def _zip(*iterables: Any, strict: Any = False) -> None: ...
def _map(function: Any, first: Any, /, *iterables: Any) -> None: ...
def _filter(function: Any, iterable: Any, /) -> None: ...
def _extreme(first: Any, /, *rest: Any, key: Any = None, default: Any = None) -> None: ...
def _int(x: Any = 0, /, base: Any = 10) -> None: ...
def _bool(x: Any = False, /) -> None: ...
def _str(object: Any = "", encoding: Any = "", errors: Any = "") -> None: ...
def _next(iterator: Any, default: Any = None, /) -> None: ...
def _iter(iterable: Any, sentinel: Any = None, /) -> None: ...
def _getattr(object: Any, name: Any, default: Any = None, /) -> None: ...
def _slice(first: Any, second: Any = None, third: Any = None, /) -> None: ...


_STANDINS = {
    range: _range, zip: _zip, map: _map, filter: _filter, min: _extreme, max: _extreme, int: _int,
    bool: _bool, str: _str, next: _next, iter: _iter, getattr: _getattr, slice: _slice,
}  # fmt: skip


def misfit(function: Any, args: Sequence[object], kwargs: dict[str, Any]) -> str:
    """What is wrong with the arguments of a builtin, or an empty text."""
    signature = _signature(function)
    if signature is not None:
        if not _is_exact(function):
            args = args[: _positional(signature)]
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            return f"{function.__name__}(): {error}"
    return ""


def _is_exact(function: Any) -> bool:
    """Whether the signature is what the function goes by.  Functions that NumPy writes in C may
    take more arguments by position than their signature says: `np.arange(0, 3, 1, float)`."""
    inner = getattr(function, "__wrapped__", function)
    module = str(getattr(function, "__module__", "")).partition(".")[0]
    return isinstance(inner, (types.FunctionType, np.ufunc)) or module != "numpy"


def _positional(signature: inspect.Signature) -> int:
    kinds = [p.kind for p in signature.parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return sys.maxsize
    return sum(k in (_POSITIONAL_ONLY, _POSITIONAL_OR_KEYWORD) for k in kinds)


@functools.cache
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(_STANDINS.get(function, function))
    except (TypeError, ValueError):
        return None
