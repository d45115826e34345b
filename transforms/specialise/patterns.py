"""The structure of values without their numbers and arrays.

A *pattern* can be compared and hashed: two values with equal patterns can be passed to, or
returned by, the same specialised function.  `Packer` splits a value into its pattern and
its leaves; `unpack` makes a value of the same structure, perhaps in another evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from ..frontend.pytree import Path, Step, identify
from ..ir.builder import OPEN
from ..ir.nodes import Array, Const, ListOf, Record, Scalar, Type
from ..ir.record import field, record
from ..ir.symbolic_dims import Dim
from .values import (
    Bound,
    Cell,
    Closure,
    Conflict,
    DictVal,
    EnumerateVal,
    Fields,
    Growing,
    InstanceVal,
    Items,
    LibraryVal,
    ListVal,
    Maybe,
    Num,
    Obj,
    Partial,
    RangeVal,
    Rec,
    Ref,
    RngVal,
    SliceVal,
    TupleVal,
    Undefined,
    Value,
    ZipVal,
    kind_text,
)

_PLAIN = (Partial, Bound, RangeVal, SliceVal, EnumerateVal, ZipVal)
_CONTAINERS = (ListVal, DictVal, InstanceVal)


@record(frozen=True)
class Same:
    """An object, compared by identity."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


@record(frozen=True)
class Leaf:
    """A number or array, by its position.  `variable` is the Variable whose array it is,
    `tensor` as in `Cell`."""

    index: int
    type: Type
    variable: Same | None = None
    tensor: bool | None = False


@record(frozen=True)
class Node:
    """A value with parts.  `what` is its class and whatever else is static about it;
    `number` distinguishes the containers of one pattern whose identity matters."""

    what: tuple[Any, ...]
    parts: tuple[Pattern, ...]
    number: int = 0


@record(frozen=True)
class Again:
    """The container `number`, which occurs earlier in the pattern, once more."""

    number: int


@record(frozen=True)
class Still:
    """A static value, compared by `identity`."""

    identity: Any
    value: Any = field(compare=False)


Pattern = Leaf | Node | Again | Still


def leaves_of(pattern: Pattern) -> Iterator[Leaf]:
    """The leaves in order, each once."""
    seen: set[int] = set()
    todo: list[Pattern] = [pattern]
    while todo:
        part = todo.pop(0)
        if isinstance(part, Node):
            todo[:0] = part.parts
        elif isinstance(part, Leaf) and part.index not in seen:
            seen.add(part.index)
            yield part


def open_type(type_: Type) -> Type:
    """A type with nothing known about sizes and values; arrays are contiguous."""
    if isinstance(type_, Scalar):
        return Scalar(type_.dtype, type_.weak)
    assert not isinstance(type_, ListOf)
    shape = (OPEN,) * type_.ndim
    if isinstance(type_, Array):
        return Array(type_.dtype, shape)
    assert isinstance(type_, Record)
    return Record(type_.fields, shape)


class Packer:
    """Splits values of one specialiser; `leaves` are their numbers and arrays.

    `known(index, number)` tells which numbers are static; `refuse(what)` is called for what
    has no pattern.  The `result` of a function leaves it: an array that occurs there twice is
    one leaf, and nothing in it may belong to the function or its caller.  A `strict` packer
    refuses what has state, iterators for example."""

    def __init__(
        self,
        owner: Any,
        known: Callable[[int, Num], bool],
        refuse: Callable[[str], Any],
        result: bool = False,
        strict: bool = False,
    ) -> None:
        self.owner, self.known, self.refuse, self.result = owner, known, refuse, result
        self.strict = strict
        self.leaves: list[Num | Ref | Rec] = []
        self.numbers: dict[Cell, int] = {}

    def pack(self, value: Value | tuple[Value, ...]) -> Pattern:
        if isinstance(value, (Num, Ref, Rec)):
            return self.leaf(value)
        if type(value) is tuple:
            return Node((tuple,), tuple(self.pack(v) for v in value))
        if isinstance(value, TupleVal):
            return Node((TupleVal, value.cls), tuple(self.pack(v) for v in value.values))
        if isinstance(value, _PLAIN):
            parts = (self.pack(getattr(value, f.name)) for f in fields(value))
            return Node((type(value),), tuple(parts))
        if isinstance(value, _CONTAINERS):
            return self.container(value)
        if isinstance(value, (Maybe, Undefined)):
            return self.refuse("a name that is bound on some paths only")
        if isinstance(value, Conflict):
            return self.refuse("a name that means different things on different paths")
        if isinstance(value, Obj):
            return Still(("object", *identify(value.value)), value)
        if isinstance(value, RngVal):
            return self.refuse("a random generator")
        if self.result and isinstance(value, Closure) and value.frame.owner is self.owner:
            return self.refuse("a nested function")
        if isinstance(value, Closure):
            return Still(value, value)
        if self.strict and is_dataclass(value) and not isinstance(value, LibraryVal):
            assert isinstance(value, Value)
            return self.refuse(kind_text(value))
        return Still(identify(value), value)

    def leaf(self, value: Num | Ref | Rec) -> Pattern:
        if self.result and isinstance(value, Rec):
            return self.refuse("a record")
        if self.result and value in self.leaves:
            index = self.leaves.index(value)
        else:
            index = len(self.leaves)
            self.leaves.append(value)
        if isinstance(value, Num) and self.known(index, value):
            return _known(value)
        type_ = self.owner.arrays.ref_type(value) if isinstance(value, Ref) else value.operand.type
        cell = value.cell if isinstance(value, Ref) and not value.path else None
        variable = None if self.result else self.owner.variables.variables.get(cell)
        same = None if variable is None else Same(variable)
        tensor = value.cell.tensor if isinstance(value, Ref) else False
        return Leaf(index, open_type(type_), same, tensor)

    def container(self, value: Any) -> Pattern:
        if value.cell in self.numbers:
            return Again(self.numbers[value.cell])
        number = self.numbers[value.cell] = len(self.numbers)
        content = self.owner.session.state.heap[value.cell]
        if self.result and value.cell.path:
            return self.refuse("a container that was passed in")
        if isinstance(content, Growing):
            return self.refuse("a list whose length is known only at run time")
        if isinstance(content, Conflict):
            return self.refuse("a container that differs between paths")
        what = (type(value), getattr(value, "cls", None), getattr(content, "keys", None))
        return Node(what, tuple(self.pack(v) for v in content.values), number)


