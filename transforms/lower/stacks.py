"""Stacks: `list_new`, `Push` and `pop`, for numbers, arrays and whole lists.

A stack of lists is several stacks of vectors, one per buffer that makes up a list.
"""

from __future__ import annotations

from .. import ir
from ..records import record, replace
from . import loop_ir as L
from .context import Context, handles
from .lists import DONE, new_list, parts_of, pop, push
from .values import Value, buffer_value


@record(frozen=True)
class _Buffer:
    """One buffer of the lists on a stack: the stack that keeps it."""

    stack: ir.Var
    role: str


def _buffers(cx: Context, stack: ir.Var) -> list[_Buffer]:
    assert isinstance(stack.type, ir.ListOf)
    inner = stack.type.elem
    assert isinstance(inner, ir.ListOf)
    if isinstance(inner.elem, ir.ListOf):
        raise cx.refuse("lists of lists of lists cannot be compiled")
    roles = [("data", inner.dtype)]
    if isinstance(inner.elem, ir.Array):
        roles += [("begins", "int64"), ("sizes", "int64")]
    return [
        _Buffer(
            ir.Var(
                f"{stack.name}.{role}",
                ir.ListOf(ir.Array(dtype, (cx.fresh_dim(),))),
            ),
            role,
        )
        for role, dtype in roles
    ]


def _nested(stack: ir.Operand) -> bool:
    return isinstance(stack.type, ir.ListOf) and isinstance(stack.type.elem, ir.ListOf)


@handles("list_new")
def start(cx: Context, stmt: ir.Assign) -> Value:
    if _nested(stmt.target):
        for b in _buffers(cx, stmt.target):
            new_list(cx, b.stack)
    else:
        new_list(cx, stmt.target)
    return DONE


def push_statement(cx: Context, stmt: ir.Push) -> None:
    if not _nested(stmt.stack):
        push(cx, stmt.stack, cx.ready(stmt.value))
        return
    p = parts_of(cx, stmt.value)
    lengths: dict[str, L.Expr] = {"data": p.count if p.rank is None else p.used}
    if p.rank is not None:
        lengths["begins"] = p.count
        lengths["sizes"] = cx.em.let(L.mul(p.count, L.lit(p.rank)))
    for b in _buffers(cx, stmt.stack):
        name = getattr(p, b.role)
        dtype = b.stack.type.dtype
        v = buffer_value(name, dtype, (cx.fresh_dim(),))
        push(cx, b.stack, replace(v, sizes=(lengths[b.role],)))


@handles("pop")
def pop_statement(cx: Context, stmt: ir.Assign) -> Value:
    (stack,) = stmt.op.args
    if not _nested(stack):
        return pop(cx, stack)
    assert isinstance(stack, ir.Var)
    p = parts_of(cx, stmt.target)
    em = cx.em
    sizes: dict[str, L.Expr] = {}
    for b in _buffers(cx, stack):
        v = pop(cx, b.stack)
        name = getattr(p, b.role)
        out = cx.allocate(name, v.dtype, v.sizes, v.dims)
        cx.fill(out, v)
        (sizes[b.role],) = out.sizes
    em.add(L.Let(p.count.name, sizes["begins" if p.rank is not None else "data"]))
    if p.rank is not None:
        em.add(L.Let(p.used.name, sizes["data"]))
    return DONE
