"""Sequences whose elements are taken one after the other while compiling."""

from __future__ import annotations

from typing import Any

from ...ir.record import record
from ...syntax import core
from ..heap.arrays import Arrays
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..values import (
    DictVal,
    EnumerateVal,
    GeneratorVal,
    Items,
    IterVal,
    KeysVal,
    LibraryVal,
    ListVal,
    MapVal,
    RestVal,
    SnapshotVal,
    TupleVal,
    Value,
    ViewVal,
    ZipVal,
    constant,
)
from .attributes import Attributes

END = Value()
LAZY = (GeneratorVal, MapVal, LibraryVal)
ADVICE = "make a list of it: `list(...)`"


@record(eq=False)
class Cursors(Part):
    """Positions in sequences that are known while compiling."""

    places: Places
    arrays: Arrays
    objects: Objects
    attributes: Attributes

    def cursor(self, source: Value) -> Cursor | None:
        """The elements of a sequence, one by one and as they are then; None if how many there are
        turns out at run time."""
        if isinstance(source, RestVal):
            inner = self.cursor(source.inner)
            start = source.start.known if source.tracked is None else None
            return None if inner is None or start is None else inner.moved(start[0])
        if isinstance(source, ListVal):
            known = isinstance(self.state.heap[source.cell], Items)
            return _ListCursor(self, source) if known else None
        if isinstance(source, KeysVal):
            return _DictCursor(self, source)
        if isinstance(source, (DictVal, ViewVal)):
            return _DictCursor(self, KeysVal(source, self.state.heap[source.cell].keys))
        if isinstance(source, EnumerateVal):
            inner = self.cursor(source.inner)
            known = inner is not None and source.start.known is not None
            return _ZipCursor(self, source, [inner]) if known else None  # type: ignore[list-item]
        if isinstance(source, ZipVal):
            inners = [self.cursor(i) for i in source.inners]
            return None if None in inners else _ZipCursor(self, source, inners)  # type: ignore[arg-type]
        if isinstance(source, (IterVal, SnapshotVal, *LAZY)):
            return None
        items = self.objects.static_items(source)
        return None if items is None else _TupleCursor(self, source, items)

    def check_keys(self, source: KeysVal, node: core.Node) -> None:
        content: Any = self.arrays.usable(self.state.heap[source.inner.cell], node)
        now = content.keys
        if len(now) != len(source.keys):
            self.attributes.no_element("dictionary changed size during iteration", "RuntimeError")
        if now != source.keys:
            self.places.refuse(
                node, "this dict gets other keys while an iterator runs over it", ADVICE
            )


class Cursor:
    """A position in a sequence."""

    def __init__(self, owner: Cursors, source: Any) -> None:
        self.owner, self.source, self.at = owner, source, 0

    def next(self, node: core.Node) -> Value:
        """The element at the position, which moves on, or END."""
        item = self.item(node)
        if item is not END:
            self.at += 1
        return item

    def item(self, node: core.Node) -> Value:
        raise NotImplementedError

    def moved(self, by: int) -> Cursor:
        self.at += by
        return self

    def rest(self) -> Value:
        """What is left."""
        return RestVal(self.source, constant(self.at)) if self.at else self.source


class _TupleCursor(Cursor):
    def __init__(self, owner: Cursors, source: Value, items: list[Value]) -> None:
        super().__init__(owner, source)
        self.items = items

    def item(self, node: core.Node) -> Value:
        return self.items[self.at] if self.at < len(self.items) else END


class _ListCursor(Cursor):
    """A list that is changed while it is run over is read as it is by then."""

    def item(self, node: core.Node) -> Value:
        content = self.owner.arrays.usable(self.owner.state.heap[self.source.cell], node)
        if not isinstance(content, Items):
            text = "whether this loop makes its list longer or shorter turns out at run time"
            self.owner.places.refuse(node, text, "run over a copy: `list(...)`")
        return content.values[self.at] if self.at < len(content.values) else END


class _DictCursor(Cursor):
    def item(self, node: core.Node) -> Value:
        self.owner.check_keys(self.source, node)
        items = self.owner.objects.static_items(self.source.inner)
        return items[self.at] if items and self.at < len(items) else END


class _ZipCursor(Cursor):
    """Of `zip` and of `enumerate`."""

    def __init__(self, owner: Cursors, source: Value, inners: list[Cursor]) -> None:
        super().__init__(owner, source)
        self.inners = inners

    def moved(self, by: int) -> Cursor:
        for inner in self.inners:
            inner.moved(by)
        return super().moved(by)

    def item(self, node: core.Node) -> Value:
        items = []
        for inner in self.inners:
            items.append(inner.next(node))
            if items[-1] is END:
                return END
        if isinstance(self.source, EnumerateVal):
            first = self.source.start.known
            assert first is not None
            items.insert(0, constant(first[0] + self.at))
        return TupleVal(tuple(items))
