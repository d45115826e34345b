"""Parallel loops: the body is outlined as a function, which `runtime/thread_pool.py` calls for each
iteration.

The variables that the body reads are stored in a record on the caller's stack, one for all
iterations.  An iteration that fails stores its error code and ends; the others continue.  The error
of the first failed iteration is raised, which is the one that a sequential loop would raise.
"""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from ... import kernels
from ...runtime.jit_link import PARALLEL_FOR
from ..llvm_utils import (
    INT,
    POINTER,
    counted_loop,
    declare_function,
    entry_alloca,
    member,
    new_function,
)
from ..statements import ERROR_CODE, Body, fits_on_stack
from ..syntax_helpers import walk
from ..value_types import Array
from .outline_nests import Nest, Plan, bound_in, parts_of, spelling, write

BODY_TYPE = ir.FunctionType(ir.VoidType(), [POINTER, INT])
PARALLEL_FOR_TYPE = ir.FunctionType(ir.VoidType(), [BODY_TYPE.as_pointer(), POINTER, INT])
CODES = ir.ArrayType(ERROR_CODE, kernels.MAX_CHUNKS)


def can_outline_parallel(caller: Body, plan: Plan, s: ast.For) -> bool:
    """Whether the body can be outlined: it allocates only arrays that fit on the stack, and its
    errors have constant arguments (`Plan.fails_simply`)."""
    for node in walk(s):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if isinstance(plan.types.names[name], Array):
                if name not in caller.private or not _is_small(node.value):
                    return False
    return plan.fails_simply(s)


def _is_small(value: ast.expr) -> bool:
    """True if an allocation has constant size and few elements."""
    if not isinstance(value, ast.Call) or not isinstance(value.args[0], ast.Tuple):
        return False
    sizes = [n.value for n in value.args[0].elts if isinstance(n, ast.Constant)]
    return len(sizes) == len(value.args[0].elts) and fits_on_stack([INT(n) for n in sizes])


def emit_parallel_loop(caller: Body, plan: Plan, s: ast.For) -> None:
    """Emit a parallel loop: the record, the call of the thread pool, and the check for errors."""
    assert isinstance(s.iter, ast.Call) and isinstance(s.target, ast.Name)
    builder, known = caller.builder, plan.types
    order: dict[str, int] = {}
    text = spelling(s, known, order)
    bound = bound_in(s)
    takes = [n for n in order if n not in bound]
    values = [caller.variable(n) for n in takes]
    codes = entry_alloca(builder, CODES)
    fails = any(isinstance(n, ast.Raise) for n in walk(s))
    if fails:
        builder.store(ir.Constant(CODES, None), codes)
    record = _record(builder, [codes, *parts_of(values)])
    unaliased = plan.unaliased(takes)
    roles = [
        (known.names[n], n in known.slots, n in bound, n in unaliased, n in plan.constant)
        for n in order
    ]
    key = "shared", text, tuple(roles)
    run = plan.made.get(key)
    if run is None:
        body = write(
            caller, plan, [s.target.id, *takes], [INT(0), *values], [],
            lambda nest: _body(nest, s),
        )  # fmt: skip
        run = plan.made[key] = _record_adapter(builder.module, body, record.type, fails)
    launch = declare_function(builder.module, PARALLEL_FOR_TYPE, PARALLEL_FOR)
    count = caller.integer(s.iter.args[0])
    builder.call(launch, [run, builder.bitcast(record, POINTER), count])
    if fails:
        with counted_loop(builder, count) as i:
            code = builder.load(builder.gep(codes, [INT(0), i], inbounds=True))
            failed = builder.icmp_unsigned("!=", code, ERROR_CODE(0))
            with builder.if_then(failed, likely=False):
                caller.fail(code)


def _body(nest: Nest, s: ast.For) -> None:
    nest.block(s.body)


def _record(builder: Any, values: list[Any]) -> Any:
    record = entry_alloca(builder, ir.LiteralStructType([v.type for v in values]))
    for position, value in enumerate(values):
        builder.store(value, member(builder, record, position))
    return record


def _record_adapter(module: Any, body: Any, record: Any, fails: bool) -> Any:
    """The function that the thread pool calls.  It loads the arguments from the record and calls
    the body, which takes them one by one, since `noalias` is an attribute of parameters."""
    function = new_function(module, BODY_TYPE, f"{body.name}.shared")
    builder = ir.IRBuilder(function.append_basic_block())
    place = builder.bitcast(function.args[0], record)
    codes, *values = (
        builder.load(member(builder, place, position))
        for position in range(len(record.pointee.elements))
    )
    result = builder.call(body, [function.args[1], *values])
    if fails:
        code = builder.gep(codes, [INT(0), function.args[1]], inbounds=True)
        builder.store(builder.extract_value(result, 0), code)
    builder.ret_void()
    return function
