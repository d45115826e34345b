"""Entry points of a library: the exported C functions.  They validate the arguments and call the
kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from ..codegen import overlap_check
from ..codegen import value_types as types
from ..codegen.kernel_module import INFO
from ..codegen.llvm_utils import INT, POINTER, entry_alloca
from ..codegen.statements import ERROR_CODE
from ..codegen.type_lowering import Context, memory_type
from ..codegen.value_types import Array, of_dtype
from . import pcg64, status_codes
from .c_kernel import Kernel
from .export_spec import Export, Item
from .library_state import Slot, State
from .size_query import emit_array_bytes, emit_size_query, is_invalid_size
from .workspace_plan import HEADER_BYTES, MAX_BYTES

BOOL = ir.IntType(1)
NULL_BYTES = ir.Constant(POINTER, None)
NULL_WORDS = ir.Constant(INT.as_pointer(), None)
BLOCK_ALIGNMENT = 64


def emit_entry(context: Context, module: Any, export: Export, kernel: Kernel, state: State) -> None:
    """Emit `int32_t name(sizes…, arguments…, outputs…, [state], workspace, workspace_bytes)`."""
    _EntryWriter(context, module, export, kernel, state).write()


class _EntryWriter:
    """Emits one entry point: null, alignment, size, state and overlap checks, backups of the arrays
    that a failed call must restore, and the call of the kernel."""

    def __init__(
        self, context: Context, module: Any, export: Export, kernel: Kernel, state: State
    ) -> None:
        self.context, self.export, self.kernel, self.state = context, export, kernel, state
        self.items = [*export.arguments, *export.outputs]
        kinds = [INT] * len(export.sizes) + [self._abi_type(i) for i in self.items]
        kinds += [POINTER] * export.uses_state + [POINTER, INT]
        self.made = ir.Function(module, ir.FunctionType(ERROR_CODE, kinds), export.name)
        self.builder = ir.IRBuilder(self.made.append_basic_block())
        given = list(self.made.args)
        self.sizes = dict(zip(export.sizes, given))
        self.values = dict(zip(map(id, self.items), given[len(self.sizes) :]))
        self.workspace, self.bytes = given[-2:]
        self.block = given[-3] if export.uses_state else None
        # Generators by their offset in the state: the address there, and a working copy.
        self.generators: dict[int, tuple[Any, Any]] = {}

    def _abi_type(self, item: Item) -> Any:
        """The LLVM type in the C ABI: a pointer for arrays and outputs, else a scalar by value."""
        if item.axes is not None or item.written:
            return POINTER
        return memory_type(of_dtype(item.dtype))

    def write(self) -> None:
        builder = self.builder
        pointers = [self.values[id(i)] for i in self.items if self._abi_type(i) is POINTER]
        blocks = [self.workspace] if self.block is None else [self.workspace, self.block]
        for pointer in [*pointers, *blocks]:
            self._return_if(builder.icmp_unsigned("==", pointer, NULL_BYTES), status_codes.NULL)
        for item in self.items:
            if self._abi_type(item) is POINTER:
                width = of_dtype(item.dtype).bytes
                self._check_alignment(self.values[id(item)], min(width, 8))
        for pointer in blocks:
            self._check_alignment(pointer, BLOCK_ALIGNMENT)
        for size in self.sizes.values():
            self._return_if(is_invalid_size(builder, size), status_codes.SIZES)
        for item in self.items:
            if len(item.axes or ()) > 1:
                self._return_if(self._is_too_large(item), status_codes.SIZES)
        self._return_if(builder.icmp_signed("<", self.bytes, INT(0)), status_codes.WORKSPACE)
        if self.block is not None:
            self._check_state()
        self._check_overlap()
        self._call()

    def _return_if(self, condition: Any, status: int) -> None:
        with self.builder.if_then(condition, likely=False):
            self.builder.ret(ERROR_CODE(status))

    def _check_alignment(self, pointer: Any, to: int) -> None:
        if to > 1:
            low = self.builder.and_(self.builder.ptrtoint(pointer, INT), INT(to - 1))
            self._return_if(self.builder.icmp_unsigned("!=", low, INT(0)), status_codes.ALIGNMENT)

    def _check_state(self) -> None:
        words = self.builder.bitcast(self.block, INT.as_pointer())
        for i, expected in enumerate(self.state.header()):
            found = self.builder.load(self.builder.gep(words, [INT(i)]))
            self._return_if(
                self.builder.icmp_signed("!=", found, INT(expected)), status_codes.STATE
            )

    def _check_overlap(self) -> None:
        """Check that every written memory range is disjoint from all other ranges."""
        builder = self.builder
        spans: list[tuple[Any, Any]] = [(self.workspace, self.bytes)]
        if self.block is not None:
            spans.append((self.block, INT(self.state.bytes)))
        arrays = [i for i in self.items if self._abi_type(i) is POINTER]
        arrays.sort(key=lambda i: not i.written)
        spans += [(self.values[id(i)], self._extent(i)) for i in arrays]
        written = len(spans) - sum(not i.written for i in arrays)
        table = builder.alloca(INT, 2 * len(spans))
        for k, (pointer, extent) in enumerate(spans):
            start = builder.ptrtoint(pointer, INT)
            empty = builder.icmp_signed("==", extent, INT(0))
            ends = (
                builder.select(empty, INT(-1), start),
                builder.select(empty, INT(0), builder.add(start, extent)),
            )
            for end, bound in enumerate(ends):
                builder.store(bound, builder.gep(table, [INT(2 * k + end)]))
        check = overlap_check.disjoint_function(builder.module)
        fine = builder.call(check, [table, INT(written), INT(len(spans))])
        self._return_if(builder.not_(fine), status_codes.OVERLAP)

    def _extent(self, item: Item) -> Any:
        """The bytes of an array.  For an output whose axis is a size expression, the bytes of one
        element: its full extent is not checked."""
        width = of_dtype(item.dtype).bytes
        total: Any = INT(width)
        for axis in item.axes or ():
            if isinstance(axis, str) and axis not in self.sizes:
                return INT(width)
            total = self.builder.mul(total, self._size(axis))
        return total

    def _is_too_large(self, item: Item) -> Any:
        """True (i1) if an array has `MAX_BYTES` bytes or more, so that products of its sizes could
        overflow."""
        given = [a for a in item.axes or () if not isinstance(a, str) or a in self.sizes]
        total = emit_array_bytes(
            self.builder, of_dtype(item.dtype).bytes, [self._size(a) for a in given]
        )
        return self.builder.icmp_signed(">=", total, INT(MAX_BYTES))

    def _size(self, axis: str | int) -> Any:
        return self.sizes[axis] if isinstance(axis, str) else INT(axis)

    # ---- kernel call

    def _call(self) -> None:
        builder = self.builder
        arguments: list[Any] = []
        for parameter, type_ in zip(self.export.parameters, self.export.kinds):
            arguments += self._argument(parameter.source, type_)
        given = list(arguments)
        copies: list[tuple[Any, Slot, Any]] = []
        for places, type_ in zip(self.export.destinations, self._returned()):
            if not places:
                continue
            first, *others = places
            place = self._place(first, type_)
            arguments.append(place)
            for other in others:
                assert isinstance(other, Slot)
                copies.append((place, other, type_))
        code = entry_alloca(builder, ERROR_CODE)
        unused = entry_alloca(builder, INFO.as_pointer())
        backups, left = self._back_up(given)
        failed = builder.call(
            self.kernel.function, [code, unused, *arguments, self.workspace, left]
        )
        failed = builder.icmp_signed("!=", failed, ERROR_CODE(0))
        status = builder.select(failed, ERROR_CODE(status_codes.FAILED), builder.load(code))
        with builder.if_else(builder.icmp_signed("==", status, ERROR_CODE(0)), likely=True) as (
            succeeded,
            otherwise,
        ):
            with succeeded:
                for place, slot, type_ in copies:
                    self._copy(self._place(slot, type_), place, INT(slot.bytes))
                for place, own in self.generators.values():
                    self._copy(place, own, INT(8 * pcg64.WORDS))
            with otherwise:
                for place, backup, size in backups:
                    self._copy(place, backup, size)
                if backups:
                    self._add_backups_to_needed(status)
        builder.ret(status)

    def _copy(self, to: Any, source: Any, size: Any) -> None:
        cgutils.raw_memcpy(self.builder, to, source, size, INT(1))

    def _back_up(self, given: list[Any]) -> tuple[list[tuple[Any, Any, Any]], Any]:
        """Copy the arrays that a failed call must restore to the end of the workspace.

        Returns (address, address of the copy, size) for each array, and the bytes of workspace
        that remain.  `given` are the kernel's arguments."""
        builder = self.builder
        left: Any = self.bytes
        if not self.kernel.backed_up:
            return [], left
        found = []
        need = emit_backup_bytes(builder, self.export, self.kernel, self.sizes)
        # The remaining workspace must hold at least the header, where the kernel stores the
        # needed size.
        least = builder.add(need, INT(HEADER_BYTES))
        with builder.if_then(builder.icmp_signed("<", self.bytes, least), likely=False):
            total = emit_size_query(builder, self.kernel.sizes, NULL_WORDS, given)
            self._return_if(builder.icmp_signed("<", total, INT(0)), status_codes.SIZES)
            with builder.if_then(builder.icmp_signed(">=", self.bytes, INT(HEADER_BYTES))):
                place = builder.bitcast(self.workspace, INT.as_pointer())
                builder.store(builder.add(total, need), place)
            builder.ret(ERROR_CODE(status_codes.WORKSPACE))
        left = builder.and_(builder.sub(self.bytes, need), INT(-64))
        at = left
        for source in backed_up_sources(self.export, self.kernel):
            size = _bytes(builder, source, self.sizes)
            if isinstance(source, Slot):
                place = builder.gep(self.block, [INT(source.offset)])
            else:
                place = self.values[id(source)]
            backup = builder.gep(self.workspace, [at])
            self._copy(backup, place, size)
            found.append((place, backup, size))
            at = builder.add(at, _rounded(builder, size))
        return found, left

    def _add_backups_to_needed(self, status: Any) -> None:
        """Add the bytes of the backups to the needed size that a kernel stored when it ran out of
        workspace.  The kernel does not count them."""
        builder = self.builder
        short = builder.icmp_signed("==", status, ERROR_CODE(status_codes.WORKSPACE))
        with builder.if_then(short, likely=False):
            copies = emit_backup_bytes(builder, self.export, self.kernel, self.sizes)
            place = builder.bitcast(self.workspace, INT.as_pointer())
            builder.store(builder.add(builder.load(place), copies), place)

    def _returned(self) -> Sequence[Any]:
        out_like = self.export.entry.compiled.out_like
        results = self.export.entry.compiled.result_types
        return [t for i, t in enumerate(results) if i not in out_like]

    def _place(self, where: Item | Slot, type_: Any) -> Any:
        kind = memory_type(of_dtype(type_.dtype)).as_pointer()
        if isinstance(where, Slot):
            raw = self.builder.gep(self.block, [INT(where.offset)])
        else:
            raw = self.values[id(where)]
        return self.builder.bitcast(raw, kind)

    def _argument(self, source: Any, type_: Any) -> list[Any]:
        builder, context = self.builder, self.context
        if isinstance(type_, Array):
            kind = memory_type(type_.dtype).as_pointer()
            if isinstance(source, Slot):
                raw = builder.gep(self.block, [INT(source.offset)])
                sizes = [INT(n) for n in source.shape or ()]
            elif isinstance(source, Item):
                raw = self.values[id(source)]
                sizes = [self._size(a) for a in source.axes or ()]
            else:
                place = entry_alloca(builder, kind.pointee)
                builder.store(ir.Constant(kind.pointee, source.item()), place)
                raw, sizes = place, []
            return [builder.bitcast(raw, kind), *sizes]
        if isinstance(source, Slot):
            raw = builder.gep(self.block, [INT(source.offset)])
            if type_ == types.generator:
                own = self._working_generator(source, raw)
                return [pcg64.emit_numba_generator(context, builder, type_, own)]
            place = builder.bitcast(raw, memory_type(type_).as_pointer())
            return [context.load(builder, type_, place)]
        if isinstance(source, Item):
            return [context.of_memory(builder, type_, self.values[id(source)])]
        return [ir.Constant(context.value_type(type_), source.item())]

    def _working_generator(self, slot: Slot, place: Any) -> Any:
        """A working copy of a random generator.  It is written back to the state only if the call
        succeeds."""
        if slot.offset not in self.generators:
            words = entry_alloca(self.builder, ir.ArrayType(INT, pcg64.WORDS))
            own = self.builder.bitcast(words, POINTER)
            self._copy(own, place, INT(8 * pcg64.WORDS))
            self.generators[slot.offset] = place, own
        return self.generators[slot.offset][1]


