"""The entry thunk of a kernel: a C function in the kernel's LLVM module, callable from Python.

It takes Python objects by CPython's calling convention METH_FASTCALL, checks their types, layouts
and sizes, unboxes them, calls the kernel and boxes the results.  It releases the GIL during the
call, unless the kernel is too short for that to be profitable.  Arguments that fail a check are no
error: it returns `MISS`, and the caller tries another variant.  Addresses that differ between
processes are in a table, which `native_loader.py` fills; so the machine code can be cached.
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
    alloca_of,
    counted_loop,
    declare_function,
    entry_alloca,
    member,
    new_function,
)
from ...codegen.partition.shared_frame import Frame, FrameSlot
from ...codegen.partition.split_function import WORDS
from ...codegen.type_lowering import Context, memory_type
from ...codegen.value_types import Array, of_dtype, of_spec
from ...runtime.block_pool import MIN_POOLED_LOG2
from ...runtime.object_layout import (
    ALIGNED,
    ARRAY_DATA_OFFSET,
    ARRAY_DESCR_OFFSET,
    ARRAY_DIMS_OFFSET,
    ARRAY_FLAGS_OFFSET,
    ARRAY_NDIM_OFFSET,
    ARRAY_STRIDES_OFFSET,
    C_ORDER,
    SCALAR_VALUE_OFFSET,
    TYPE_OFFSET,
    WRITEABLE,
)
from ...transforms.frontend.pytree import ArraySpec, ScalarSpec, Spec
from .entry_signature import PYTHON_SCALAR_TYPES, Signature
from .native_loader import ENTRY_SYMBOL, LINKS_SYMBOL

INT32 = ir.IntType(32)
POINTERS = POINTER.as_pointer()
# Size guards per branch, for kernels with a frame.
SIZE_CHECKS_PER_BRANCH = 16


def write(
    context: Context,
    target: Any,
    kinds: Any,
    results: Any,
    signature: Signature,
    frame: Frame | None,
    brief: bool,
) -> tuple[str, ...]:
    """Add the entry thunk of the function `target`, which may take its arguments in a frame, to its
    module; the names of the addresses that its table must hold.  The GIL is kept during the call of
    a `brief` kernel."""
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
        self.function = ir.Function(module, type_, ENTRY_SYMBOL)
        self.places, self.given, self.count = self.function.args
        addresses = ir.ArrayType(POINTER, 16 + len(signature.arguments) + len(signature.results))
        self.table: Any = ir.GlobalVariable(module, addresses, LINKS_SYMBOL)
        self.table.initializer = ir.Constant(addresses, None)
        self.links: list[str] = []
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.missed = self.function.append_basic_block("missed")
        self.failed = self.function.append_basic_block("failed")
        self.frame = entry_alloca(self.builder, INT, frame.size) if frame else None

    def write(self) -> None:
        builder, signature = self.builder, self.signature
        count, more = len(signature.arguments), len(signature.buffers)
        bare = builder.icmp_signed("==", self.count, INT(count))
        whole = builder.icmp_signed("==", self.count, INT(count + more))
        self.require(builder.or_(bare, whole))
        read = self.read if self.frame is None else self.read_into_frame
        values = [read(i, spec, self.kinds[i]) for i, spec in enumerate(signature.arguments)]
        self.relations(values)
        objects = self.buffers(bare, values)
        made = [self.unbox_array(o, k) for o, k in zip(objects, self.kinds[count:])]
        if self.frame is None:
            values += made
            parts = [p for v in values for p in (v.parts()[:-1] if isinstance(v, Buffer) else [v])]
        else:
            for words, array in zip(self.words[count:], made, strict=True):
                self.put(words, array.parts())
            parts = [self.frame]
        returned, error = (entry_alloca(builder, a.type.pointee) for a in self.target.args[:2])
        thread = None if self.brief else self.call("PyEval_SaveThread", POINTER, [])
        status = builder.call(self.target, [returned, error, *parts])
        if thread is not None:
            self.call("PyEval_RestoreThread", ir.VoidType(), [thread])
        with builder.if_then(builder.icmp_signed("!=", status, INT32(0)), likely=False):
            for o in objects:
                self.release(o)
            info = builder.bitcast(builder.load(error), POINTER)
            number = self.call("PyLong_FromVoidPtr", POINTER, [info])
            name = "PyObject_CallFunctionObjArgs"  # the call function that all versions have
            kind = ir.FunctionType(POINTER, [POINTER], var_arg=True)
            function = declare_function(self.module, kind, name)
            builder.call(function, [self.link("failure"), number, NULL])
            self.release(number)
            builder.ret(NULL)
        self.return_results(objects, returned)
        with builder.goto_block(self.missed):
            builder.ret(self.retained(self.link("miss")))
        with builder.goto_block(self.failed):
            builder.ret(NULL)

    # ---- pieces

    def link(self, name: str) -> Any:
        """The address for a name (`native_loader._link`), loaded from the table."""
        if name not in self.links:
            self.links.append(name)
        place = [INT(0), INT(self.links.index(name))]
        return self.builder.load(self.builder.gep(self.table, place, inbounds=True))

    def call(self, name: str, result: Any, args: list[Any]) -> Any:
        type_ = ir.FunctionType(result, [a.type for a in args])
        return self.builder.call(declare_function(self.module, type_, name), args)

    def numpy(self, number: int, result: Any, args: list[Any]) -> Any:
        """Call a function of NumPy's C API, by its index in the API table."""
        type_ = ir.FunctionType(result, [a.type for a in args]).as_pointer()
        return self.builder.call(self.builder.bitcast(self.link(f"numpy:{number}"), type_), args)

    def require(self, condition: Any) -> None:
        """Return `MISS` unless the condition holds."""
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
        return self.builder.icmp_unsigned(
            "==", self.field(thing, TYPE_OFFSET, POINTER), self.link(name)
        )

    def read(self, position: int, spec: Spec, kind: Any) -> Any:
        thing = self.argument(position)
        if isinstance(spec, ArraySpec):
            self.check_array(thing, spec)
            return self.unbox_array(thing, kind)
        assert isinstance(spec, ScalarSpec)
        return self.unbox_scalar(thing, spec, kind)

    def read_into_frame(self, position: int, spec: Spec, kind: Any) -> Any:
        """Unbox an argument into the frame.  Of arrays, only the sizes are loaded again later."""
        words = self.words[position]
        if isinstance(spec, ArraySpec):
            where = self.builder.gep(self.frame, [INT(words[0].position)], inbounds=True)
            self.require(
                self.builder.call(self._take_function(spec, kind), [self.argument(position), where])
            )
            return InFrame(self, words[1 : 1 + spec.ndim])
        value = self.read(position, spec, kind)
        self.put(words, [value])
        return value

    def put(self, words: list[Any], parts: list[Any]) -> None:
        for word, part in zip(words, parts, strict=True):
            if isinstance(word, FrameSlot):
                self.builder.store(part, word.place(self.builder, self.frame))

    def _take_function(self, spec: ArraySpec, kind: Any) -> Any:
        """The function take(object, words): check that an object is an array of this kind, and
        store its data pointer, sizes and strides into the frame."""
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
        self.check_array(function.args[0], spec)
        parts = self.unbox_array(function.args[0], kind).parts()[:-1]
        self.put([FrameSlot(i, p.type) for i, p in enumerate(parts)], parts)
        builder.ret(BIT(1))
        builder.position_at_end(self.missed)
        builder.ret(BIT(0))
        self.function, self.builder, self.missed, self.frame = outer
        return function

    def relations(self, values: list[Any]) -> None:
        """Check the size guards; with a frame, several per branch."""
        builder, together = self.builder, 1 if self.frame is None else SIZE_CHECKS_PER_BRANCH
        found = []
        for relation in self.signature.relations:
            found.append(relations.holds(builder, *relation, values))
            if len(found) == together:
                self.require(functools.reduce(builder.and_, found))
                found.clear()
        if found:
            self.require(functools.reduce(builder.and_, found))

    def unbox_scalar(self, thing: Any, spec: ScalarSpec, kind: Any) -> Any:
        builder = self.builder
        if spec.dtype == "bool":
            true, false = self.link("True"), self.link("False")
            is_true = builder.icmp_unsigned("==", thing, true)
            self.require(builder.or_(is_true, builder.icmp_unsigned("==", thing, false)))
            return is_true
        name = _class_of(spec)
        self.require(self.is_of(thing, f"type:{name}"))
        if name != "int":
            where = self.place(thing, SCALAR_VALUE_OFFSET, memory_type(kind))
            return self.context.load(builder, kind, where)
        number = self.call("PyLong_AsLongLong", INT, [thing])
        with builder.if_then(builder.icmp_signed("==", number, INT(-1)), likely=False):
            error = self.call("PyErr_Occurred", POINTER, [])
            wrong = builder.icmp_unsigned("!=", error, NULL)
            after = self.function.append_basic_block()
            builder.cbranch(wrong, self.failed, after)
            builder.position_at_end(after)
        return number

    def check_array(self, thing: Any, spec: ArraySpec) -> None:
        builder = self.builder
        self.require(self.is_of(thing, "ndarray"))
        flags = ALIGNED | (C_ORDER if spec.layout == "C" else 0)
        flags |= WRITEABLE if spec.writeable else 0
        found = builder.and_(self.field(thing, ARRAY_FLAGS_OFFSET, INT32), INT32(flags))
        descr = self.field(thing, ARRAY_DESCR_OFFSET, POINTER)
        fits = builder.icmp_unsigned("==", descr, self.link(f"descr:{spec.dtype}"))
        fits = builder.and_(fits, builder.icmp_signed("==", found, INT32(flags)))
        rank = builder.icmp_signed(
            "==", self.field(thing, ARRAY_NDIM_OFFSET, INT32), INT32(spec.ndim)
        )
        self.require(builder.and_(fits, rank))

    def unbox_array(self, thing: Any, kind: Any) -> Buffer:
        """The unboxed form of an array object, which continues to own its memory."""
        data = self.field(thing, ARRAY_DATA_OFFSET, memory_type(kind.dtype).as_pointer())
        sizes = self._axes(thing, ARRAY_DIMS_OFFSET, kind.ndim)
        strides = self._axes(thing, ARRAY_STRIDES_OFFSET, kind.ndim) if kind.layout != "C" else None
        return Buffer(kind, data, sizes, strides, NULL)

    def _axes(self, thing: Any, offset: int, count: int) -> list[Any]:
        if not count:
            return []
        axes = self.field(thing, offset, INT.as_pointer())
        places = [self.builder.gep(axes, [INT(i)], inbounds=True) for i in range(count)]
        return [self.builder.load(p) for p in places]

    # ---- results

    def buffers(self, bare: Any, values: list[Any]) -> list[Any]:
        """The array objects for results with the shape of a parameter: the caller's, or new
        ones."""
        builder, objects = self.builder, []
        count = len(self.signature.arguments)
        for i, (_, position) in enumerate(self.signature.buffers):
            spec = self.signature.arguments[position]
            assert isinstance(spec, ArraySpec)
            with builder.if_else(bare) as (new, old):
                with new:
                    made = builder.call(self._result_function(spec), [*values[position].sizes])
                    # The kernel has not run yet: only the arrays created before must be released.
                    with builder.if_then(self.is_null(made), likely=False):
                        for other in objects:
                            self.release(other)
                        builder.ret(NULL)
                    after_new = builder.block
                with old:
                    given = self.argument(count + i)
                    self.check_array(given, ArraySpec(spec.dtype, spec.ndim, "C"))
                    self.retained(given)
                    after_old = builder.block
            thing = builder.phi(POINTER)
            thing.add_incoming(made, after_new)
            thing.add_incoming(given, after_old)
            objects.append(thing)
        return objects

    def _result_function(self, spec: ArraySpec) -> Any:
        """The function result(size, …): a new array.  Large arrays are allocated from the block
        pool of temporaries (`s2s.runtime.block_pool`), which keeps the block for reuse when the
        last reference is dropped."""
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
        with builder.if_then(
            builder.icmp_unsigned(">=", bytes_, INT(1 << MIN_POOLED_LOG2)), likely=False
        ):
            buffer = allocate(builder, kind, sizes, self._no_memory)
            made = self.array_at(buffer)
            with builder.if_then(builder.not_(self.is_null(made)), likely=True):
                self.set_owned_memory(made, buffer.memory)
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
        table = entry_alloca(self.builder, INT, max(len(numbers), 1))
        for i, number in enumerate(numbers):
            self.builder.store(number, self.builder.gep(table, [INT(i)]))
        return self.builder.bitcast(table, POINTER)

    def return_results(self, objects: list[Any], returned: Any) -> None:
        """Return all results in order: one by itself, several as a tuple.  The call VM
        (`call_vm.py`) passes, in place of `self`, the address of its registers; the results are
        stored there instead of in a tuple."""
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
            self.fail_if(bad)
            places = builder.bitcast(self.places, POINTERS)
            for i, thing in enumerate(made):
                builder.store(thing, builder.gep(places, [INT(i)]))
            builder.ret(self.link("True"))
        whole = self.call("PyTuple_New", POINTER, [INT(len(made))])
        self.fail_if(builder.or_(bad, self.is_null(whole)))
        for i, thing in enumerate(made):
            self.call("PyTuple_SetItem", INT32, [whole, INT(i), thing])
        builder.ret(whole)

    def fail_if(self, bad: Any) -> None:
        """Fail if `bad`: memory is exhausted.  Objects created so far are leaked."""
        after = self.function.append_basic_block()
        self.builder.cbranch(bad, self.failed, after)
        self.builder.position_at_end(after)

    def boxed(self, values: list[Any], type_: Any, kind: str) -> Any:
        """Box a result, which is a scalar or the parts of an array."""
        builder = self.builder
        if kind == "array":
            return self.boxed_array(of_values(type_, values))
        wanted = of_dtype(kind)  # "int", "float" and "bool" are dtypes, too
        value = arithmetic.convert(builder, values[0], type_, wanted)
        if kind == "bool":
            return self.retained(builder.select(value, self.link("True"), self.link("False")))
        if kind in ("int", "float"):
            name = "PyLong_FromLongLong" if kind == "int" else "PyFloat_FromDouble"
            return self.call(name, POINTER, [value])
        made = self.call("PyType_GenericAlloc", POINTER, [self.link(f"type:{kind}"), INT(0)])
        with builder.if_then(builder.not_(self.is_null(made)), likely=True):
            place = builder.gep(made, [INT(SCALAR_VALUE_OFFSET)])
            place = builder.bitcast(place, memory_type(wanted).as_pointer())
            self.context.store(builder, wanted, value, place)
        return made

    def boxed_array(self, buffer: Buffer) -> Any:
        """An array object that owns its memory, or whose base is the parameter that does."""
        builder = self.builder
        made = self.array_at(buffer)
        with builder.if_then(builder.not_(self.is_null(made))):
            with builder.if_else(self.is_null(buffer.memory)) as (lent, own):
                with lent:
                    data = builder.bitcast(buffer.data, POINTER)
                    args = [self.given, INT(len(self.signature.arguments)), data]
                    owner = builder.call(self._owner_function(), args)
                    with builder.if_then(builder.not_(self.is_null(owner))):
                        self.set_base(made, self.retained(owner))
                with own:
                    self.set_owned_memory(made, buffer.memory)
        return made

    def array_at(self, buffer: Buffer) -> Any:
        flags = ALIGNED | WRITEABLE | (C_ORDER if buffer.strides is None else 0)
        data = self.builder.bitcast(buffer.data, POINTER)
        return self.new_array(str(buffer.type.dtype), buffer.sizes, buffer.strides, data, flags)

    def set_owned_memory(self, array: Any, memory: Any) -> None:
        """Make an array own a block of memory, through a capsule as its base object."""
        destroy = self.builder.bitcast(self._destroy_function(), POINTER)
        self.set_base(array, self.call("PyCapsule_New", POINTER, [memory, NULL, destroy]))

    def set_base(self, array: Any, base: Any) -> None:
        self.numpy(282, INT32, [array, base])  # PyArray_SetBaseObject

    def _destroy_function(self) -> Any:
        """The function destroy(capsule): the destructor that releases the memory of a result."""
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

    def _owner_function(self) -> Any:
        """The function owner(objects, count, data): the array object whose memory contains an
        address."""
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
        with counted_loop(builder, count) as i:
            thing = builder.load(builder.gep(objects, [i]))
            with builder.if_then(self.is_of(thing, "ndarray")):
                start = alloca_of(builder, self.field(thing, ARRAY_DATA_OFFSET, INT))
                end = alloca_of(builder, builder.load(start))
                rank = builder.sext(self.field(thing, ARRAY_NDIM_OFFSET, INT32), INT)
                with counted_loop(builder, rank) as axis:
                    size, stride = (
                        builder.load(builder.gep(self.field(thing, at, INT.as_pointer()), [axis]))
                        for at in (ARRAY_DIMS_OFFSET, ARRAY_STRIDES_OFFSET)
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
    """An array that was unboxed into the frame; its sizes are loaded on demand."""

    def __init__(self, writer: _Writer, words: list[Any]) -> None:
        self.writer, self.words = writer, words

    @property
    def sizes(self) -> Any:
        return self

    def __getitem__(self, axis: int) -> Any:
        return self.words[axis].load(self.writer.builder, self.writer.frame)


def _class_of(spec: ScalarSpec) -> str:
    """The class name of a scalar argument: a Python type if it is weakly typed."""
    return PYTHON_SCALAR_TYPES.get(spec.dtype, spec.dtype) if spec.weak else spec.dtype
