"""A global counter of attribute changes, by which call stubs detect that guards must be rechecked.

Code compiled for objects is valid as long as their structure is unchanged.  Checking every
attribute in every call would take longer than a small training step.  So the classes of this
package increment the counter when an attribute is set, on an object or on a class, and their
objects are checked again only then.  A user's class does the same by deriving from `Announces`.
Other objects are checked in every call.
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from abc import ABCMeta as _ProtocolMeta
else:
    _ProtocolMeta = type(Protocol)  # it derives from ABCMeta

# The change counter.  Every call reads it, so it is the item of a list that is never rebound.
changes = [0]

_UNCOUNTED_TYPES = (int, float)


class AnnouncingType(_ProtocolMeta):
    """Metaclass: setting or deleting an attribute of the class, such as a method or its bases,
    increments the change counter.  (It derives from the metaclass of protocols, so that users can
    also inherit from protocols and abstract classes.)"""

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        changes[0] += 1

    def __delattr__(cls, name: str) -> None:
        super().__delattr__(name)
        changes[0] += 1

    # No virtual subclasses are registered, and ABCMeta's search for them takes longer than a small
    # kernel.
    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


class Announces(metaclass=AnnouncingType):
    """Base class of objects that count changes of their attributes.  Attributes must be set one by
    one, never through `__dict__`."""

    def __setattr__(self, name: str, value: Any) -> None:
        before = self.__dict__.get(name)
        object.__setattr__(self, name, value)
        # Replacing a scalar by one of the same type is not counted: it does not affect compiled
        # code, or its value is checked in every call.
        if type(value) not in _UNCOUNTED_TYPES or type(before) is not type(value):
            changes[0] += 1

    # The compiler treats this like `object.__setattr__`.
    __setattr__._s2s_plain = True  # type: ignore[attr-defined]

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        changes[0] += 1


class AnnouncingModule(types.ModuleType):
    """A module that counts rebindings of its globals from outside."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        changes[0] += 1

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        changes[0] += 1


def watch_module(namespace: dict[str, Any]) -> bool:
    """Make the module of a namespace count its changes; False if that is not possible."""
    module = sys.modules.get(namespace.get("__name__", ""))
    if module is None or vars(module) is not namespace:
        return False
    if type(module) is types.ModuleType:
        module.__class__ = AnnouncingModule
    return type(module) is AnnouncingModule


def tells(value: Any) -> bool:
    """True if an object counts changes of its attributes: its class derives from `Announces` and
    does not override `__setattr__` or `__delattr__`."""
    cls = type(value)
    return (
        isinstance(value, Announces)
        and cls.__setattr__ is Announces.__setattr__
        and cls.__delattr__ is Announces.__delattr__
    )


def tells_class(cls: type, name: str) -> bool:
    """True if every change of the value or of the defining base of a class attribute is counted."""
    for base in cls.__mro__:
        if base is not object and not isinstance(base, AnnouncingType):
            return False
        if name in vars(base):
            return True
    return False


def is_number(value: Any) -> bool:
    """True if a value is a Python int or float, whose changes are not counted."""
    return type(value) in _UNCOUNTED_TYPES
