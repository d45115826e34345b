"""A count of the changes that may decide structure.

What is compiled for objects holds as long as they are what they were.  Looking at every attribute
in every call would take longer than a small step; so the classes of this package announce when
one is set, on an object or on a class, and are looked at again only then.  A user's class does the
same by deriving from `Announces`; objects that announce nothing are looked at in every call.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from abc import ABCMeta as _ProtocolMeta
else:
    _ProtocolMeta = type(Protocol)  # it derives from ABCMeta

# Read in every call, so it is an item of a list that never changes its place.
changes = [0]

_NUMBERS = (int, float)


class AnnouncingType(_ProtocolMeta):
    """A class that announces when one of its attributes is set or deleted, such as a method or its
    bases.  (It derives from the class of protocols so that users can mix in those, and abstract
    classes.)"""

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        changes[0] += 1

    def __delattr__(cls, name: str) -> None:
        super().__delattr__(name)
        changes[0] += 1

    # Nobody registers virtual subclasses; looking for them takes longer than a small kernel.
    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


class Announces(metaclass=AnnouncingType):
    """Objects whose attributes are set one by one, never through `__dict__`."""

    def __setattr__(self, name: str, value: Any) -> None:
        before = self.__dict__.get(name)
        object.__setattr__(self, name, value)
        # A number in place of another decides nothing, or is looked at in every call.
        if type(value) not in _NUMBERS or type(before) is not type(value):
            changes[0] += 1

    # To the compiler this is as good as object's own.
    __setattr__._s2s_plain = True  # type: ignore[attr-defined]

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        changes[0] += 1


class AnnouncingModule(types.ModuleType):
    """A module that announces when one of its names is bound anew from outside."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        changes[0] += 1

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        changes[0] += 1


def watch_module(namespace: dict[str, Any]) -> bool:
    """Has the module of a namespace announce its changes; whether it does."""
    module = sys.modules.get(namespace.get("__name__", ""))
    if module is None or vars(module) is not namespace:
        return False
    if type(module) is types.ModuleType:
        module.__class__ = AnnouncingModule
    return type(module) is AnnouncingModule


def tells(value: Any) -> bool:
    """Whether an object announces its changes: its class may set attributes in its own way."""
    cls = type(value)
    return (
        isinstance(value, Announces)
        and cls.__setattr__ is Announces.__setattr__
        and cls.__delattr__ is Announces.__delattr__
    )


def tells_class(cls: type, name: str) -> bool:
    """Whether a class announces it if an attribute is found in another place, or is another."""
    for base in cls.__mro__:
        if base is not object and not isinstance(base, AnnouncingType):
            return False
        if name in vars(base):
            return True
    return False


def is_number(value: Any) -> bool:
    return type(value) in _NUMBERS
