"""Stacks: `list_new`, `Push` and `pop`, with scalars, arrays or lists as elements.

A stack of lists is lowered to several stacks of vectors, one per buffer of a list
(`lists.py`).
"""

from __future__ import annotations

from ...ir import nodes
from ...ir.record import record, replace
from ..build.context import Context, handles
from ..build.lazy_array import Value, buffer_value
from ..loop_ir import nodes as L
from .lists import ALREADY_BOUND, new_list, parts_of, pop, push


@record(frozen=True)
class _Buffer:
    """The stack of vectors that holds one buffer (`role`: data, begins or sizes) of the lists."""

    stack: nodes.Var
    role: str


def _buffers(ctx: Context, stack: nodes.Var) -> list[_Buffer]:
    """The stacks of vectors that make up a stack of lists."""
    assert isinstance(stack.type, nodes.ListOf)
    inner = stack.type.elem
    assert isinstance(inner, nodes.ListOf)
    if isinstance(inner.elem, nodes.ListOf):
        raise ctx.unsupported("lists of lists of lists cannot be compiled")
    roles = [("data", inner.dtype)]
    if isinstance(inner.elem, nodes.Array):
        roles += [("begins", "int64"), ("sizes", "int64")]
    return [
        _Buffer(
            nodes.Var(
                f"{stack.name}.{role}",
                nodes.ListOf(nodes.Array(dtype, (ctx.fresh_dim(),))),
            ),
            role,
        )
        for role, dtype in roles
    ]


def _nested(stack: nodes.Operand) -> bool:
    """True if the elements of the stack are lists."""
    return isinstance(stack.type, nodes.ListOf) and isinstance(stack.type.elem, nodes.ListOf)


@handles("list_new")
def new_stack(ctx: Context, stmt: nodes.Assign) -> Value:
    """Create an empty list or stack."""
    if _nested(stmt.target):
        for b in _buffers(ctx, stmt.target):
            new_list(ctx, b.stack)
    else:
        new_list(ctx, stmt.target)
    return ALREADY_BOUND


def push_statement(ctx: Context, stmt: nodes.Push) -> None:
    """Lower a push."""
    if not _nested(stmt.stack):
        push(ctx, stmt.stack, ctx.evaluated_value(stmt.value))
        return
    p = parts_of(ctx, stmt.value)
    lengths: dict[str, L.Expr] = {"data": p.count if p.rank is None else p.used}
    if p.rank is not None:
        lengths["begins"] = p.count
        lengths["sizes"] = ctx.emitter.let(L.mul(p.count, L.lit(p.rank)))
    for b in _buffers(ctx, stmt.stack):
        name = getattr(p, b.role)
        dtype = b.stack.type.dtype
        v = buffer_value(name, dtype, (ctx.fresh_dim(),))
        push(ctx, b.stack, replace(v, sizes=(lengths[b.role],)))


@handles("pop")
def pop_statement(ctx: Context, stmt: nodes.Assign) -> Value:
    """Lower a pop.  A popped list is copied to the variables of the target."""
    (stack,) = stmt.op.args
    if not _nested(stack):
        return pop(ctx, stack)
    assert isinstance(stack, nodes.Var)
    p = parts_of(ctx, stmt.target)
    emitter = ctx.emitter
    sizes: dict[str, L.Expr] = {}
    for b in _buffers(ctx, stack):
        v = pop(ctx, b.stack)
        name = getattr(p, b.role)
        out = ctx.allocate(name, v.dtype, v.sizes, v.dims)
        ctx.fill(out, v)
        (sizes[b.role],) = out.sizes
    emitter.add(L.Let(p.count.name, sizes["begins" if p.rank is not None else "data"]))
    if p.rank is not None:
        emitter.add(L.Let(p.used.name, sizes["data"]))
    return ALREADY_BOUND
