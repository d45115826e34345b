"""What a program does to objects from outside: attributes and items it sets.

Containers and objects reached from outside are cells of the heap like any others, so that
branches and loops see what is written to them; an object's cell holds only the attributes
that are written somewhere.  What a cell holds in the end and did not hold at first is an
effect: the kernel returns the value, and the call sets it.
"""

from __future__ import annotations

import inspect
import types
from typing import Any

from ...frontend.pytree import Path, Step
from ...ir.record import record
from ...syntax import core
from ..control.joins import Joins
from ..heap.arrays import Arrays
from ..places import Places
from ..session import Part
from ..values import UNDEFINED, Cell, Fields, Items, Num, Obj, Value, kind_text
from .object_attributes import ObjectAttributes
from .objects import Objects


class Counts(Exception):
    """Integers that the program changes are read at each call: start again with these lifted."""

    def __init__(self, paths: set[Path]) -> None:
        self.paths = paths
        super().__init__(paths)


def _is_baked_int(value: Value | None) -> bool:
    known = value.known[0] if isinstance(value, Num) and value.known is not None else None
    return isinstance(known, int) and not isinstance(known, bool)


def _held(content: Any, name: str | None) -> Any:
    """All of a container's content, or what an object's cell holds under a name."""
    if name is None or content is None:
        return content
    return content.values[content.keys.index(name)] if name in content.keys else None


@record(eq=False)
class Effects(Part):
    """What a program sets in objects and containers from outside."""

    places: Places
    arrays: Arrays
    joins: Joins
    objects: Objects
    object_attributes: ObjectAttributes

    # ---- containers

    def allow_effect(self, cell: Cell, node: core.Node) -> None:
        if cell.path and self.session.outer is not None:
            self.places.refuse(
                node,
                "a recursive function may not write into a container from outside",
                "return the value instead",
            )

    def refuse_growth(self, cell: Cell, node: core.Node) -> None:
        if cell.path and not self.shared.replayed:
            self.places.refuse(
                node,
                "changing the length of a list from outside is not supported",
                "return the value, and append it there",
            )

    # ---- objects

    def store_on_object(self, owner: Obj, name: str, value: Value, node: core.Node) -> None:
        target = owner.value
        if not owner.path or isinstance(target, (types.ModuleType, type)):
            self.places.refuse(
                node,
                f"writing to an attribute of {kind_text(owner)} is not supported",
                "return the value instead",
            )
        found = inspect.getattr_static(type(target), name, None)
        if isinstance(found, property) and isinstance(found.fset, types.FunctionType):
            self.evaluator.call_function(Obj(found.fset), (owner, value), {}, node)
            return
        setter = type(target).__setattr__
        plain = setter in (object.__setattr__, types.SimpleNamespace.__setattr__)
        plain = plain or hasattr(setter, "_s2s_plain")
        slot = isinstance(found, types.MemberDescriptorType)
        if not plain or (hasattr(found, "__set__") and not slot):
            self.places.refuse(
                node,
                f"{type(target).__name__} has its own way of setting {name}",
                "use a plain attribute",
            )
        cell = self.object_attributes.object_cell(owner)
        if self.session.outer is not None and hasattr(target, name):
            if self.object_attributes.attribute_of(owner, name, node) == value:
                return  # nothing changes
        self.allow_effect(cell, node)
        if name not in self.state.heap[cell].keys:
            self._watch(cell, owner, name, node)
        content = self.state.heap[cell]
        values = list(content.values)
        values[content.keys.index(name)] = value
        self.state.heap[cell] = Fields(content.keys, tuple(values))

    def _watch(self, cell: Cell, owner: Obj, name: str, node: core.Node) -> None:
        """Stores the attribute in the cell, in the states of all paths."""
        before: Value = UNDEFINED
        if hasattr(owner.value, name):
            before = self.object_attributes.attribute_of(owner, name, node)
        elif self.joins.runtime_depth:
            self.places.refuse(
                node,
                f"{name} is a new attribute of {kind_text(owner)} on some paths only",
                "set it before",
            )
        for state in self.state.family:
            content = state.heap.get(cell, Fields((), ()))
            state.heap[cell] = Fields((*content.keys, name), (*content.values, before))
        first = self.arrays.first_contents[cell]
        known = Fields((*first.keys, name), (*first.values, before))
        self.arrays.note_first_content(cell, known)

    def refuse_changed(
        self, looked_up: dict[tuple[int, str | None], str], callee: str, node: core.Node
    ) -> None:
        """A function that stays a call reads objects and containers as they were before the whole
        program ran.  What has been set since is not passed to it."""
        for (key, name), text in looked_up.items():
            if name is None:
                cells = (c.cell for _, known, c in self.objects.containers if id(known) == key)
            else:
                cells = (
                    cell for k, (cell, _) in self.object_attributes.object_cells.items() if k == key
                )
            for cell in cells:
                first, now = self.arrays.first_contents.get(cell), self.state.heap.get(cell)
                if first is not now and _held(first, name) != _held(now, name):
                    self.places.refuse(
                        node,
                        f"{callee}, whose recursion ends at run time, reads {text}, "
                        "which was set before this call",
                        "pass the value as an argument",
                    )

    # ---- in the end

    def changes(self) -> list[tuple[Path, Step, Value]]:
        """What is to be set after the call: the path of its holder, the step there, the value."""
        out: list[tuple[Path, Step, Value]] = []
        if self.shared.replayed:
            return out
        objects = {cell for cell, _ in self.object_attributes.object_cells.values()}
        counted: set[Path] = set()
        for cell, first in self.arrays.first_contents.items():
            last = self.state.heap[cell]
            if last == first:
                continue
            keys = range(len(last.values)) if isinstance(last, Items) else last.keys
            before = dict(zip(keys if isinstance(first, Items) else first.keys, first.values))
            instance = cell in objects or cell in self.arrays.held_instances
            for key, value in zip(keys, last.values):
                if key not in before or before[key] != value:
                    out.append((cell.path, (".", key) if instance else ("[]", key), value))
                    if _is_baked_int(before.get(key)):
                        counted.add((*cell.path, out[-1][1]))
        counted -= self.session.runtime_ints | self.session.baked
        if counted:
            raise Counts(counted)
        return out
