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

import numpy as np

from ..frontend.kernel_interface import Build
from ..frontend.pytree import Argument, Fixed, Out, OutTree, Path, Step, Tree
from ..ir.record import field, record
from ..ir.symbolic_dims import Dim
from ..syntax import core
from .arrays import Arrays
from .expressions import Expressions
from .joins import Joins
from .objects import Objects
from .places import Places, located
from .session import Part
from .tape import Tapes
from .values import (
    UNDEFINED,
    Cell,
    DictVal,
    Fields,
    InstanceVal,
    Items,
    IterVal,
    ListVal,
    Num,
    Obj,
    Ref,
    TupleVal,
    Value,
    ZipVal,
    kind_text,
)


class Counts(Exception):
    """Integers that the program changes are read at each call: start again with these lifted."""

    def __init__(self, paths: set[Path]) -> None:
        self.paths = paths
        super().__init__(paths)


class Built(Exception):
    """An object has been completed that this pass has seen incomplete: start again."""


class _SizeUnknown(Exception):
    """There is no array at hand whose size could be looked at."""


def _is_object(value: Value) -> bool:
    plain = (type(None), bool, int, float, str)
    return isinstance(value, Obj) and not isinstance(value.value, plain)


def _package(function: Any) -> str:
    return str(getattr(function, "__module__", "")).partition(".")[0]