# ---------------------------------------------------------------- backups of written arrays


def backed_up_sources(export: Export, kernel: Kernel) -> list[Item | Slot]:
    """The arrays that a call backs up, without duplicates: an array reached by two parameters is
    copied once."""
    sources = {id(s): s for i in kernel.backed_up if (s := export.parameters[i].source)}
    return list(sources.values())


def emit_backup_bytes(builder: Any, export: Export, kernel: Kernel, sizes: dict[str, Any]) -> Any:
    """Emit the total size of the backups in bytes, each rounded up to 64."""
    total: Any = INT(0)
    for source in backed_up_sources(export, kernel):
        total = builder.add(total, _rounded(builder, _bytes(builder, source, sizes)))
    return total


def _bytes(builder: Any, source: Item | Slot, sizes: dict[str, Any]) -> Any:
    """Emit the size in bytes of an array whose axes are constants or size parameters."""
    if isinstance(source, Slot):
        return INT(source.bytes)
    axes = [sizes[a] if isinstance(a, str) else INT(a) for a in source.axes or ()]
    return emit_array_bytes(builder, of_dtype(source.dtype).bytes, axes)


def _rounded(builder: Any, size: Any) -> Any:
    return builder.and_(builder.add(size, INT(63)), INT(-64))


# ---------------------------------------------------------------- other exported functions


