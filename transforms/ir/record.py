"""Dataclasses with a low import cost.

For each dataclass, Python compiles half a dozen methods when the module is imported, which takes
half a millisecond.  The compiler has hundreds of such classes, and a process creates no instance
of most of them.  Here all records share the same methods except `__init__`, which is compiled at
its first call.  Only the type checker enforces that a record is frozen: a check at run time would
make construction three times as slow.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, get_origin

__all__ = ["field", "record", "replace"]

if TYPE_CHECKING:
    from dataclasses import replace

    record = dataclass
else:

    def record(cls: Any = None, /, *, frozen: bool = False, eq: bool = True) -> Any:
        """As `dataclasses.dataclass`.  `dataclasses.fields` works on the class."""
        if cls is None:
            return lambda cls: _make_record(cls, frozen, eq)
        return _make_record(cls, frozen, eq)

    def replace(thing: Any, /, **changes: Any) -> Any:
        """As `dataclasses.replace`."""
        cls = type(thing)
        names = _init_fields.get(cls)
        if names is None:
            names = _init_fields[cls] = [f.name for f in fields(cls) if f.init]
        values = [changes.pop(n) if n in changes else getattr(thing, n) for n in names]
        if changes:
            raise TypeError(f"{cls.__name__} has no fields {[*changes]}")
        return cls(*values)


# By class: the names of the fields that `__init__` takes.
_init_fields: dict[type, list[str]] = {}


_NO_REPR = object.__repr__  # of a class without one of its own


def _make_record(cls: Any, frozen: bool, eq: bool) -> Any:
    own: Mapping[str, Any] = cls.__dict__
    cls.__doc__ = cls.__doc__ or cls.__name__  # else `dataclass` computes one, which is slow
    dataclass(init=False, repr=False, eq=False)(cls)
    parts = fields(cls)
    cls.__init__ = _lazy_init(cls)
    if "__repr__" not in own and getattr(cls.__repr__, "is_generated", cls.__repr__ is _NO_REPR):
        cls.__repr__ = _repr([f.name for f in parts if f.repr])
    if eq:
        explicit = own.get("__hash__") is not None
        values = _getter([f.name for f in parts if f.compare])
        if "__eq__" not in own:
            cls.__eq__ = _eq(values)
        if not explicit:
            cls.__hash__ = _hash(values) if frozen else None
    return cls


def _lazy_init(cls: Any) -> Any:
    """An `__init__` that compiles the real one at the first call and replaces itself with it."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        cls.__init__ = _init(cls)
        cls.__init__(self, *args, **kwargs)

    return __init__


def _init(cls: Any) -> Any:
    """The compiled `__init__` of a record."""
    space: dict[str, Any] = {"_MISSING": MISSING}
    parameters = ["self"]
    lines: list[str] = []
    for f in fields(cls):
        value = f.name
        if f.default_factory is not MISSING:
            # `list`, not `list[int]`: the generic alias is slower and makes the same value.
            space[f"_make_{f.name}"] = get_origin(f.default_factory) or f.default_factory
            value = f"_make_{f.name}()"
            if f.init:
                parameters.append(f"{f.name}=_MISSING")
                value = f"{value} if {f.name} is _MISSING else {f.name}"
        elif not f.init:
            continue  # the default is an attribute of the class
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

    __repr__.is_generated = True  # type: ignore[attr-defined]
    return __repr__
