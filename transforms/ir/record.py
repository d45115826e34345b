"""Classes of plain fields, made quickly.

A `record` is a dataclass, of which Python would compile half a dozen methods when its module is
imported, in half a millisecond; there are hundreds, most of which a process never makes one of.
Here all share the same methods but for `__init__`, which is compiled when it is first called.
That a record is frozen, the type checker sees to: making one would else take three times as long.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any

__all__ = ["field", "record", "replace"]

if TYPE_CHECKING:
    from dataclasses import replace

    record = dataclass
else:

    def record(cls: Any = None, /, *, frozen: bool = False, eq: bool = True) -> Any:
        """As `dataclasses.dataclass`, which also knows the fields of the class."""
        if cls is None:
            return lambda cls: _made(cls, frozen, eq)
        return _made(cls, frozen, eq)

    def replace(thing: Any, /, **changes: Any) -> Any:
        """As `dataclasses.replace`."""
        cls = type(thing)
        names = _names.get(cls)
        if names is None:
            names = _names[cls] = [f.name for f in fields(cls) if f.init]
        values = [changes.pop(n) if n in changes else getattr(thing, n) for n in names]
        if changes:
            raise TypeError(f"{cls.__name__} has no fields {[*changes]}")
        return cls(*values)


_names: dict[type, list[str]] = {}


def _made(cls: Any, frozen: bool, eq: bool) -> Any:
    own = vars(cls)
    cls.__doc__ = cls.__doc__ or cls.__name__  # else Python would write one, which takes long
    dataclass(init=False, repr=False, eq=False)(cls)
    parts = fields(cls)
    cls.__init__ = _first_call(cls)
    if "__repr__" not in own:
        cls.__repr__ = _repr([f.name for f in parts if f.repr])
    if eq:
        explicit = own.get("__hash__") is not None
        values = _getter([f.name for f in parts if f.compare])
        if "__eq__" not in own:
            cls.__eq__ = _eq(values)
        if not explicit:
            cls.__hash__ = _hash(values) if frozen else None
    return cls


def _first_call(cls: Any) -> Any:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        cls.__init__ = _init(cls)
        cls.__init__(self, *args, **kwargs)

    return __init__


def _init(cls: Any) -> Any:
    space: dict[str, Any] = {"_MISSING": MISSING}
    parameters, lines = ["self"], []
    for f in fields(cls):
        value = f.name
        if f.default_factory is not MISSING:
            space[f"_make_{f.name}"] = f.default_factory
            value = f"_make_{f.name}()"
            if f.init:
                parameters.append(f"{f.name}=_MISSING")
                value = f"{value} if {f.name} is _MISSING else {f.name}"
        elif not f.init:
            continue  # the default is found in the class
        else:
            parameters.append(_parameter(f, space))
        lines.append(f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n    ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n    {body}\n", space)
    made = space["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _parameter(f: Field[Any], space: dict[str, Any]) -> str:
    if f.default is MISSING:
        return f.name
    space[f"_default_{f.name}"] = f.default
    return f"{f.name}=_default_{f.name}"


def _getter(names: list[str]) -> Callable[[Any], Any]:
    return operator.attrgetter(*names) if names else lambda self: ()


def _eq(values: Callable[[Any], Any]) -> Any:
    def __eq__(self: Any, other: Any) -> Any:
        if other is self:
            return True
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def _hash(values: Callable[[Any], Any]) -> Any:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _repr(names: list[str]) -> Any:
    def __repr__(self: Any) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({inside})"

    return __repr__