def emit_workspace_query(
    context: Context, module: Any, export: Export, kernel: Kernel, name: str
) -> None:
    """Emit `int64_t name(sizes…, scalars…)`, the workspace size query: bytes, or -1 if the sizes
    are invalid or do not fit together."""
    numbers = [i for i in export.arguments if i.axes is None]
    kinds = [INT] * len(export.sizes) + [memory_type(of_dtype(i.dtype)) for i in numbers]
    made = ir.Function(module, ir.FunctionType(INT, kinds), name)
    builder = ir.IRBuilder(made.append_basic_block())
    sizes = dict(zip(export.sizes, made.args))
    values = dict(zip(map(id, numbers), made.args[len(sizes) :]))
    bad: Any = BOOL(0)
    for size in sizes.values():
        bad = builder.or_(bad, is_invalid_size(builder, size))
    with builder.if_then(bad, likely=False):
        builder.ret(INT(-1))
    arguments: list[Any] = []
    for parameter, type_ in zip(export.parameters, export.kinds):
        source = parameter.source
        if isinstance(type_, Array):
            arguments.append(ir.Constant(memory_type(type_.dtype).as_pointer(), None))
            axes = source.shape if isinstance(source, Slot) else getattr(source, "axes", ())
            arguments += [sizes[a] if isinstance(a, str) else INT(a) for a in axes or ()]
        elif isinstance(source, Item):
            arguments.append(context.of_memory(builder, type_, values[id(source)]))
        elif type_ == types.generator:
            arguments.append(ir.Constant(context.value_type(type_), None))
        else:
            start = source.initial if isinstance(source, Slot) else source
            arguments.append(ir.Constant(context.value_type(type_), start.item()))
    total = emit_size_query(builder, kernel.sizes, NULL_WORDS, arguments)
    with builder.if_then(builder.icmp_signed("<", total, INT(0)), likely=False):
        builder.ret(total)
    builder.ret(builder.add(total, emit_backup_bytes(builder, export, kernel, sizes)))


