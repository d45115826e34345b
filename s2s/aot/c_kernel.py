"""Code generation for the kernel of an exported function, over pointers, sizes and scalars:

    int32 kernel(int32 *code, void **unused, arguments…, result pointers…, workspace, bytes)

The first two parameters follow Numba's calling convention, so the kernel can call functions that
Numba compiled.  `code` receives 0 or the status code of the error.  An array argument is a pointer
followed by its sizes.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from ..codegen import statements as machine
from ..codegen import value_types as types
from ..codegen.array_values import Buffer
from ..codegen.kernel_body import last_uses, returned_names
from ..codegen.kernel_module import INFO
from ..codegen.llvm_utils import INT, NULL, POINTER, entry_alloca
from ..codegen.partition.outline_nests import Plan, call_nest
from ..codegen.statements import ERROR_CODE, ErrorCodes
from ..codegen.type_inference import Types
from ..codegen.type_lowering import Context, memory_type
from ..codegen.value_types import Array, Number
from ..errors import S2SValueError
from . import unsupported_calls, workspace_heap
from .rollback import parameters_to_back_up
from .size_query import (
    argument_types,
    bind_parameters,
    emit_array_bytes,
    emit_return,
    emit_size_query,
    emit_size_query_function,
    parameters_of,
)
from .status_codes import SIZES, WORKSPACE
from .workspace_plan import HEADER_BYTES, Memory, plan


@dataclass
class Kernel:
    """A compiled kernel: its LLVM `function`, the size-query function `sizes`, the workspace plan
    `memory`, and `backed_up`, the positions of the parameters that the entry backs up and restores
    if the call fails (`rollback.py`)."""

    function: Any
    sizes: Any
    memory: Memory
    backed_up: list[int]


def emit_kernel(
    context: Context,
    module: Any,
    name: str,
    function: ast.FunctionDef,
    known: Types,
    kept: Sequence[int | None],
    conditions: Sequence[str],
    failures: ErrorCodes,
    messages: Any,
    products: Any,
    trips: int | None,
    callees: Any,
    written: Sequence[int],
) -> Kernel:
    """Emit the kernel and its size-query function.

    `kept` is the result of `Export.result_capacities`.  `conditions` are the guards on sizes, as
    expressions of lowered source, under which the code is valid.  `written` are the positions of
    the parameters that are written in place."""
    outline = Plan(function, known)
    private = outline.private - returned_names(function)
    memory = plan(function, known, private, trips, callees.any)
    sizes = emit_size_query_function(context, module, f"{name}.sizes", memory, known, conditions)
    arguments = [
        k for n in parameters_of(function) for k in argument_types(context, known.names[n])
    ]
    places = [
        _result_pointer_type(context, t) for t, k in zip(known.results, kept) if k is not None
    ]
    kinds = [
        ERROR_CODE.as_pointer(),
        INFO.as_pointer().as_pointer(),
        *arguments,
        *places,
        POINTER,
        INT,
    ]
    made = ir.Function(module, ir.FunctionType(ERROR_CODE, kinds), f"{name}.kernel")
    made.linkage = "internal"
    made.attributes.add("noinline")
    body = Body(
        context, made, known, failures, memory, outline, private, messages, products, callees
    )
    body.run(function, sizes, kept)
    checked = any(k is not None and k >= 0 for k in kept)
    restored = parameters_to_back_up(function, known, memory, callees.functions, written, checked)
    return Kernel(made, sizes, memory, restored)


def _result_pointer_type(context: Context, type_: Any) -> Any:
    dtype = type_.dtype if isinstance(type_, Array) else type_
    return memory_type(dtype).as_pointer()


# ---------------------------------------------------------------- kernel body


class Body(machine.Body):
    """Statement code generation with arrays in the workspace: in fixed slots, in pools, or in the
    reference-counted heap."""

    def __init__(
        self,
        context: Context,
        made: Any,
        known: Types,
        failures: ErrorCodes,
        memory: Memory,
        outline: Plan,
        private: set[str],
        messages: Any,
        products: Any,
        callees: Any,
    ) -> None:
        builder = ir.IRBuilder(made.append_basic_block("entry"))
        super().__init__(context, builder, known, failures)
        self.made, self.memory, self.plan, self.private = made, memory, outline, private
        self.messages, self.products, self.callees = messages, products, callees
        self.prefer_compile_time = outline.huge
        self.workspace, self.bytes = made.args[-2:]
        arrays = sum(isinstance(t, Array) for t in known.names.values())
        self.table = entry_alloca(builder, ir.ArrayType(POINTER, arrays), zero=True)
        self.site: ast.Assign | None = None
        self.starts: list[Any] = []
        self.strides: list[Any] = []
        self.heap: Any = None
        self.kept: Sequence[int | None] = ()
        self.line: ast.stmt | None = None
        self.returned = False

    def run(self, function: ast.FunctionDef, sizes: Any, kept: Sequence[int | None]) -> None:
        self.kept = kept
        names = parameters_of(function)
        count = sum(len(argument_types(self.context, self.types.names[n])) for n in names)
        given = list(self.made.args[2 : 2 + count])
        self._partition_workspace(sizes, given)
        bind_parameters(self, names, given)
        self.statements(function)
        if not self.returned:
            exception, args = list(self.failures.known)[-1]
            name = getattr(exception, "__name__", exception)
            raise S2SValueError(
                f"with such arguments it always fails: {name}: {', '.join(map(str, args))}",
                advice="axes that must be equal have the same name in a signature",
            )

    def statements(self, function: ast.FunctionDef) -> None:
        """Emit all statements of a function.  An owned array is released after its last use."""
        last = last_uses(function.body)
        for stmt in function.body:
            self.stmt(stmt)
            for name in last.get(stmt, ()):
                if name in self.owned and not self.builder.block.is_terminated:
                    workspace_heap.release(self.builder, self.memory_of(name))

    # ---- workspace

    def _partition_workspace(self, sizes: Any, given: list[Any]) -> None:
        """Compute the start address of each group of arrays, clear the pools and initialise the
        heap.  The kernel returns the status WORKSPACE if the workspace is too small."""
        builder = self.builder
        groups = self.memory.groups()
        places = builder.alloca(INT, max(len(groups), 1))
        total = emit_size_query(builder, sizes, places, given)
        with builder.if_then(builder.icmp_signed("<", total, INT(0)), likely=False):
            self.fail(ERROR_CODE(SIZES))
        with builder.if_then(builder.icmp_signed("<", self.bytes, total), likely=False):
            with builder.if_then(builder.icmp_signed(">=", self.bytes, INT(HEADER_BYTES))):
                self._store_needed_bytes(total)
            self.fail(ERROR_CODE(WORKSPACE))
        self._store_needed_bytes(total)
        used: Any = INT(HEADER_BYTES)
        start: Any = builder.gep(self.workspace, [used])
        for i, (_, count) in enumerate(groups):
            size = builder.load(builder.gep(places, [INT(i)]))
            self.starts.append(start)
            self.strides.append(size)
            if count > 1:
                size = builder.add(size, INT(HEADER_BYTES))
                self.strides[-1] = size
                words = builder.lshr(size, INT(3))
                workspace_heap.call(
                    self.context, builder, workspace_heap.CLEAR_POOL, start, words, INT(count)
                )
                size = builder.mul(size, INT(count))
            start = builder.gep(start, [size])
            used = builder.add(used, size)
        if self.memory.heap:
            left = builder.and_(builder.sub(self.bytes, used), INT(-64))
            self.heap = start, builder.lshr(left, INT(3))
            with builder.if_then(builder.icmp_signed(">=", left, INT(HEADER_BYTES))):
                words = builder.bitcast(start, workspace_heap.WORDS)
                builder.store(self.heap[1], words)
                builder.store(INT(0), builder.gep(words, [INT(1)]))

    def _store_needed_bytes(self, size: Any) -> None:
        """Store the needed workspace size in the first word of the workspace."""
        self.builder.store(size, self.builder.bitcast(self.workspace, workspace_heap.WORDS))

    def _assign(self, s: ast.Assign) -> None:
        self.site = s
        super()._assign(s)

    def _unpack_tuple(self, target: ast.Tuple, value: ast.expr) -> None:
        if not self.callees.is_callee(value):
            super()._unpack_tuple(target, value)
            return
        assert isinstance(value, ast.Call)
        for element, (kind, found) in zip(target.elts, self.callees.call(self, value)):
            assert isinstance(element, ast.Name)
            if isinstance(found, Buffer):
                self.assign_array(element.id, found, fresh=True)
            else:
                self.assign(element.id, self.cast(found, kind, self.types.names[element.id]))

    def new_array(self, name: str, type_: Any, sizes: list[Any]) -> Buffer:
        assert self.site is not None
        builder = self.builder
        slot, pool = (d.get(self.site) for d in (self.memory.slot_of, self.memory.pool_of))
        if slot is not None:
            return self._buffer(type_, self.starts[slot], sizes, NULL)
        if pool is not None:
            group = len(self.memory.slots) + pool
            stride = builder.lshr(self.strides[group], INT(3))
            count = INT(self.memory.pools[pool].count)
            word = workspace_heap.call(
                self.context,
                builder,
                workspace_heap.ALLOCATE_FROM_POOL,
                self.starts[group],
                stride,
                count,
            )
            memory, data = workspace_heap.block_at(builder, self.starts[group], word)
            return self._buffer(type_, data, sizes, memory)
        return self._from_heap(type_, sizes)

    def _from_heap(self, type_: Any, sizes: list[Any]) -> Buffer:
        builder = self.builder
        start, total = self.heap
        size = emit_array_bytes(builder, type_.dtype.bytes, sizes)
        size = builder.and_(builder.add(size, INT(HEADER_BYTES + 63)), INT(-64))
        need = builder.lshr(size, INT(3))
        word = workspace_heap.call(
            self.context, builder, workspace_heap.ALLOCATE, start, total, need
        )
        with builder.if_then(builder.icmp_signed("<", word, INT(0)), likely=False):
            # Ask for at least twice the size, so that few attempts are needed.
            more = builder.select(builder.icmp_signed(">", size, self.bytes), size, self.bytes)
            self._store_needed_bytes(builder.add(self.bytes, more))
            self.fail(ERROR_CODE(WORKSPACE))
        memory, data = workspace_heap.block_at(builder, start, word)
        return self._buffer(type_, data, sizes, memory)

    def longer(self, name: str, value: ast.Call, old: Buffer, used: Any, more: Any) -> Buffer:
        """Emit `kernels.reserve`: a larger array from the workspace heap, with the elements
        copied."""
        builder = self.builder
        new = self._from_heap(old.type, [self.capacity(used, more)])
        item = INT(old.type.dtype.bytes)
        cgutils.raw_memcpy(builder, new.data, old.data, used, item)
        return new

    def _buffer(self, type_: Any, data: Any, sizes: list[Any], memory: Any) -> Buffer:
        kind = memory_type(type_.dtype).as_pointer()
        return Buffer(type_, self.builder.bitcast(data, kind), sizes, None, memory)

    def hold(self, name: str, buffer: Buffer, fresh: bool) -> None:
        if name not in self.memory.counted:
            return
        if not fresh:
            workspace_heap.retain(self.builder, buffer.memory)
        place = self.memory_of(name)
        if name in self.types.slots or self.depth:
            workspace_heap.release(self.builder, place)
        self.builder.store(buffer.memory, place)

    # ---- calls

    def stmt(self, s: ast.stmt) -> None:
        self.line = s
        super().stmt(s)

    def emit_outlined(self, s: ast.For) -> bool:
        alone = self.plan.stands_alone(s)
        if alone:
            call_nest(self, self.plan, s)
        return alone

    def call(self, node: ast.expr, args: list[Any], kinds: list[Any]) -> Any:
        callee = self.types.calls[node]
        if callee.numba is None:
            return super().call(node, args, kinds)
        function = callee.function or callee.numba[0]
        known = unsupported_calls.name_of(callee.function)
        if known or not (isinstance(callee.result, Number) or callee.result == types.none):
            raise unsupported_calls.error(function, self.messages.source_line(self.line))
        if any(isinstance(t, Array) for t in kinds):
            self.messages.numba_calls.append((function, self.messages.source_line(self.line)))
        return super().call(node, args, kinds)

    # ---- results and errors

    def _return(self, s: ast.Return) -> None:
        assert isinstance(s.value, ast.Tuple)
        builder = self.builder
        places = list(self.made.args[-2 - sum(k is not None for k in self.kept) : -2])
        results = [self.expr(e) for e in s.value.elts]
        for value, kept in zip(results, self.kept, strict=True):
            if isinstance(value, Buffer) and kept is not None and kept >= 0:
                other = builder.icmp_signed("!=", self._element_count(value), INT(kept))
                with builder.if_then(other, likely=False):
                    self.fail(ERROR_CODE(SIZES))
        for element, value, kept in zip(s.value.elts, results, self.kept, strict=True):
            if kept is None:
                continue
            place = places.pop(0)
            if isinstance(value, Buffer):
                item = INT(value.type.dtype.bytes)
                cgutils.raw_memcpy(builder, place, value.data, self._element_count(value), item)
            else:
                self.context.store(builder, self.types.of[element], value, place)
        self.returned = True
        self.fail(ERROR_CODE(0))

    def _element_count(self, buffer: Buffer) -> Any:
        """Emit the number of elements of an array."""
        count: Any = INT(1)
        for size in buffer.sizes:
            count = self.builder.mul(count, size)
        return count

    def fail(self, code: Any) -> None:
        emit_return(self.builder, code)

    def fail_with(self, exception: Any, args: list[ast.expr]) -> None:
        """Return the status of an error whose message has run-time values.  The status message
        shows dots in their place."""
        site = args[0]
        assert isinstance(site, ast.Constant)
        self.fail(ERROR_CODE(self.failures.code(*self.messages.failure(site.value))))

    _STATEMENTS = {
        **machine.Body._STATEMENTS,
        ast.Assign: lambda self, s: self._assign(s),
        ast.Return: lambda self, s: self._return(s),
    }
