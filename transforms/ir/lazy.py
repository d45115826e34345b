"""Values that are computed at their first use and then kept, without a lock.

`functools.cached_property` holds one lock per class while it computes, in Python 3.10 and 3.11.  A
computation that waits for another lock meanwhile, such as Numba's, deadlocks with a thread that
holds that lock and reads the property of another object.  `functools.cache` has no lock, but hands
different values to threads that ask for the first time at the same time.  Here such threads may
each compute, and all get the value that was kept first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, overload

T = TypeVar("T")
P = ParamSpec("P")


class lazy(Generic[T]):
    """A property of the object, kept in its dictionary."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        return vars(instance).setdefault(self.name, self.compute(instance))


class once(Generic[P, T]):
    """A function whose results are `kept` by arguments, which are positional and hashable."""

    def __init__(self, compute: Callable[P, T]) -> None:
        self.compute = compute
        self.kept: dict[Any, T] = {}
        update_wrapper(self, compute)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        if args not in self.kept:
            self.kept.setdefault(args, self.compute(*args))  # type: ignore[call-arg]
        return self.kept[args]
