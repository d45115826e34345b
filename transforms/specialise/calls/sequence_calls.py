"""Python's own functions of sequences."""

from __future__ import annotations

import dataclasses
from typing import Any

from ...ir.builder import Sym
from ...ir.record import record
from ...rules.library.python_standard import largest, smallest
from ...syntax import core
from ..dispatch import builtin
from ..heap.arrays import Arrays
from ..heap.lists import Lists
from ..operations.attributes import Attributes
from ..operations.comparisons import Comparisons
from ..operations.iterators import Iterators
from ..operations.lazy_iterators import LazyIterators
from ..operations.list_parts import ListParts
from ..operations.operators import Operators
from ..operations.stores import Stores
from ..operations.truth import Truth
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..surface.indexing import Indexing
from ..surface.surface_calls import SurfaceCalls
from ..values import (
    Args,
    Closure,
    Conflict,
    DictVal,
    Ended,
    EnumerateVal,
    Growing,
    IterVal,
    Kwargs,
    ListVal,
    MapVal,
    Num,
    Obj,
    RangeVal,
    Ref,
    SliceVal,
    SnapshotVal,
    TupleVal,
    Value,
    ZipVal,
    class_of,
    constant,
    kind_text,
    number,
)
from .numpy_calls import NumpyCalls
from .python_calls import PythonCalls


