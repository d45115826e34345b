"""Fourier transforms: a call of the runtime.

The arrays are viewed with three axes: those before the transformed axis collapsed to one, the
transformed axis, and those after it collapsed to one.
"""

from __future__ import annotations

from dataclasses import replace

from ...ir import nodes
from ..build.context import Context, handles
from ..build.lazy_array import Value
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast

# Normalisation codes of the runtime (forward, inverse) by `norm`: 0 is 1, 1 is 1 / n, 2 is
# 1 / sqrt(n).
_SCALES = {"backward": (0, 1), "forward": (1, 0), "ortho": (2, 2)}


@handles("fft", "rfft", "irfft", "resize")
def transform(ctx: Context, stmt: nodes.Assign) -> Value:
    """A transform along one axis, or its truncation or zero padding (`resize`)."""
    op, target = stmt.op, stmt.target
    axis, attrs = op.attrs["axis"], op.attrs
    x = ctx.value(op.args[0])
    inverse = attrs.get("inverse", op.name == "irfft")
    args: list[L.Expr | L.Subview] = []
    if op.name == "fft":
        args.append(L.lit(inverse, "bool"))
        x = _converted(x, target.type.dtype)
    if op.name != "resize":
        args.append(L.lit(_SCALES[attrs["norm"]][inverse]))
    x = ctx.materialise(x)
    n = x.sizes[axis]
    if op.name == "rfft":
        n = L.add(L.Bin("//", n, L.lit(2), "int64"), L.ONE)
    elif len(op.args) > 1:
        n = ctx.integer(op.args[1])
    out = ctx.dest(target, x.reads, (*x.sizes[:axis], n, *x.sizes[axis + 1 :]))
    views = [_collapsed(ctx, v, axis) for v in (x, out)]
    ctx.emitter.add(L.Call(f"rt.fft.{op.name}", (*views, *args)))
    return out


def _converted(v: Value, dtype: str) -> Value:
    """`v` with its elements converted to `dtype`."""
    if v.dtype == dtype:
        return v
    at = v.at
    return replace(v, dtype=dtype, memory=None, at=lambda emitter, i: cast(at(emitter, i), dtype))


def _collapsed(ctx: Context, v: Value, axis: int) -> L.Subview:
    """A view of a buffer with the axes before `axis`, and those after it, collapsed to one."""
    assert v.memory is not None
    name = ctx.emitter.new_name(f"{v.memory.name}_lines")
    sizes = (L.product(v.sizes[:axis]), v.sizes[axis], L.product(v.sizes[axis + 1 :]))
    ctx.emitter.add(L.View(name, v.memory.name, sizes))
    ctx.emitter.roots[name] = ctx.emitter.root(v.memory.name)
    return L.Subview(name)
