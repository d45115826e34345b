"""The size-query function of a kernel: it computes the sizes of all planned arrays and the total
workspace.  Also helpers to pass and bind the arguments of such functions."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ..codegen import statements as machine
from ..codegen.array_values import Buffer
from ..codegen.kernel_module import INFO
from ..codegen.llvm_utils import INT, entry_alloca
from ..codegen.statements import ERROR_CODE, ErrorCodes
from ..codegen.type_inference import Types
from ..codegen.type_lowering import memory_type
from ..codegen.value_types import Array
from . import workspace_heap
from .workspace_plan import (
    GROWTH_OVERHEAD_BYTES,
    HEADER_BYTES,
    MAX_BYTES,
    Memory,
    growth_bytes_per_element,
)

MAX_AXIS_SIZE = 1 << 61


def parameters_of(function: ast.FunctionDef) -> list[str]:
    return [a.arg for a in function.args.args]


def argument_types(context: Any, type_: Any) -> list[Any]:
    """The LLVM types of an argument: data pointer and sizes of an array, or one scalar."""
    if isinstance(type_, Array):
        return [memory_type(type_.dtype).as_pointer(), *[INT] * type_.ndim]
    return [context.value_type(type_)]


class _Sizes(machine.Body):
    """The body of a size-query function; `found` are the values of its return statement."""

    def _return(self, s: ast.Return) -> None:
        assert isinstance(s.value, ast.Tuple)
        self.found = [self.integer(e) for e in s.value.elts]

    _STATEMENTS = {**machine.Body._STATEMENTS, ast.Return: _return}


def emit_size_query_function(
    context: Any, module: Any, name: str, memory: Memory, known: Types, conditions: Sequence[str]
) -> Any:
    """Emit `sizes(bytes, unused, places, arguments…)`.  It stores the workspace size in `bytes`, or
    -1 if the sizes violate a condition.  If `places` is not null, it receives the size of each
    group of arrays."""
    assert memory.sizes is not None
    function = copy.deepcopy(memory.sizes)
    fits: ast.expr = ast.Constant(True)
    if conditions:
        tests = [ast.parse(c, mode="eval").body for c in conditions]
        fits = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    done = function.body[-1]
    assert isinstance(done, ast.Return) and isinstance(done.value, ast.Tuple)
    function.body.insert(-1, ast.Assign([ast.Name("fits", ast.Store())], fits))
    done.value.elts.append(ast.Name("fits", ast.Load()))
    parameters = parameters_of(function)
    given = tuple(known.names[p] for p in parameters)
    own = Types(function, known.space, given)
    kinds = [k for p in parameters for k in argument_types(context, own.names[p])]
    kinds = [workspace_heap.WORDS, INFO.as_pointer().as_pointer(), workspace_heap.WORDS, *kinds]
    made = ir.Function(module, ir.FunctionType(ERROR_CODE, kinds), name)
    made.linkage = "internal"
    made.attributes.add("noinline")
    builder = ir.IRBuilder(made.append_basic_block())
    body = _Sizes(context, builder, own, ErrorCodes())
    places = made.args[2]
    bind_parameters(body, parameters, list(made.args[3:]))
    for s in function.body:
        body.stmt(s)
    *found, fits_here = body.found
    with builder.if_then(builder.icmp_signed("==", fits_here, INT(0)), likely=False):
        emit_return(builder, INT(-1))
    wanted = builder.icmp_unsigned("!=", places, ir.Constant(workspace_heap.WORDS, None))
    total: Any = INT(HEADER_BYTES)
    for i, (sites, count) in enumerate(memory.groups()):
        largest: Any = INT(0)
        for site in sites:
            extents = [found.pop(0) for _ in site.known or ()]
            size = emit_array_bytes(builder, site.itemsize, extents)
            larger = builder.icmp_signed(">", size, largest)
            largest = builder.select(larger, size, largest)
        largest = builder.and_(builder.add(largest, INT(63)), INT(-64))
        with builder.if_then(wanted):
            builder.store(largest, builder.gep(places, [INT(i)]))
        if count > 1:
            largest = builder.mul(builder.add(largest, INT(HEADER_BYTES)), INT(count))
        total = builder.add(total, largest)
    for growth in memory.growth:
        each = emit_array_bytes(
            builder, growth_bytes_per_element(growth.itemsize, memory.trips), [found.pop(0)]
        )
        total = builder.add(total, builder.add(each, INT(GROWTH_OVERHEAD_BYTES)))
    emit_return(builder, total)
    return made


def emit_return(builder: Any, value: Any) -> None:
    """Emit the return of a value in Numba's calling convention: store it through the first
    parameter and return status 0."""
    builder.store(value, builder.function.args[0])
    builder.ret(ERROR_CODE(0))


def emit_size_query(builder: Any, sizes: Any, places: Any, arguments: list[Any]) -> Any:
    """Emit a call of a size-query function.  The result is the workspace size, or -1 on failure."""
    total = entry_alloca(builder, INT)
    unused = entry_alloca(builder, INFO.as_pointer())
    failed = builder.call(sizes, [total, unused, places, *arguments])
    fine = builder.icmp_signed("==", failed, ERROR_CODE(0))
    return builder.select(fine, builder.load(total), INT(-1))


def bind_parameters(
    body: machine.Body, names: list[str], values: list[Any], blocks: bool = False
) -> list[Any]:
    """Bind parameters to LLVM values and return the values that are left; an array takes its data
    pointer, its sizes and, with `blocks`, the pointer to its heap block."""
    for name in names:
        type_ = body.types.names[name]
        if isinstance(type_, Array):
            data, sizes = values[0], values[1 : type_.ndim + 1]
            values = values[type_.ndim + 1 :]
            array = Buffer(type_, data, sizes)
            if blocks:
                array.memory, *values = values
            body.parameter(name, array)
        else:
            body.parameter(name, values[0])
            values = values[1:]
    return values


def is_invalid_size(builder: Any, size: Any) -> Any:
    """Emit the test (i1) that a size is negative or at least `MAX_AXIS_SIZE`.  Below this limit,
    sums of a few sizes and their bytes do not overflow."""
    return builder.icmp_unsigned(">=", size, INT(MAX_AXIS_SIZE))


def emit_array_bytes(builder: Any, item: int, sizes: list[Any]) -> Any:
    """Emit the size of an array in bytes, clamped to `MAX_BYTES`, also if the product overflows."""
    total: Any = INT(item)
    bad: Any = ir.IntType(1)(0)
    for size in sizes:
        size = builder.select(builder.icmp_signed("<", size, INT(0)), INT(0), size)
        both = builder.smul_with_overflow(total, size)
        total = builder.extract_value(both, 0)
        bad = builder.or_(bad, builder.extract_value(both, 1))
    bad = builder.or_(bad, builder.icmp_signed(">", total, INT(MAX_BYTES)))
    return builder.select(bad, INT(MAX_BYTES), total)