def _is_baked_int(value: Value) -> bool:
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
    expressions: Expressions
    objects: Objects
    tape: Tapes
    object_cells: dict[int, tuple[Cell, Obj]] = field(default_factory=dict, init=False)
    # of cells reached from outside
    first_contents: dict[Cell, Any] = field(default_factory=dict, init=False)
    # those of dataclasses among them
    held_instances: set[Cell] = field(default_factory=set, init=False)

    # ---- containers

    def from_outside(self, value: DictVal | ListVal | InstanceVal, path: Path) -> None:
        """Marks a container as one that was passed in, or reached."""
        value.cell.path = path
        if isinstance(value, InstanceVal):
            self.held_instances.add(value.cell)
        self.first_contents[value.cell] = self.state.heap[value.cell]

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
        cell = self._object_cell(owner)
        if self.session.outer is not None and hasattr(target, name):
            if self.objects.attribute_of(owner, name, node) == value:
                return  # nothing changes
        self.allow_effect(cell, node)
        if name not in self.state.heap[cell].keys:
            self._watch(cell, owner, name, node)
        content = self.state.heap[cell]
        values = list(content.values)
        values[content.keys.index(name)] = value
        self.state.heap[cell] = Fields(content.keys, tuple(values))

    def _object_cell(self, owner: Obj) -> Cell:
        key = id(owner.value)
        if key not in self.object_cells:
            cell = Cell(type(owner.value).__name__, path=owner.path)
            self.object_cells[key] = cell, owner
            self.state.adopt(cell, Fields((), ()))
            self.first_contents[cell] = Fields((), ())
        return self.object_cells[key][0]

    def _watch(self, cell: Cell, owner: Obj, name: str, node: core.Node) -> None:
        """From now on, and on every path, the attribute is the cell's."""
        before: Value = UNDEFINED
        if hasattr(owner.value, name):
            before = self.objects.attribute_of(owner, name, node)
        elif self.joins.runtime_depth:
            self.places.refuse(
                node,
                f"{name} is a new attribute of {kind_text(owner)} on some paths only",
                "set it before",
            )
        for state in self.state.family:
            content = state.heap.get(cell, Fields((), ()))
            state.heap[cell] = Fields((*content.keys, name), (*content.values, before))
        first = self.first_contents[cell]
        self.first_contents[cell] = Fields((*first.keys, name), (*first.values, before))

    def written_attribute(self, owner: Obj, name: str) -> Value | None:
        """The value of an attribute that the program writes somewhere."""
        found = self.object_cells.get(id(owner.value))
        if found is None:
            return None
        content = self.state.heap[found[0]]
        return content.values[content.keys.index(name)] if name in content.keys else None

    def refuse_changed(self, looked_up: dict[Any, str], callee: str, node: core.Node) -> None:
        """A function that stays a call reads objects and containers as they were before the whole
        program ran.  What has been set since is not passed to it."""
        for (key, name), text in looked_up.items():
            if name is None:
                cells = (c.cell for _, known, c in self.objects.containers if id(known) == key)
            else:
                cells = (cell for k, (cell, _) in self.object_cells.items() if k == key)
            for cell in cells:
                first, now = self.first_contents.get(cell), self.state.heap.get(cell)
                if first is not now and _held(first, name) != _held(now, name):
                    self.places.refuse(
                        node,
                        f"{callee}, whose recursion ends at run time, reads {text}, "
                        "which was set before this call",
                        "pass the value as an argument",
                    )

    # ---- building

    def build_objects(self, function: Any, args: Any, kwargs: Any, node: Any) -> Value:
        """Runs a function that completes objects (`layer.build(shape)`) in Python, for the
        sizes at hand.  What was specialised so far has seen them incomplete: the pass goes on
        only to complete what comes next, if there is much of it, and then all begins again."""
        self._refuse_in_callee(node, "completes objects")
        plain = [self._concrete(a, node) for a in args]
        named = {k: self._concrete(v, node) for k, v in kwargs.items()}
        plainly = getattr(function, "__func__", function)
        known = (plainly, id(getattr(function, "__self__", plain[0] if plain else None)))
        if known in self.shared.built:
            raise Built
        build = self._noted(plainly, args, kwargs, (plain, named))
        try:
            function(*plain, **named)
        except Exception as error:
            self.shared.built.clear()  # an error to be shown
            raise self._blamed(error, function, node) from error
        self.shared.built.add(known)
        self.shared.builds.append(build)
        self.shared.built_after = len(self.shared.object_guards)
        if hasattr(plainly, "_s2s_counted"):
            # What a program counts is else found out at its end.
            owner = build.args[0] if build.args else None
            if isinstance(owner, Argument):
                raise Counts({(*owner.path, (".", name)) for name in plainly._s2s_counted})
            raise Built
        # What is read from now on is read anew, but for objects, which are what they are.
        self.objects.lifted = {p: v for p, v in self.objects.lifted.items() if _is_object(v)}
        return Obj(None)

    def _refuse_in_callee(self, node: core.Node, what: str) -> None:
        """What Python does for the sizes at hand would be done for the first call alone."""
        if self.session.outer is not None and self.b.facts.sizes is not None:
            self.places.refuse(node, f"a function whose calls stay calls {what}")

    def _noted(self, function: Any, args: Any, kwargs: Any, plain: Any) -> Build:
        """What is to be known of building an object, for those who would do it again."""
        sizes: list[Dim] = []
        given, named = plain
        places = [self._found_again(a, p, sizes) for a, p in zip(args, given)]
        by_name = [(k, self._found_again(v, named[k], sizes)) for k, v in kwargs.items()]
        guards = self.shared.object_guards[self.shared.built_after :]
        facts = self.b.facts.guards
        return Build(
            function,
            (*places,),
            (*by_name,),
            (*guards,),
            (*facts,),
            (*self.session.params,),
            (*sizes,),
        )

    def _found_again(self, value: Value, plain: Any, sizes: list[Dim]) -> OutTree:
        """The argument of a function that builds: by its path, if it is an object."""
        if isinstance(value, (TupleVal, ListVal)):
            whole = value if isinstance(value, TupleVal) else self.state.heap[value.cell]
            parts = tuple(self._found_again(v, p, sizes) for v, p in zip(whole.values, plain))
            kind = "tuple" if isinstance(value, TupleVal) else "list"
            return Tree(kind, type(plain), (*range(len(parts)),), parts)
        if isinstance(value, Ref) and value.cell in self.tape.variables:
            return Argument(value.cell.path[:-1])
        if isinstance(value, Obj) and value.path and _is_object(value):
            return Argument(value.path)
        if isinstance(value, Num) and value.known is None:
            sizes.append(value.operand.type.value)
            return Out(len(sizes) - 1)
        return Fixed(plain)

    def _concrete(self, value: Value, node: core.Node) -> Any:
        if isinstance(value, TupleVal):
            return tuple(self._concrete(v, node) for v in value.values)
        if isinstance(value, (ListVal, DictVal)) and value.cell.path:
            self.places.refuse(
                node, "an object is built from shapes and plain values", "pass those"
            )
        if isinstance(value, ListVal):
            return [self._concrete(v, node) for v in self.state.heap[value.cell].values]
        if isinstance(value, Num) and value.known is None:
            size = getattr(value.operand.type, "value", None)
            known = None
            if size is not None:
                known = self.b.facts.size_of(size.substitute(self.session.given_ints))
            if known is None:
                self.places.refuse(
                    node,
                    "this object is built with sizes that are not known yet",
                    "build it before: call the model once in Python",
                )
            return known
        if isinstance(value, Ref) and value.cell in self.tape.variables:
            return self.tape.variables[value.cell]
        return self.expressions.static(value, node, "what an object is built with")

    # ---- looking

    def look(self, function: Any, args: Any, kwargs: Any, node: Any) -> Value:
        """Runs a function that looks at structures, sizes and dtypes, to complain about them: in
        Python, on arrays that hold no numbers.  Nothing of it is left in the program."""
        self._refuse_in_callee(node, "looks at sizes")
        try:
            plain = [self._outline(a) for a in args]
            named = {k: self._outline(v) for k, v in kwargs.items()}
        except _SizeUnknown:
            return Obj(None)
        if "unconnected" in inspect.signature(function).parameters:
            named["unconnected"] = [u.text for u in self.shared.unconnected]
        try:
            function(*plain, **named)
        except Exception as error:
            raise self._blamed(error, function, node) from None
        return Obj(None)

    def _outline(self, value: Value) -> Any:
        """What can be told of a value while compiling, as a value of its kind."""
        if isinstance(value, (TupleVal, ListVal)):
            content = value if isinstance(value, TupleVal) else self.state.heap[value.cell]
            if not isinstance(content, (TupleVal, Items)):
                raise _SizeUnknown
            parts = [self._outline(v) for v in content.values]
            return parts if isinstance(value, ListVal) else tuple(parts)
        if isinstance(value, DictVal):
            content = self.state.heap[value.cell]
            return {k: self._outline(v) for k, v in zip(content.keys, content.values)}
        if isinstance(value, IterVal):
            return iter(self._outline(self.state.heap[value.cell]))
        if isinstance(value, ZipVal):
            return zip(*(self._outline(v) for v in value.inners))
        if isinstance(value, Ref) and value.cell in self.tape.variables and not value.path:
            return self.tape.variables[value.cell]
        if isinstance(value, Num) and value.known is not None:
            return value.known[0]
        if isinstance(value, Num) and value.operand.type.dtype == "int64":
            return self._integer_at_hand(value)
        if isinstance(value, (Num, Ref)):
            type_ = self.arrays.sym(value).type
            shape = [self.b.facts.size_of(d) for d in getattr(type_, "shape", ())]
            if None in shape:
                raise _SizeUnknown
            return np.broadcast_to(np.zeros((), type_.dtype), tuple(shape))  # type: ignore[arg-type]
        return getattr(value, "value", value)

    def _integer_at_hand(self, value: Num) -> int:
        """A size, or an int that was read from somewhere."""
        size = getattr(value.operand.type, "value", None)
        known = None if size is None else self.b.facts.size_of(size)
        for lifted, found in self.objects.reached.items():
            if value.operand in found:
                known = getattr(lifted, "value", None)
        if known is None:
            raise _SizeUnknown
        return known

    def _blamed(self, error: Exception, function: Any, node: Any) -> Exception:
        """The error with the innermost line outside of the package that complains."""
        package = _package(function)
        for caller, callee in reversed([*zip(self.places.stack, self.places.stack[1:])]):
            if callee.calls and _package(caller.function) != package:
                return located(error, caller.source, callee.calls[-1])
        return self.places.located(error, node)

    # ---- in the end

    def changes(self) -> list[tuple[Path, Step, Value]]:
        """What is to be set after the call: the path of its holder, the step there, the value."""
        out: list[tuple[Path, Step, Value]] = []
        if self.shared.replayed:
            return out
        objects = {cell for cell, _ in self.object_cells.values()}
        counted: set[Path] = set()
        for cell, first in self.first_contents.items():
            last = self.state.heap[cell]
            if last == first:
                continue
            keys = range(len(last.values)) if isinstance(last, Items) else last.keys
            before = dict(zip(keys if isinstance(first, Items) else first.keys, first.values))
            instance = cell in objects or cell in self.held_instances
            for key, value in zip(keys, last.values):
                if key not in before or before[key] != value:
                    out.append((cell.path, (".", key) if instance else ("[]", key), value))
                    if _is_baked_int(before.get(key)):
                        counted.add((*cell.path, out[-1][1]))
        counted -= self.session.runtime_ints | self.session.baked
        if counted:
            raise Counts(counted)
        return out
