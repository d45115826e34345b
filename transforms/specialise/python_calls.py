"""Python's own functions: range, len, zip, sum, print and their kind."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..frontend.kernel_interface import ObjectGuard
from ..ir.builder import Sym
from ..ir.nodes import Print
from ..ir.record import record
from ..rules.library.python_standard import largest, smallest
from ..rules.promotion import is_inexact, is_weak
from ..syntax import core
from .arrays import Arrays
from .attributes import Attributes
from .calls import Calls
from .comparisons import Comparisons
from .effects import Effects
from .expressions import Expressions
from .indexing import Indexing
from .iterators import Iterators
from .joins import Joins
from .list_parts import ListParts
from .loops import Loops
from .numpy_calls import NumpyCalls
from .objects import Objects, path_of_class
from .operators import Operators
from .places import Places
from .session import Part
from .statements import Statements
from .values import (
    UNDEFINED,
    Bound,
    Closure,
    Conflict,
    DictVal,
    EnumerateVal,
    Growing,
    InstanceVal,
    IterVal,
    ListVal,
    MapVal,
    Num,
    Obj,
    Partial,
    RangeVal,
    Rec,
    Ref,
    SliceVal,
    SnapshotVal,
    Super,
    TupleVal,
    Value,
    ViewVal,
    ZipVal,
    constant,
    is_huge,
    kind_text,
)


@record(eq=False)
class PythonCalls(Part):
    """Builtin functions."""

    places: Places
    arrays: Arrays
    joins: Joins
    expressions: Expressions
    objects: Objects
    operators: Operators
    indexing: Indexing
    iterators: Iterators
    effects: Effects
    numpy_calls: NumpyCalls
    calls: Calls
    comparisons: Comparisons
    attributes: Attributes
    statements: Statements
    loops: Loops
    list_parts: ListParts

    def call_range(self, args: Any, kwargs: Any, node: Any) -> Any:
        numbers = [self.integer(a, node) for a in args]
        zero, one = constant(0), constant(1)
        if len(numbers) == 1:
            numbers = [zero, numbers[0], one]
        elif len(numbers) == 2:
            numbers = [*numbers, one]
        if len(numbers) != 3:
            raise self.places.located(TypeError("range expected 1 to 3 arguments"), node)
        step = numbers[2]
        if step.known is not None and step.known[0] == 0:
            raise self.places.located(ValueError("range() arg 3 must not be zero"), node)
        if step.known is None:
            self.b.check(
                Sym(self.b, step.operand) != 0, "ValueError", "range() arg 3 must not be zero"
            )
        return RangeVal(numbers[0], numbers[1], numbers[2])

    def integer(self, value: Value, node: Any) -> Num:
        if isinstance(value, Ref) and self.joins.ref_type(value).ndim == 0:
            value = self.indexing.index_value(value, (), node)
        if isinstance(value, Obj) and is_huge(value.value):
            self.places.refuse(node, "this integer does not fit in 64 bits", "use smaller integers")
        if not isinstance(value, Num) or is_inexact(value.operand.type.dtype):
            self.indexing.refuse_joined_float(value, node)
            raise self.places.located(
                TypeError(
                    "'float' object cannot be interpreted as an integer"
                    if isinstance(value, Num)
                    else "an integer is required"
                ),
                node,
            )
        if value.operand.type.dtype == "bool" and not is_weak(value.operand.type):
            text = "'numpy.bool' object cannot be interpreted as an integer"
            raise self.places.located(TypeError(text), node)
        if value.operand.type.dtype != "int64":
            cast = Sym(self.b, value.operand).astype("int64").operand
            return Num(cast, value.known)
        return value

    def call_super(self, args: Any, kwargs: Any, node: Any) -> Value:
        """By itself, `super()` means the class in which the function stands, and the function's
        first argument."""
        if len(args) == 2 and isinstance(args[0], Obj):
            return Super(args[1], args[0].value)
        function, params = self.places.frame.function, self.places.frame.node.params
        named = [*params.positional_only, *params.plain]
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        if args or not named or "__class__" not in cells:
            raise self.places.located(RuntimeError("super(): no arguments"), node)
        return Super(self.objects.lookup(named[0].name, node), cells["__class__"].cell_contents)

    def call_replace(self, args: Any, kwargs: Any, node: Any) -> Value:
        """`dataclasses.replace`."""
        old = args[0]
        if not isinstance(old, InstanceVal) or hasattr(old.cls, "__post_init__"):
            return NotImplemented
        content = self.state.heap[old.cell]
        unknown = next((k for k in kwargs if k not in content.keys), None)
        if unknown is not None:
            text = f"{old.cls.__name__}.__init__() got an unexpected keyword argument {unknown!r}"
            raise self.places.located(TypeError(text), node)
        values = (kwargs.get(k, v) for k, v in zip(content.keys, content.values))
        return self.arrays.new_instance(old.cls, content.keys, tuple(values))

    def call_len(self, args: Any, kwargs: Any, node: Any) -> Value:
        (value,) = args
        if isinstance(value, Ref):
            array = self.arrays.sym(value)
            if array.ndim == 0:
                raise self.places.located(TypeError("len() of unsized object"), node)
            return self.attributes.size(array, 0)
        if isinstance(value, Rec):
            return self.arrays.wrap(self.b.emit("shape", value.operand, axis=0))
        if isinstance(value, ListVal) and isinstance(self.state.heap[value.cell], Growing):
            return self.arrays.wrap(self.b.emit("list_len", self.state.heap[value.cell].operand))
        if isinstance(value, RangeVal):
            return self.loops.range_count(value)
        special = self.operators.call_special(value, "__len__", (), node)
        if special is not None:
            return special
        if isinstance(value, IterVal):
            text = f"object of type {value.cls.__name__!r} has no len()"
            raise self.places.located(TypeError(text), node)
        if isinstance(value, (ListVal, DictVal)):
            self.loops.usable(self.state.heap[value.cell], node)
        items = self.expressions.static_items(value)
        if items is None and isinstance(value, (ListVal, DictVal)):
            self.places.refuse(node, f"the length of {kind_text(value)} that differs between paths")
        if items is None:
            raise self.places.located(TypeError(f"{kind_text(value)} has no len()"), node)
        return constant(len(items))

    def call_slice(self, args: Any, kwargs: Any, node: Any) -> Value:
        parts = [None if isinstance(a, Obj) and a.value is None else a for a in args]
        parts = [None, parts[0], None] if len(parts) == 1 else [*parts, None][:3]
        return SliceVal(*parts)

    def call_enumerate(self, args: Any, kwargs: Any, node: Any) -> Value:
        start = kwargs.get("start") or (args[1] if len(args) > 1 else constant(0))
        if not isinstance(start, Num) or start.operand.type.dtype not in ("int64", "bool"):
            text = f"{kind_text(start)} cannot be interpreted as an integer"
            raise self.places.located(TypeError(text), node)
        return self.iterators.iterator(EnumerateVal(args[0], start), enumerate)

    def call_zip(self, args: Any, kwargs: Any, node: Any) -> Value:
        if kwargs.keys() - {"strict"}:
            self.places.refuse(node, "this keyword of zip is not supported")
        if "strict" in kwargs and self.expressions.static(kwargs["strict"], node, "strict"):
            args = tuple(self.iterators.whole(a, node) for a in args)
            sizes = [self.call_len((a,), {}, node) for a in args]
            for size in sizes[1:]:
                text = "zip() arguments have different lengths"
                same = self.comparisons.compare("==", sizes[0], size, node)
                self.b.check(Sym(self.b, same.operand), "ValueError", text)
        return self.iterators.iterator(ZipVal(tuple(args)), zip)

    def call_sorted(self, args: Any, kwargs: Any, node: Any) -> Value:
        """By what is known while compiling, as names are; numbers are sorted at run time."""
        items = self.expressions.static_items(args[0])
        if items is None:
            return NotImplemented
        by = kwargs.get("key")
        if by is None or (isinstance(by, Obj) and by.value is None):
            keys = items
        elif isinstance(by, Closure):
            keys = [self.calls.call(by, (item,), {}, node) for item in items]
        else:
            return NotImplemented
        known = [_known_prefix(key) for key in keys]
        whole = all(complete for _, complete in known)
        places = [prefix for prefix, _ in known]
        if () in places or not (whole or len(set(places)) == len(places)):
            return NotImplemented
        backward = "reverse" in kwargs and self.expressions.static(
            kwargs["reverse"], node, "reverse"
        )
        with self.places.python_errors(node):
            order = sorted(range(len(items)), key=places.__getitem__, reverse=bool(backward))
        return self.arrays.new_list(tuple(items[i] for i in order))

    def call_reversed(self, args: Any, kwargs: Any, node: Any) -> Value:
        (value,) = args
        if isinstance(value, IterVal):
            name = value.cls.__name__
            raise self.places.located(TypeError(f"{name!r} object is not reversible"), node)
        backward = self._backward(value, node)
        cell = getattr(value, "cell", None)
        if cell is not None and not isinstance(value, Ref):
            backward = SnapshotVal(backward, cell, self.state.heap[cell])
        return self.iterators.iterator(backward, reversed)

    def _backward(self, value: Value, node: Any) -> Value:
        """The elements of a sequence from the last to the first."""
        if isinstance(value, RangeVal):
            return dataclasses.replace(value, reverse=not value.reverse)
        items = self.expressions.static_items(value)
        if items is not None:
            return TupleVal(tuple(items[::-1]))
        if isinstance(value, Ref):
            none = None
            flipped = (("slice", none, none, constant(-1).operand),)
            flipped += (("all",),) * (self.joins.ref_type(value).ndim - 1)
            return self.indexing.index_value(value, flipped, node)
        content = self.state.heap[value.cell] if isinstance(value, ListVal) else None
        if isinstance(content, Growing):
            return self.list_parts.list_part(content, SliceVal(None, None, constant(-1)), node)
        return self.places.refuse(node, f"reversed of {kind_text(value)} is not supported")

    def call_isinstance(self, args: Any, kwargs: Any, node: Any) -> Value:
        value, classes = args
        wanted = self.expressions.static(classes, node, "the class")
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        with self.places.python_errors(node):
            return constant(any(issubclass(self.class_of(value), c) for c in wanted))

    def call_issubclass(self, args: Any, kwargs: Any, node: Any) -> Value:
        cls, classes = self.expressions.static(args[0], node, "the class"), args[1]
        wanted = self.expressions.static(classes, node, "the class")
        with self.places.python_errors(node):
            return constant(issubclass(cls, wanted))

    def class_of(self, value: Value) -> type:
        if isinstance(value, Ref):
            return np.ndarray
        if isinstance(value, Num):
            if value.arrays:  # an array of rank 0 in NumPy
                return np.ndarray
            self.joins.require_one_kind(value, None, "the type")
            type_ = value.operand.type
            if type_.weak:
                return {"bool": bool, "int64": int, "complex128": complex}.get(type_.dtype, float)
            return np.dtype(type_.dtype).type
        if isinstance(value, (InstanceVal,)):
            return value.cls
        if isinstance(value, IterVal):
            return value.cls
        if isinstance(value, ViewVal):
            return type(getattr({}, value.kind)())
        plain = {TupleVal: tuple, ListVal: list, DictVal: dict, RangeVal: range}
        if isinstance(value, TupleVal) and value.cls is not None:
            return value.cls
        return plain.get(type(value)) or type(getattr(value, "value", None))

    def call_type(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self.objects.class_value(self.class_of(args[0]), path_of_class(args[0]))

    def call_is_dataclass(self, args: Any, kwargs: Any, node: Any) -> Value:
        return constant(dataclasses.is_dataclass(self.class_of(args[0])))

    def call_fields(self, args: Any, kwargs: Any, node: Any) -> Value:
        return TupleVal(tuple(Obj(f) for f in dataclasses.fields(self.class_of(args[0]))))

    def call_callable(self, args: Any, kwargs: Any, node: Any) -> Value:
        value = args[0]
        return constant(
            isinstance(value, (Closure, Bound, Partial))
            or (isinstance(value, Obj) and callable(value.value))
            or (isinstance(value, InstanceVal) and hasattr(value.cls, "__call__"))  # noqa: B004
        )

    def call_hasattr(self, args: Any, kwargs: Any, node: Any) -> Value:
        owner, name = args[0], self.expressions.static(args[1], node, "the attribute's name")
        if isinstance(owner, InstanceVal):
            keys = self.state.heap[owner.cell].keys
            return constant(name in keys or hasattr(owner.cls, name))
        if isinstance(owner, Obj):
            written = self.effects.written_attribute(owner, name)
            if written is not None:
                return constant(written is not UNDEFINED)
            has = hasattr(owner.value, name)
            if owner.path:
                self.shared.object_guards.append(ObjectGuard(owner.path, "attribute", (name, has)))
            return constant(has)
        return constant(hasattr(self.class_of(owner), name))

    def call_getattr(self, args: Any, kwargs: Any, node: Any) -> Value:
        name = self.expressions.static(args[1], node, "the attribute's name")
        if len(args) > 2 and not self.call_hasattr(args[:2], {}, node).known[0]:
            return args[2]
        return self.attributes.attribute(args[0], name, node)

    def call_tuple(self, args: Any, kwargs: Any, node: Any) -> Value:
        if not args:
            return TupleVal(())
        items = self.expressions.static_items(args[0])
        if items is None and isinstance(args[0], Ref) and self.joins.ref_type(args[0]).ndim:
            count = self.b.facts.canonical(self.joins.ref_type(args[0]).shape[0])
            if count.is_const:
                items = [
                    self.statements.row(args[0], constant(k), node) for k in range(count.const)
                ]
        if items is None:
            return self.places.refuse(
                node, "the length of this tuple is known only at run time", "use an array or a list"
            )
        return TupleVal(tuple(items))

    def call_list(self, args: Any, kwargs: Any, node: Any) -> Value:
        if not args:
            return self.arrays.new_list(())
        if isinstance(args[0], ListVal):
            return self.evaluator.methods._copy_list(self.state.heap[args[0].cell])
        items = self.expressions.static_items(args[0])
        if isinstance(args[0], Ref) and items is None:
            return self.statements.rows_of(args[0], node)
        if items is None:
            return self.places.refuse(
                node, "the length of this list is known only at run time", "append in a loop"
            )
        return self.arrays.new_list(tuple(items))

    def call_dict(self, args: Any, kwargs: Any, node: Any) -> Value:
        keys: dict[Any, Value] = {}
        if args:
            if isinstance(args[0], DictVal):
                content = self.state.heap[args[0].cell]
                keys = dict(zip(content.keys, content.values))
            else:
                items = self.expressions.static_items(args[0])
                if items is None:
                    return self.places.refuse(
                        node, "a dict needs keys that are known while compiling"
                    )
                for item in items:
                    pair = self.expressions.static_items(item)
                    if pair is None or len(pair) != 2:
                        self.places.refuse(node, "a dict is made of pairs of a key and a value")
                    keys[self.expressions.dict_key(pair[0], node)] = pair[1]
        keys.update(kwargs)
        return self.arrays.new_dict(tuple(keys), tuple(keys.values()))

    def call_map(self, args: Any, kwargs: Any, node: Any) -> Value:
        function, *inners = args
        return self.iterators.iterator(MapVal(function, tuple(inners)), map)

    def call_filter(self, args: Any, kwargs: Any, node: Any) -> Value:
        function, inner = args
        return self.iterators.iterator(MapVal(function, (inner,), keeps=True), filter)

    def call_sum(self, args: Any, kwargs: Any, node: Any) -> Value:
        value, *rest = args
        start = rest[0] if rest else kwargs.get("start")
        if isinstance(value, (Ref, Num)):
            return NotImplemented
        items = self.expressions.static_items(value)
        if items is None and isinstance(value, ListVal):
            stacked = self.arrays.wrap(
                self.b.emit("list_stack", self.state.heap[value.cell].operand)
            )
            return self.calls.call_surface("builtins.sum", (stacked, *rest), kwargs, node)
        if items is None:
            return NotImplemented
        total_value = start if start is not None else constant(0)
        for item in items:
            total_value = self.expressions.binary("add", total_value, item, node)
        return total_value

    def call_any(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self._fold_bools(args[0], self.expressions.lazy_or, False, node)

    def call_all(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self._fold_bools(args[0], self.expressions.lazy_and, True, node)

    def _fold_bools(self, value: Value, combine: Any, empty: bool, node: Any) -> Value:
        found = self.iterators.searched(value, not empty, node)
        if found is not None:
            return self.expressions.not_(found, node) if empty else found
        left = Conflict("how much of this iterator is left depends on the run")
        iterator, value = value, self.iterators.whole(value, node)
        if isinstance(iterator, IterVal):
            self.state.heap[iterator.cell] = left
        if isinstance(value, ListVal) and self.expressions.static_items(value) is None:
            value = self.arrays.wrap(self.b.emit("list_stack", self.state.heap[value.cell].operand))
        if isinstance(value, Ref):
            return self.calls.call_surface(
                "numpy.all" if empty else "numpy.any", (value,), {}, node
            )
        items = self.expressions.static_items(value)
        if items is None:
            return self.places.refuse(node, "this needs a sequence")
        total: Value = constant(empty)
        for item in items:
            total = combine(total, lambda item=item: item, node)
        return self.expressions.truth(total, node)

    def call_max(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self._extreme("max", args, kwargs, node)

    def call_min(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self._extreme("min", args, kwargs, node)

    def _extreme(self, name: str, args: Any, kwargs: Any, node: Any) -> Value:
        if kwargs:
            program = largest if name == "max" else smallest
            values = args[0] if len(args) == 1 else TupleVal(tuple(args))
            return self.numpy_calls.call_library(program, max, (values,), kwargs, node)
        if len(args) == 1 and not isinstance(args[0], Ref):
            items = self.expressions.static_items(args[0])
            if items is None and isinstance(args[0], ListVal):
                stacked = self.arrays.wrap(
                    self.b.emit("list_stack", self.state.heap[args[0].cell].operand)
                )
                return self.calls.call_surface(f"numpy.{name}", (stacked,), {}, node)
            if items is None:
                return NotImplemented
            args = tuple(items)
            if not args:
                raise self.places.located(ValueError(f"{name}() arg is an empty sequence"), node)
        if all(isinstance(a, Num) and a.known is not None for a in args):
            pick = max if name == "max" else min
            with self.places.python_errors(node):
                return pick(args, key=lambda a: a.known[0])
        if len(args) == 1:
            return args[0] if isinstance(args[0], Num) else NotImplemented
        return self.calls.call_surface(f"builtins.{name}", args, {}, node)

    def call_int(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self._converted(int, args, node)

    def call_float(self, args: Any, kwargs: Any, node: Any) -> Value:
        return self._converted(float, args, node)

    def _converted(self, kind: Any, args: Any, node: Any) -> Value:
        """`int` or `float` of one number or text that is known."""
        if (
            len(args) == 1
            and isinstance(args[0], Obj)
            and isinstance(args[0].value, (str, bytes, int))
        ):
            known = args[0].value
        elif len(args) == 1 and isinstance(args[0], Num) and args[0].known is not None:
            known = args[0].known[0]
        else:
            return NotImplemented
        with self.places.python_errors(node):
            return constant(kind(known))

    def call_bool(self, args: Any, kwargs: Any, node: Any) -> Value:
        return (
            self.expressions.python_bool(self.expressions.truth(args[0], node))
            if args
            else constant(False)
        )

    def call_print(self, node: core.Call) -> Value:
        if self.shared.replayed:
            return Obj(None)
        parts = tuple(self.print_part(a) for a in node.args)
        options = {}
        for keyword in node.keywords:
            if keyword.name not in ("sep", "end"):
                self.places.refuse(keyword.value, f"print({keyword.name}=…) is not supported")
            options[keyword.name] = self.expressions.static(
                self.expressions.eval(keyword.value), keyword.value, "this text"
            )
        self.b.block.append(
            Print(parts, options.get("sep", " "), options.get("end", "\n"), self.b.origin)
        )
        return Obj(None)

    def print_part(self, node: core.Expr) -> Any:
        if isinstance(node, core.Format):
            return tuple(self.message_parts(node))
        value = self.expressions.eval(node)
        if isinstance(value, (Num, Ref)):
            return self.arrays.sym(value).operand
        if isinstance(value, Obj):
            return str(value.value)
        return self.places.refuse(
            node, f"printing {kind_text(value)} is not supported", "print its parts"
        )

    def message_parts(self, node: core.Format) -> list[Any]:
        """The texts and numbers of an f-string."""
        parts: list[Any] = []
        for part in node.parts:
            if isinstance(part, str):
                parts.append(part)
                continue
            value = self.expressions.eval(part.value)
            spec = self.expressions._text(part.spec) if part.spec else ""
            if isinstance(value, Num) and value.known is None:
                self._refuse_conversion(part, value, spec)
                parts.append((value.operand, spec) if spec else value.operand)
            elif isinstance(value, Ref):
                self._refuse_conversion(part, value, spec)
                parts.append(self.arrays.sym(value).operand)
            elif isinstance(value, TupleVal) and any(
                isinstance(v, Num) and v.known is None for v in value.values
            ):
                parts.append("(")
                for i, v in enumerate(value.values):
                    parts += [", "] if i else []
                    parts.append(self._shown_in_tuple(v, part))
                parts.append(",)" if len(value.values) == 1 else ")")
            else:
                parts.append(self.expressions.field_text(part, value))
        return parts

    def _refuse_conversion(self, part: core.Field, value: Num | Ref, spec: str) -> None:
        """`!s` and `!r` of a Python number are what is printed anyway; those of arrays and of
        NumPy's numbers are not, and a format after them is that of a text."""
        plain = isinstance(value, Num) and is_weak(value.operand.type)
        if part.conversion and (spec or not (plain or part.conversion == "s")):
            sign = f"!{part.conversion}"
            self.places.refuse(
                part, f"{sign} of {kind_text(value)} is not supported here", "leave it out"
            )

    def _shown_in_tuple(self, value: Value, part: core.Field) -> Any:
        if isinstance(value, Num) and value.known is None:
            if not is_weak(value.operand.type):
                self.places.refuse(
                    part, "a tuple of NumPy's numbers cannot be formatted here", "name them"
                )
            return value.operand
        return repr(self.expressions.static(value, part, "a formatted value"))


def _known_prefix(key: Value) -> tuple[tuple[Any, ...], bool]:
    """What is known of a key to sort by, up to the first thing that is not; whether it is all."""
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
