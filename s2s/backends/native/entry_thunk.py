"""The entry point of a kernel from Python: a C function in the module of the kernel.

It takes Python objects as CPython hands them over (METH_FASTCALL), looks at their types, layouts
and sizes, reads them, calls the kernel, without the interpreter's lock unless that takes no time,
and makes objects of what comes back.  Arguments that do not fit are no error: it returns `MISS`,
and who called it knows better.  Addresses that differ between processes stand in a table, which
`native_loader.py` fills; so the machine code can be kept.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir

from ...codegen import arithmetic
from ...codegen import size_relations as relations
from ...codegen.array_values import Buffer, allocate, of_values, parts_of_type
from ...codegen.llvm_utils import (
    BIT,
    INT,
    NULL,
    POINTER,
    counting,
    declared,
    member,
    new_function,
    room,
    room_for,
)
from ...codegen.partition.shared_frame import Frame, Word
from ...codegen.partition.split_function import WORDS
from ...codegen.type_lowering import Context, memory_type
from ...codegen.value_types import Array, of_dtype, of_spec
from ...runtime.block_pool import LEAST
from ...transforms.frontend.pytree import ArraySpec, ScalarSpec, Spec
from .entry_signature import PYTHON, Signature
from .native_loader import ENTRY, LINKS
from .object_layout import DATA, DESCR, DIMS, FLAGS, NDIM, STRIDES, TYPE, VALUE

INT32 = ir.IntType(32)
POINTERS = POINTER.as_pointer()
C_ORDER, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
TOGETHER = 16


def write(
    context: Context,
    target: Any,
    kinds: Any,
    results: Any,
    signature: Signature,
    frame: Frame | None,
    brief: bool,
) -> tuple[str, ...]:
    """Adds the way into the function `target`, which may take its arguments in a frame, to its
    module.  Which addresses its table is to hold is returned.  The interpreter's lock is kept
    during a call that is `brief`."""
    writer = _Writer(context, target, kinds, results, signature, frame, brief)
    writer.write()
    return tuple(writer.links)


class _Writer:
    def __init__(
        self,
        context: Context,
        target: Any,
        kinds: Any,
        results: Any,
        signature: Signature,
        frame: Frame | None,
        brief: bool,
    ) -> None:
        self.context, self.target, self.kinds, self.returns = context, target, kinds, results
        self.signature, self.brief = signature, brief
        self.words = [*frame.given.values()] if frame else []
        module = self.module = target.module
        type_ = ir.FunctionType(POINTER, [POINTER, POINTERS, INT])
        self.function = ir.Function(module, type_, ENTRY)
        self.places, self.given, self.count = self.function.args
        addresses = ir.ArrayType(POINTER, 16 + len(signature.arguments) + len(signature.results))
        self.table: Any = ir.GlobalVariable(module, addresses, LINKS)
        self.table.initializer = ir.Constant(addresses, None)
        self.links: list[str] = []
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.missed = self.function.append_basic_block("missed")
        self.failed = self.function.append_basic_block("failed")
        self.frame = room(self.builder, INT, frame.size) if frame else None

    def write(self) -> None:
        builder, signature = self.builder, self.signature
        count, more = len(signature.arguments), len(signature.buffers)
        bare = builder.icmp_signed("==", self.count, INT(count))
        whole = builder.icmp_signed("==", self.count, INT(count + more))
        self.need(builder.or_(bare, whole))
        read = self.read if self.frame is None else self.take
        values = [read(i, spec, self.kinds[i]) for i, spec in enumerate(signature.arguments)]
        self.relations(values)
        objects = self.buffers(bare, values)
        made = [self.array(o, k) for o, k in zip(objects, self.kinds[count:])]
        if self.frame is None:
            values += made
            parts = [p for v in values for p in (v.parts()[:-1] if isinstance(v, Buffer) else [v])]
        else:
            for words, array in zip(self.words[count:], made, strict=True):
                self.put(words, array.parts())
            parts = [self.frame]
        returned, error = (room(builder, a.type.pointee) for a in self.target.args[:2])
        thread = None if self.brief else self.call("PyEval_SaveThread", POINTER, [])
        status = builder.call(self.target, [returned, error, *parts])
        if thread is not None:
            self.call("PyEval_RestoreThread", ir.VoidType(), [thread])
        with builder.if_then(builder.icmp_signed("!=", status, INT32(0)), likely=False):
            for o in objects:
                self.release(o)
            info = builder.bitcast(builder.load(error), POINTER)
            number = self.call("PyLong_FromVoidPtr", POINTER, [info])
            name = "PyObject_CallFunctionObjArgs"  # of those that call, all versions have this one
            kind = ir.FunctionType(POINTER, [POINTER], var_arg=True)
            function = declared(self.module, kind, name)
            builder.call(function, [self.link("failure"), number, NULL])
            self.release(number)
            builder.ret(NULL)
        self.hand_over(objects, returned)
        with builder.goto_block(self.missed):
            builder.ret(self.retained(self.link("miss")))
        with builder.goto_block(self.failed):
            builder.ret(NULL)

    # ---- pieces

    def link(self, name: str) -> Any:
        """An address that the process knows."""
        if name not in self.links:
            self.links.append(name)
        place = [INT(0), INT(self.links.index(name))]
        return self.builder.load(self.builder.gep(self.table, place, inbounds=True))

    def call(self, name: str, result: Any, args: list[Any]) -> Any:
        type_ = ir.FunctionType(result, [a.type for a in args])
        return self.builder.call(declared(self.module, type_, name), args)

    def numpy(self, number: int, result: Any, args: list[Any]) -> Any:
        """A function of NumPy's, by its number in the table that NumPy offers."""
        type_ = ir.FunctionType(result, [a.type for a in args]).as_pointer()
        return self.builder.call(self.builder.bitcast(self.link(f"numpy:{number}"), type_), args)

    def need(self, condition: Any) -> None:
        after = self.function.append_basic_block()
        self.builder.cbranch(condition, after, self.missed)
        self.builder.position_at_end(after)

    def field(self, thing: Any, offset: int, type_: Any) -> Any:
        return self.builder.load(self.place(thing, offset, type_))

    def place(self, thing: Any, offset: int, type_: Any) -> Any:
        where = self.builder.gep(thing, [INT(offset)], inbounds=True)
        return self.builder.bitcast(where, type_.as_pointer())

    def retained(self, thing: Any) -> Any:
        self.call("Py_IncRef", ir.VoidType(), [thing])
        return thing

    def release(self, thing: Any) -> None:
        self.call("Py_DecRef", ir.VoidType(), [thing])

    # ---- arguments

    def argument(self, position: int) -> Any:
        return self.builder.load(self.builder.gep(self.given, [INT(position)], inbounds=True))

    def is_of(self, thing: Any, name: str) -> Any:
        return self.builder.icmp_unsigned("==", self.field(thing, TYPE, POINTER), self.link(name))

    def read(self, position: int, spec: Spec, kind: Any) -> Any:
        thing = self.argument(position)
        if isinstance(spec, ArraySpec):
            self.check(thing, spec)
            return self.array(thing, kind)
        assert isinstance(spec, ScalarSpec)
        return self.number(thing, spec, kind)

    def take(self, position: int, spec: Spec, kind: Any) -> Any:
        """Reads an argument into the frame; of arrays only the sizes are asked for again."""
        words = self.words[position]
        if isinstance(spec, ArraySpec):
            where = self.builder.gep(self.frame, [INT(words[0].position)], inbounds=True)
            self.need(self.builder.call(self._taker(spec, kind), [self.argument(position), where]))
            return InFrame(self, words[1 : 1 + spec.ndim])
        value = self.read(position, spec, kind)
        self.put(words, [value])
        return value

    def put(self, words: list[Any], parts: list[Any]) -> None:
        for word, part in zip(words, parts, strict=True):
            if isinstance(word, Word):
                self.builder.store(part, word.place(self.builder, self.frame))

    def _taker(self, spec: ArraySpec, kind: Any) -> Any:
        """take(object, words): whether it is an array of such a kind, whose parts are noted."""
        writeable = ".w" if spec.writeable else ""
        name = f"s2s.take.{spec.dtype}.{spec.ndim}.{kind.layout}.{spec.layout}{writeable}"
        function = self.module.globals.get(name)
        if function is not None:
            return function
        type_ = ir.FunctionType(BIT, [POINTER, WORDS])
        function = new_function(self.module, type_, name, "noinline")
        outer = self.function, self.builder, self.missed, self.frame
        self.function, self.frame = function, function.args[1]
        self.builder = builder = ir.IRBuilder(function.append_basic_block())
        self.missed = function.append_basic_block()
        self.check(function.args[0], spec)
        parts = self.array(function.args[0], kind).parts()[:-1]
        self.put([Word(i, p.type) for i, p in enumerate(parts)], parts)
        builder.ret(BIT(1))
        builder.position_at_end(self.missed)
        builder.ret(BIT(0))
        self.function, self.builder, self.missed, self.frame = outer
        return function

    def relations(self, values: list[Any]) -> None:
        """What sizes are to be; many of them are looked at together."""
        builder, together = self.builder, 1 if self.frame is None else TOGETHER
        found = []
        for relation in self.signature.relations:
            found.append(relations.holds(builder, *relation, values))
            if len(found) == together:
                self.need(functools.reduce(builder.and_, found))
                found.clear()
        if found:
            self.need(functools.reduce(builder.and_, found))

    def number(self, thing: Any, spec: ScalarSpec, kind: Any) -> Any:
        builder = self.builder
        if spec.dtype == "bool":
            true, false = self.link("True"), self.link("False")
            is_true = builder.icmp_unsigned("==", thing, true)
            self.need(builder.or_(is_true, builder.icmp_unsigned("==", thing, false)))
            return is_true
        name = _class_of(spec)
        self.need(self.is_of(thing, f"type:{name}"))
        if name != "int":
            where = self.place(thing, VALUE, memory_type(kind))
            return self.context.load(builder, kind, where)
        number = self.call("PyLong_AsLongLong", INT, [thing])
        with builder.if_then(builder.icmp_signed("==", number, INT(-1)), likely=False):
            error = self.call("PyErr_Occurred", POINTER, [])
            wrong = builder.icmp_unsigned("!=", error, NULL)
            after = self.function.append_basic_block()
            builder.cbranch(wrong, self.failed, after)
            builder.position_at_end(after)
        return number

    def check(self, thing: Any, spec: ArraySpec) -> None:
        builder = self.builder
        self.need(self.is_of(thing, "ndarray"))
        flags = ALIGNED | (C_ORDER if spec.layout == "C" else 0)
        flags |= WRITEABLE if spec.writeable else 0
        found = builder.and_(self.field(thing, FLAGS, INT32), INT32(flags))
        descr = self.field(thing, DESCR, POINTER)
        fits = builder.icmp_unsigned("==", descr, self.link(f"descr:{spec.dtype}"))
        fits = builder.and_(fits, builder.icmp_signed("==", found, INT32(flags)))
        rank = builder.icmp_signed("==", self.field(thing, NDIM, INT32), INT32(spec.ndim))
        self.need(builder.and_(fits, rank))

    def array(self, thing: Any, kind: Any) -> Buffer:
        """Of an array object, which goes on owning its memory."""
        data = self.field(thing, DATA, memory_type(kind.dtype).as_pointer())
        sizes = self._axes(thing, DIMS, kind.ndim)
        strides = self._axes(thing, STRIDES, kind.ndim) if kind.layout != "C" else None
        return Buffer(kind, data, sizes, strides, NULL)

    def _axes(self, thing: Any, offset: int, count: int) -> list[Any]:
        if not count:
            return []
        axes = self.field(thing, offset, INT.as_pointer())
        places = [self.builder.gep(axes, [INT(i)], inbounds=True) for i in range(count)]
        return [self.builder.load(p) for p in places]

    # ---- results

    def buffers(self, bare: Any, values: list[Any]) -> list[Any]:
        """Arrays for results that have the shape of a parameter: the caller's, or new ones."""
        builder, objects = self.builder, []
        count = len(self.signature.arguments)
        for i, (_, position) in enumerate(self.signature.buffers):
            spec = self.signature.arguments[position]
            assert isinstance(spec, ArraySpec)
            with builder.if_else(bare) as (new, old):
                with new:
                    made = builder.call(self._result(spec), [*values[position].sizes])
                    # Nothing has happened yet, so those made before are all there is to undo.
                    with builder.if_then(self.is_null(made), likely=False):
                        for other in objects:
                            self.release(other)
                        builder.ret(NULL)
                    after_new = builder.block
                with old:
                    given = self.argument(count + i)
                    self.check(given, ArraySpec(spec.dtype, spec.ndim, "C"))
                    self.retained(given)
                    after_old = builder.block
            thing = builder.phi(POINTER)
            thing.add_incoming(made, after_new)
            thing.add_incoming(given, after_old)
            objects.append(thing)
        return objects

    def _result(self, spec: ArraySpec) -> Any:
        """result(size, …): a new array.  If it is large, its memory is a block like those of
        temporaries (`s2s.runtime.block_pool`), which is kept when nobody refers to it any more."""
        name = f"s2s.result.{spec.dtype}.{spec.ndim}"
        function = self.module.globals.get(name)
        if function is not None:
            return function
        type_ = ir.FunctionType(POINTER, [INT] * spec.ndim)
        function = new_function(self.module, type_, name, "noinline")
        outer, builder = self.builder, ir.IRBuilder(function.append_basic_block())
        self.builder = builder
        sizes = list(function.args)
        kind = of_spec(ArraySpec(spec.dtype, spec.ndim, "C"))
        bytes_: Any = INT(kind.dtype.bytes)
        for size in sizes:
            bytes_ = builder.mul(bytes_, size)
        with builder.if_then(builder.icmp_unsigned(">=", bytes_, INT(1 << LEAST)), likely=False):
            buffer = allocate(builder, kind, sizes, self._no_memory)
            made = self.array_at(buffer)
            with builder.if_then(builder.not_(self.is_null(made)), likely=True):
                self.own(made, buffer.memory)
            builder.ret(made)
        builder.ret(self.new_array(spec.dtype, sizes, None, NULL, 0))
        self.builder = outer
        return function

    def _no_memory(self) -> None:
        self.builder.ret(self.call("PyErr_NoMemory", POINTER, []))

    def is_null(self, thing: Any) -> Any:
        return self.builder.icmp_unsigned("==", thing, NULL)

    def new_array(
        self, dtype: str, sizes: list[Any], strides: list[Any] | None, data: Any, flags: int
    ) -> Any:
        places = [self._table(sizes), NULL if strides is None else self._table(strides)]
        descr = self.retained(self.link(f"descr:{dtype}"))
        kind = self.link("ndarray")
        rank = INT32(len(sizes))
        arguments = [kind, descr, rank, *places, data, INT32(flags), NULL]
        return self.numpy(94, POINTER, arguments)  # PyArray_NewFromDescr

    def _table(self, numbers: list[Any]) -> Any:
        table = room(self.builder, INT, max(len(numbers), 1))
        for i, number in enumerate(numbers):
            self.builder.store(number, self.builder.gep(table, [INT(i)]))
        return self.builder.bitcast(table, POINTER)

    def hand_over(self, objects: list[Any], returned: Any) -> None:
        """All results in order: one by itself, or as a tuple.  A plan (`call_bytecode.py`) tells,
        in place of an object that a function belongs to, where it wants them instead."""
        builder, waiting, types = self.builder, iter(objects), iter(self.returns)
        made, position = [], 0
        for kind in self.signature.results:
            if kind == "buffer":
                made.append(next(waiting))
                continue
            type_ = next(types)
            count = len(parts_of_type(type_)) if isinstance(type_, Array) else 1
            places = range(position, position + count)
            made.append(
                self.boxed(
                    [builder.load(member(builder, returned, i)) for i in places], type_, kind
                )
            )
            position += count
        if len(made) == 1:
            builder.ret(made[0])
            return
        bad: Any = BIT(0)
        for thing in made:
            bad = builder.or_(bad, self.is_null(thing))
        with builder.if_then(builder.not_(self.is_null(self.places)), likely=True):
            self.none_bad(bad)
            places = builder.bitcast(self.places, POINTERS)
            for i, thing in enumerate(made):
                builder.store(thing, builder.gep(places, [INT(i)]))
            builder.ret(self.link("True"))
        whole = self.call("PyTuple_New", POINTER, [INT(len(made))])
        self.none_bad(builder.or_(bad, self.is_null(whole)))
        for i, thing in enumerate(made):
            self.call("PyTuple_SetItem", INT32, [whole, INT(i), thing])
        builder.ret(whole)

    def none_bad(self, bad: Any) -> None:
        """There is no memory left: what was made is lost, too."""
        after = self.function.append_basic_block()
        self.builder.cbranch(bad, self.failed, after)
        self.builder.position_at_end(after)

    def boxed(self, values: list[Any], type_: Any, kind: str) -> Any:
        """An object of a result, which is a number or the parts of an array."""
        builder = self.builder
        if kind == "array":
            return self.boxed_array(of_values(type_, values))
        wanted = of_dtype(kind)  # "int", "float" and "bool" are dtypes, too
        value = arithmetic.converted(builder, values[0], type_, wanted)
        if kind == "bool":
            return self.retained(builder.select(value, self.link("True"), self.link("False")))
        if kind in ("int", "float"):
            name = "PyLong_FromLongLong" if kind == "int" else "PyFloat_FromDouble"
            return self.call(name, POINTER, [value])
        made = self.call("PyType_GenericAlloc", POINTER, [self.link(f"type:{kind}"), INT(0)])
        with builder.if_then(builder.not_(self.is_null(made)), likely=True):
            place = builder.gep(made, [INT(VALUE)])
            place = builder.bitcast(place, memory_type(wanted).as_pointer())
            self.context.store(builder, wanted, value, place)
        return made

    def boxed_array(self, buffer: Buffer) -> Any:
        """An array object that owns its memory, or refers to the parameter that does."""
        builder = self.builder
        made = self.array_at(buffer)
        with builder.if_then(builder.not_(self.is_null(made))):
            with builder.if_else(self.is_null(buffer.memory)) as (lent, own):
                with lent:
                    data = builder.bitcast(buffer.data, POINTER)
                    args = [self.given, INT(len(self.signature.arguments)), data]
                    owner = builder.call(self._owner(), args)
                    with builder.if_then(builder.not_(self.is_null(owner))):
                        self.set_base(made, self.retained(owner))
                with own:
                    self.own(made, buffer.memory)
        return made

    def array_at(self, buffer: Buffer) -> Any:
        flags = ALIGNED | WRITEABLE | (C_ORDER if buffer.strides is None else 0)
        data = self.builder.bitcast(buffer.data, POINTER)
        return self.new_array(str(buffer.type.dtype), buffer.sizes, buffer.strides, data, flags)

    def own(self, array: Any, memory: Any) -> None:
        """By way of a capsule."""
        destroy = self.builder.bitcast(self._destroy(), POINTER)
        self.set_base(array, self.call("PyCapsule_New", POINTER, [memory, NULL, destroy]))

    def set_base(self, array: Any, base: Any) -> None:
        self.numpy(282, INT32, [array, base])  # PyArray_SetBaseObject

    def _destroy(self) -> Any:
        """destroy(capsule): what happens when nobody refers to the memory of a result."""
        name = "s2s.destroy"
        function = self.module.globals.get(name)
        if function is None:
            function = new_function(self.module, ir.FunctionType(ir.VoidType(), [POINTER]), name)
            outer, self.builder = self.builder, ir.IRBuilder(function.append_basic_block())
            memory = self.call("PyCapsule_GetPointer", POINTER, [function.args[0], NULL])
            self.call("NRT_decref", ir.VoidType(), [memory])
            self.builder.ret_void()
            self.builder = outer
        return function

    def _owner(self) -> Any:
        """owner(objects, count, data): the array object in whose memory an address lies."""
        name = "s2s.owner"
        function = self.module.globals.get(name)
        if function is not None:
            return function
        type_ = ir.FunctionType(POINTER, [POINTERS, INT, POINTER])
        function = new_function(self.module, type_, name, "noinline")
        objects, count, data = function.args
        outer, builder = self.builder, ir.IRBuilder(function.append_basic_block())
        self.builder = builder
        address = builder.ptrtoint(data, INT)
        with counting(builder, count) as i:
            thing = builder.load(builder.gep(objects, [i]))
            with builder.if_then(self.is_of(thing, "ndarray")):
                start = room_for(builder, self.field(thing, DATA, INT))
                end = room_for(builder, builder.load(start))
                rank = builder.sext(self.field(thing, NDIM, INT32), INT)
                with counting(builder, rank) as axis:
                    size, stride = (
                        builder.load(builder.gep(self.field(thing, at, INT.as_pointer()), [axis]))
                        for at in (DIMS, STRIDES)
                    )
                    reach = builder.mul(stride, builder.sub(size, INT(1)))
                    back = builder.icmp_signed("<", reach, INT(0))
                    for place, add in ((start, back), (end, builder.not_(back))):
                        moved = builder.select(add, reach, INT(0))
                        builder.store(builder.add(builder.load(place), moved), place)
                after = builder.icmp_unsigned("<=", builder.load(start), address)
                before = builder.icmp_unsigned("<=", address, builder.load(end))
                with builder.if_then(builder.and_(after, before)):
                    builder.ret(thing)
        builder.ret(NULL)
        self.builder = outer
        return function


class InFrame:
    """An array that was read into the frame."""

    def __init__(self, writer: _Writer, words: list[Any]) -> None:
        self.writer, self.words = writer, words

    @property
    def sizes(self) -> Any:
        return self

    def __getitem__(self, axis: int) -> Any:
        return self.words[axis].load(self.writer.builder, self.writer.frame)


def _class_of(spec: ScalarSpec) -> str:
    """The class of a number: Python's own if it is weak."""
    return PYTHON.get(spec.dtype, spec.dtype) if spec.weak else spec.dtype