def _known(number: Num) -> Still:
    """A number that is part of the pattern."""
    assert number.known is not None and isinstance(number.operand.type, Scalar)
    (value,), type_ = number.known, number.operand.type
    if type_.dtype == "int64":
        type_ = replace(type_, value=Dim.of(int(value)))
    constant = Num(Const(value, type_), number.known)
    return Still((type_.dtype, type_.weak, repr(value)), constant)


def unpack(
    pattern: Pattern,
    owner: Any,
    leaf: Callable[[Leaf, str], Value],
    name: str,
    path: Path = (),
    names: tuple[str, ...] = (),
) -> Value:
    """The value of a pattern in the evaluator `owner`; `leaf(leaf, name)` gives its numbers
    and arrays.  `names` are those of the outermost parts, if they have any.  `path` marks
    containers that belong to somebody else, and exist on every path of the program."""
    made: dict[int, Value] = {}

    def visit(part: Pattern, name: str) -> Any:
        if isinstance(part, Leaf):
            return leaf(part, name)
        if isinstance(part, Still):
            return part.value
        if isinstance(part, Again):
            return made[part.number]
        inner = [f"{name}_{i}" for i in range(len(part.parts))]
        if part is pattern and names:
            inner = list(names)
        values = tuple(visit(p, n) for p, n in zip(part.parts, inner))
        cls = part.what[0]
        if cls is tuple:
            return values
        if cls is TupleVal:
            return TupleVal(values, part.what[1])
        if cls in _PLAIN:
            return cls(*values)
        _, user_class, keys = part.what
        cell = Cell(name, path=path)
        content = Items(values) if keys is None else Fields(keys, values)
        if path:
            owner.session.state.adopt(cell, content)
        else:
            owner.session.state.heap[cell] = content
        made[part.number] = InstanceVal(cell, user_class) if cls is InstanceVal else cls(cell)
        return made[part.number]

    return visit(pattern, name)


def part_paths(
    pattern: Pattern, names: tuple[str, ...]
) -> list[tuple[str, tuple[Step, ...]] | None]:
    """For each leaf in the order in which `unpack` visits them: the parameter that it is a part of,
    and the steps from there; None for what cannot be reached by steps."""
    found: list[tuple[str, tuple[Step, ...]] | None] = []

    def visit(part: Pattern, place: tuple[str, tuple[Step, ...]] | None) -> None:
        if isinstance(part, Leaf):
            found.append(place)
        elif isinstance(part, Node):
            for step, inner in zip(_steps(part), part.parts, strict=True):
                reached = place is not None and step is not None
                visit(inner, (place[0], (*place[1], step)) if reached else None)  # type: ignore[index]

    assert isinstance(pattern, Node)
    for name, part in zip(names, pattern.parts, strict=True):
        visit(part, (name, ()))
    return found


def _steps(part: Node) -> list[Step | None]:
    cls, positions = part.what[0], range(len(part.parts))
    if cls is TupleVal:
        names = getattr(part.what[1], "_fields", None)
        return [("[]", i) for i in positions] if names is None else [(".", name) for name in names]
    keys = part.what[2] if cls in _CONTAINERS else None
    if cls is ListVal:
        return [("[]", i) for i in positions]
    if keys is None:
        return [None] * len(part.parts)
    return [("[]" if cls is DictVal else ".", key) for key in keys]


def retyped(pattern: Pattern, type_of: Callable[[int], Type]) -> Pattern:
    """The pattern with other types for its leaves."""
    if isinstance(pattern, Leaf):
        return replace(pattern, type=type_of(pattern.index))
    if isinstance(pattern, Node):
        return replace(pattern, parts=tuple(retyped(p, type_of) for p in pattern.parts))
    return pattern