def emit_state_init(module: Any, name: str, state: State) -> None:
    """Emit `int32_t name(state, state_bytes)`, which writes the initial state: the values at build
    time."""
    made = ir.Function(module, ir.FunctionType(ERROR_CODE, [POINTER, INT]), name)
    builder = ir.IRBuilder(made.append_basic_block())
    block, size = made.args
    data = cgutils.make_bytearray(state.image())
    image: Any = cgutils.global_constant(module, f"{name}.image", data)
    image.align = BLOCK_ALIGNMENT
    checks = [
        (builder.icmp_unsigned("==", block, NULL_BYTES), status_codes.NULL),
        (builder.icmp_signed("<", size, INT(state.bytes)), status_codes.STATE),
        (
            builder.icmp_unsigned(
                "!=", builder.and_(builder.ptrtoint(block, INT), INT(BLOCK_ALIGNMENT - 1)), INT(0)
            ),
            status_codes.ALIGNMENT,
        ),
    ]
    for condition, status in checks:
        with builder.if_then(condition, likely=False):
            builder.ret(ERROR_CODE(status))
    source = builder.bitcast(image, POINTER)
    cgutils.raw_memcpy(builder, block, source, INT(state.bytes), INT(1))
    builder.ret(ERROR_CODE(0))


def emit_status_message(module: Any, name: str, messages: dict[int, str]) -> None:
    """Emit `const char *name(int32_t status)`, a switch over the status codes."""
    made = ir.Function(module, ir.FunctionType(POINTER, [ERROR_CODE]), name)
    builder = ir.IRBuilder(made.append_basic_block())
    unknown = builder.append_basic_block()
    choice = builder.switch(made.args[0], unknown)

    def answer(text: str, label: str) -> None:
        data = cgutils.make_bytearray(text.encode() + b"\0")
        constant = cgutils.global_constant(module, f"{name}.{label}", data)
        builder.ret(builder.bitcast(constant, POINTER))

    for status, text in messages.items():
        block = builder.append_basic_block()
        choice.add_case(ERROR_CODE(status), block)
        builder.position_at_end(block)
        answer(text, str(status))
    builder.position_at_end(unknown)
    answer("no status of this library", "unknown")