@record(eq=False)
class SequenceCalls(Part):
    """Python's own functions that take or make sequences."""

    places: Places
    arrays: Arrays
    lists: Lists
    objects: Objects
    indexing: Indexing
    surface_calls: SurfaceCalls
    operators: Operators
    attributes: Attributes
    list_parts: ListParts
    stores: Stores
    truth: Truth
    comparisons: Comparisons
    iterators: Iterators
    lazy_iterators: LazyIterators
    python_calls: PythonCalls
    numpy_calls: NumpyCalls

    @builtin(iter)
    def call_iter(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        if len(args) != 1:
            return NotImplemented
        value = self.operators.iterated(args[0], node)
        return (
            value if isinstance(value, IterVal) else self.iterators.iterator(value, type(iter(())))
        )

    @builtin(next)
    def call_next(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        value = args[0]
        if not isinstance(value, IterVal):
            kind = class_of(value).__name__
            text = f"{kind!r} object is not an iterator"
            raise self.places.located(TypeError(text), node)
        name = f"<next {node.line}>"
        while name in self.state.env:
            name += "'"

        def gives(item: Value) -> bool:
            self.state.env[name] = item
            return False

        default = (lambda: gives(args[1])) if len(args) > 1 else None
        if self.lazy_iterators.step(value, gives, default, node):
            raise Ended
        return self.arrays.usable(self.state.env.pop(name), node)

    @builtin(enumerate)
    def call_enumerate(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        start = kwargs.get("start") or (args[1] if len(args) > 1 else constant(0))
        if not isinstance(start, Num) or start.operand.type.dtype not in ("int64", "bool"):
            text = f"{kind_text(start)} cannot be interpreted as an integer"
            raise self.places.located(TypeError(text), node)
        return self.iterators.iterator(EnumerateVal(args[0], start), enumerate)

    @builtin(zip)
    def call_zip(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        if kwargs.keys() - {"strict"}:
            self.places.refuse(node, "this keyword of zip is not supported")
        if "strict" in kwargs and self.arrays.static(kwargs["strict"], node, "strict"):
            args = tuple(self.iterators.whole(a, node) for a in args)
            sizes = [self.python_calls.call_len((a,), {}, node) for a in args]
            for size in sizes[1:]:
                text = "zip() arguments have different lengths"
                same = self.comparisons.compare("==", sizes[0], size, node)
                self.b.check(Sym(self.b, number(same).operand), "ValueError", text)
        return self.iterators.iterator(ZipVal(tuple(args)), zip)

    @builtin(sorted)
    def call_sorted(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """Sorts by keys that are known while compiling, such as names; numbers are sorted at run
        time."""
        items = self.objects.static_items(args[0])
        if items is None:
            return NotImplemented
        by = kwargs.get("key")
        if by is None or (isinstance(by, Obj) and by.value is None):
            keys = items
        elif isinstance(by, Closure):
            keys = [self.evaluator.call(by, (item,), {}, node) for item in items]
        else:
            return NotImplemented
        known = [_known_prefix(key) for key in keys]
        whole = all(complete for _, complete in known)
        places = [prefix for prefix, _ in known]
        if () in places or not (whole or len(set(places)) == len(places)):
            return NotImplemented
        backward = "reverse" in kwargs and self.arrays.static(kwargs["reverse"], node, "reverse")
        with self.places.python_errors(node):
            order = sorted(range(len(items)), key=places.__getitem__, reverse=bool(backward))
        return self.arrays.new_list(tuple(items[i] for i in order))

    @builtin(reversed)
    def call_reversed(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        (value,) = args
        if isinstance(value, IterVal):
            name = value.cls.__name__
            raise self.places.located(TypeError(f"{name!r} object is not reversible"), node)
        backward = self._backward(value, node)
        cell = getattr(value, "cell", None)
        if cell is not None and not isinstance(value, Ref):
            backward = SnapshotVal(backward, cell, self.state.heap[cell])
        return self.iterators.iterator(backward, reversed)

    def _backward(self, value: Value, node: core.Node) -> Value:
        """The elements of a sequence from the last to the first."""
        if isinstance(value, RangeVal):
            return dataclasses.replace(value, reverse=not value.reverse)
        items = self.objects.static_items(value)
        if items is not None:
            return TupleVal(tuple(items[::-1]))
        if isinstance(value, Ref):
            none = None
            flipped = (("slice", none, none, constant(-1).operand),)
            flipped += (("all",),) * (self.arrays.ref_type(value).ndim - 1)
            return self.indexing.index_value(value, flipped, node)
        content = self.state.heap[value.cell] if isinstance(value, ListVal) else None
        if isinstance(content, Growing):
            return self.list_parts.list_part(content, SliceVal(None, None, constant(-1)), node)
        return self.places.refuse(node, f"reversed of {kind_text(value)} is not supported")

    @builtin(tuple)
    def call_tuple(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        if not args:
            return TupleVal(())
        items = self.objects.static_items(args[0])
        if items is None and isinstance(args[0], Ref) and self.arrays.ref_type(args[0]).ndim:
            count = self.b.facts.canonical(self.arrays.ref_type(args[0]).shape[0])
            if count.is_const:
                items = [
                    self.attributes.row(args[0], constant(k), node) for k in range(count.const)
                ]
        if items is None:
            return self.places.refuse(
                node, "the length of this tuple is known only at run time", "use an array or a list"
            )
        return TupleVal(tuple(items))

    @builtin(list)
    def call_list(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        if not args:
            return self.arrays.new_list(())
        if isinstance(args[0], ListVal):
            return self.lists.copy_list(self.state.heap[args[0].cell])
        items = self.objects.static_items(args[0])
        if isinstance(args[0], Ref) and items is None:
            return self.stores.rows_of(args[0], node)
        if items is None:
            return self.places.refuse(
                node, "the length of this list is known only at run time", "append in a loop"
            )
        return self.arrays.new_list(tuple(items))

    @builtin(dict)
    def call_dict(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        keys: dict[Any, Value] = {}
        if args:
            if isinstance(args[0], DictVal):
                content = self.state.heap[args[0].cell]
                keys = dict(zip(content.keys, content.values))
            else:
                items = self.objects.static_items(args[0])
                if items is None:
                    return self.places.refuse(
                        node, "a dict needs keys that are known while compiling"
                    )
                for item in items:
                    pair = self.objects.static_items(item)
                    if pair is None or len(pair) != 2:
                        self.places.refuse(node, "a dict is made of pairs of a key and a value")
                    keys[self.operators.dict_key(pair[0], node)] = pair[1]
        keys.update(kwargs)
        return self.arrays.new_dict(tuple(keys), tuple(keys.values()))

    @builtin(map)
    def call_map(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        function, *inners = args
        return self.iterators.iterator(MapVal(function, tuple(inners)), map)

    @builtin(filter)
    def call_filter(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        function, inner = args
        return self.iterators.iterator(MapVal(function, (inner,), keeps=True), filter)

    @builtin(sum)
    def call_sum(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        value, *rest = args
        start = rest[0] if rest else kwargs.get("start")
        if isinstance(value, (Ref, Num)):
            return NotImplemented
        items = self.objects.static_items(value)
        if items is None and isinstance(value, ListVal):
            stacked = self.arrays.wrap(
                self.b.emit("list_stack", self.state.heap[value.cell].operand)
            )
            return self.surface_calls.call_surface("builtins.sum", (stacked, *rest), kwargs, node)
        if items is None:
            return NotImplemented
        total_value = start if start is not None else constant(0)
        for item in items:
            total_value = self.operators.binary("add", total_value, item, node)
        return total_value

    @builtin(any)
    def call_any(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        return self._fold_bools(args[0], self.truth.lazy_or, False, node)

    @builtin(all)
    def call_all(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        return self._fold_bools(args[0], self.truth.lazy_and, True, node)

    def _fold_bools(self, value: Value, combine: Any, empty: bool, node: core.Node) -> Value:
        found = self.iterators.searched(value, not empty, node)
        if found is not None:
            return self.truth.not_(found, node) if empty else found
        left = Conflict("how much of this iterator is left depends on the run")
        iterator, value = value, self.iterators.whole(value, node)
        if isinstance(iterator, IterVal):
            self.state.heap[iterator.cell] = left
        if isinstance(value, ListVal) and self.objects.static_items(value) is None:
            value = self.arrays.wrap(self.b.emit("list_stack", self.state.heap[value.cell].operand))
        if isinstance(value, Ref):
            return self.surface_calls.call_surface(
                "numpy.all" if empty else "numpy.any", (value,), {}, node
            )
        items = self.objects.static_items(value)
        if items is None:
            return self.places.refuse(node, "this needs a sequence")
        total: Value = constant(empty)
        for item in items:
            total = combine(total, lambda item=item: item, node)
        return self.truth.truth(total, node)

    @builtin(max)
    def call_max(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        return self._extreme("max", args, kwargs, node)

    @builtin(min)
    def call_min(self, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        return self._extreme("min", args, kwargs, node)

    def _extreme(self, name: str, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        if kwargs:
            program = largest if name == "max" else smallest
            values = args[0] if len(args) == 1 else TupleVal(tuple(args))
            return self.numpy_calls.call_library(program, max, (values,), kwargs, node)
        if len(args) == 1 and not isinstance(args[0], Ref):
            items = self.objects.static_items(args[0])
            if items is None and isinstance(args[0], ListVal):
                stacked = self.arrays.wrap(
                    self.b.emit("list_stack", self.state.heap[args[0].cell].operand)
                )
                return self.surface_calls.call_surface(f"numpy.{name}", (stacked,), {}, node)
            if items is None:
                return NotImplemented
            args = tuple(items)
            if not args:
                raise self.places.located(ValueError(f"{name}() arg is an empty sequence"), node)
        if all(isinstance(a, Num) and a.known is not None for a in args):
            pick = max if name == "max" else min
            with self.places.python_errors(node):
                return pick(args, key=lambda a: number(a).known[0])  # type: ignore[index]
        if len(args) == 1:
            return args[0] if isinstance(args[0], Num) else NotImplemented
        return self.surface_calls.call_surface(f"builtins.{name}", args, {}, node)


def _known_prefix(key: Value) -> tuple[tuple[Any, ...], bool]:
    """The leading parts of a sort key that are known, and whether these are all."""
    parts = key.values if isinstance(key, TupleVal) else (key,)
    known: list[Any] = []
    for part in parts:
        if isinstance(part, Num) and part.known is not None:
            known.append(part.known[0])
        elif isinstance(part, Obj) and isinstance(part.value, (str, bytes)):
            known.append(part.value)
        else:
            return tuple(known), False
    return tuple(known), True
