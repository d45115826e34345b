"""Whether a call of a Python builtin has arguments that the builtin takes.

The evaluator's own versions of builtins assume it.  `inspect.signature` knows most builtins;
those it does not know are described here.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

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


def misfit(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What is wrong with the arguments of a builtin, or an empty text."""
    signature = _signature(function)
    if signature is not None:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            return f"{function.__name__}(): {error}"
    return ""


@functools.cache
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(_STANDINS.get(function, function))
    except (TypeError, ValueError):
        return None
