"""Elementwise operations on arrays: broadcast the operands, then compute one element at a time."""

from __future__ import annotations

from dataclasses import replace

from ...ir import nodes
from ...ir.symbolic_dims import max0
from ...rules.promotion import compute_dtype
from ..build.affine_array import affine_integers
from ..build.context import Context
from ..build.lazy_array import Emitter, Value, scalar_value
from ..loop_ir import nodes as L
from ..loop_ir.conversions import kind
from .broadcast import broadcast_shape, project_index, same_shape
from .scalar_ops import CONVERSIONS, cost_of, element


def elementwise(ctx: Context, stmt: nodes.Assign) -> Value:
    """The virtual result of an elementwise operation."""
    op, target = stmt.op, stmt.target
    types = [a.type for a in op.args]
    if op.name in CONVERSIONS:
        compute = target.type.dtype
    else:
        compute = compute_dtype(op.name, types)
        if compute == "object":  # NumPy's compute dtype for the comparison of two Python integers
            compute = "int64"
    scalar = target.type.ndim == 0
    values = [ctx.value(a) if scalar else ctx.evaluated_value(a) for a in op.args]
    sizes, dims = broadcast_shape(ctx.emitter, ctx.facts, values, ctx.location_suffix())
    # A broadcast operand is read repeatedly, so it is materialised unless reading it is a load.
    values = [
        v if same_shape(ctx.facts, v, sizes, dims) else ctx.materialise_if_costly(v) for v in values
    ]
    result = target.type.dtype

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        args = [v.at(emitter, project_index(ctx.facts, v, sizes, dims, index)) for v in values]
        return element(emitter, op.name, args, compute, result, op.attrs)

    if op.name == "cast" and op.attrs.get("weak") and result == "int64":
        values = [_checked_int_operand(ctx, *values)]
    if op.name == "maximum" and result == "int64" and isinstance(target.type, nodes.Scalar):
        _learn_clipped_size(ctx, target, op.args)
    reads = frozenset().union(*(v.reads for v in values)) if values else frozenset()
    cost = sum(v.cost for v in values) + cost_of(op.name)
    depth = 1 + max((v.depth for v in values), default=0)
    made = Value(result, sizes, dims, at, reads, cost, depth=depth)
    return replace(made, cost=0) if not scalar and affine_integers(ctx.emitter, made) else made


def _checked_int_operand(ctx: Context, v: Value) -> Value:
    """The operand of Python's int(): a float that int64 cannot represent raises."""
    if kind(v.dtype) != "f":
        return v
    x = ctx.emitter.let(v.at(ctx.emitter, ()))
    if isinstance(x, L.Lit) and abs(x.value) < 2.0**63:
        return v
    nan = L.Bin("!=", x, x, "bool")
    ctx.emitter.check(
        nan, "ValueError", f"cannot convert float NaN to integer{ctx.location_suffix()}"
    )
    low, high = (L.Lit(bound, v.dtype) for bound in (-(2.0**63), 2.0**63))
    out_of_range = L.logical_or(L.compare("<", x, low), L.compare(">=", x, high))
    message = "cannot convert float infinity, or one beyond 64 bits, to integer"
    ctx.emitter.check(out_of_range, "OverflowError", message + ctx.location_suffix())
    return scalar_value(x, v.reads)


def _learn_clipped_size(ctx: Context, target: nodes.Var, args: tuple[nodes.Operand, ...]) -> None:
    """Record the value of `n = max(m, k)`: `k + max(m - k, 0)`.

    An index from range(k, m) is then proven to be in range of an axis of size `n - k`.
    """
    for a, b in (args, args[::-1]):
        value = ctx.symbolic_value(a)
        if not isinstance(b, nodes.Const) or not isinstance(b.value, int) or value is None:
            continue
        low = int(b.value)
        if value.symbol is not None or low == 0 and ctx.ranges.exact_if_nonnegative(value):
            ctx.ranges.define_symbol(ctx.symbolic_value(target), max0(value - low) + low)
