"""Lock-free lazy evaluation: a lazy property and a memoised function.

In Python 3.10 and 3.11, `functools.cached_property` holds one lock per class during the
computation.  If the computation acquires another lock, such as Numba's, it deadlocks with a thread
that holds that lock and reads the property of another object.  `functools.cache` has no lock, but
returns different values to threads whose first calls are concurrent.  Here such threads may each
compute, and all get the value that was stored first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, overload

T = TypeVar("T")
P = ParamSpec("P")


class lazy_property(Generic[T]):
    """A property that is computed at the first access and stored in the object's dictionary."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> lazy_property[T] | T:
        if instance is None:
            return self
        return vars(instance).setdefault(self.name, self.compute(instance))


class memoize(Generic[P, T]):
    """A memoised function.  `kept` maps arguments, which are positional and hashable, to
    results."""

    def __init__(self, compute: Callable[P, T]) -> None:
        self.compute = compute
        self.kept: dict[Any, T] = {}
        update_wrapper(self, compute)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        if args not in self.kept:
            self.kept.setdefault(args, self.compute(*args))  # type: ignore[call-arg]
        return self.kept[args]
