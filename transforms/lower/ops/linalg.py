"""Matrix functions: a call of the runtime for each matrix of a batch.

The runtime's routines take C-contiguous matrices and write the result to an output matrix.  A
routine that can fail returns a status: 0, or a positive error code.  A routine whose result is a
scalar returns it.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import nodes
from ...ir.record import record, replace
from ..build.context import Context, handles
from ..build.lazy_array import Emitter, Value, scalar_value, store_element
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast
from .broadcast import broadcast_shape, project_index

Sizes = tuple[L.Expr, ...]


@record(frozen=True)
class Routine:
    """The signature of a runtime routine.

    `cores` are the numbers of core axes of the operands; axes before them are batch axes.  `result`
    computes the core sizes of the result from those of the operands; () means a scalar.  `flags`
    are the attributes that are passed as arguments.  `failure` is the message of the LinAlgError,
    split where the error code (minus 1) is inserted; empty if the routine cannot fail.
    """

    cores: tuple[int, ...]
    result: Callable[..., Sizes]
    flags: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()


def _min(a: L.Expr, b: L.Expr) -> L.Expr:
    return L.select(L.compare("<", a, b), a, b)


_SINGULAR = ("Singular matrix",)
_ROUTINES = {
    "solve": Routine((2, 2), lambda a, b: b, failure=_SINGULAR),
    "inv": Routine((2,), lambda a: a, failure=_SINGULAR),
    "det": Routine((2,), lambda a: ()),
    "cofactor": Routine((2,), lambda a: a),
    "slogdet_log": Routine((2,), lambda a: ()),
    "slogdet_sign": Routine((2,), lambda a: ()),
    "solve_triangular": Routine(
        (2, 2),
        lambda a, b: b,
        ("trans", "lower", "unit_diagonal"),
        ("singular matrix: resolution failed at diagonal ", ""),
    ),
    "cholesky": Routine((2,), lambda a: a, failure=("Matrix is not positive definite",)),
    "qr_q": Routine((2,), lambda a: (a[0], _min(*a))),
    "eigh_vectors": Routine((2,), lambda a: a, ("lower",), ("Eigenvalues did not converge",)),
    "eigh_values": Routine((2, 2), lambda a, v: a[1:], ("lower",)),
    "svd_vectors": Routine(
        (2,), lambda a: (L.add(*a), _min(*a)), failure=("SVD did not converge",)
    ),
    "svd_values": Routine((2, 2), lambda a, vectors: vectors[1:]),
    "pinv": Routine((2, 0), lambda a, rcond: a[::-1], failure=("SVD did not converge",)),
    "expm": Routine((2,), lambda a: a),
    "lu_compact": Routine((2,), lambda a: a),
    "lu_pivots": Routine((2,), lambda a: a[:1]),
    "pivot_order": Routine((1,), lambda pivots: pivots),
    "solve_banded": Routine(
        (2, 2), lambda ab, b: b, ("lower", "upper"), failure=("singular matrix",)
    ),
}


@handles(*_ROUTINES)
def matrix_function(ctx: Context, stmt: nodes.Assign) -> Value:
    """A matrix function, batched over the leading axes of its operands."""
    routine, op = _ROUTINES[stmt.op.name], stmt.op
    dtype = stmt.target.type.dtype
    operands = [ctx.evaluated_value(a) for a in op.args]
    reads = frozenset().union(*(v.reads for v in operands))
    is_integer = not nodes.is_float(stmt.target.type)
    values = [
        _in_memory(ctx, v, v.dtype if is_integer else dtype) if core else v
        for v, core in zip(operands, routine.cores)
    ]
    ranks = [min(v.ndim, core) for v, core in zip(values, routine.cores)]
    cores = [v.sizes[v.ndim - rank :] for v, rank in zip(values, ranks)]
    heads = [
        replace(v, sizes=v.sizes[: v.ndim - rank], dims=v.dims[: v.ndim - rank])
        for v, rank in zip(values, ranks)
    ]
    batch, dims = broadcast_shape(ctx.emitter, ctx.facts, heads, ctx.location_suffix())
    sizes = tuple(ctx.emitter.let(s, "n") for s in routine.result(*cores))
    flags = tuple(L.lit(op.attrs[f], _flag_dtype(op.attrs[f])) for f in routine.flags)

    def parts(index: L.Index) -> list[L.Expr | L.Subview]:
        return [
            _sub_buffer(v, project_index(ctx.facts, head, batch, dims, index))
            if core
            else v.at(ctx.emitter, ())
            for v, head, core in zip(values, heads, routine.cores)
        ]

    if not sizes:
        return _scalar_results(ctx, stmt, batch, reads, lambda index: (*parts(index), *flags))
    dest = ctx.dest(stmt.target, reads, (*batch, *sizes))
    with ctx.emitter.nest(batch) as index:
        args = (*parts(index), *flags, _sub_buffer(dest, index))
        _emit_call(ctx, op.name, args, routine.failure)
    return dest


@handles("tril", "triu")
def triangle(ctx: Context, stmt: nodes.Assign) -> Value:
    """`np.tril` and `np.triu`, as virtual values."""
    x = ctx.evaluated_value(stmt.op.args[0])
    k, sign = L.lit(stmt.op.attrs["k"]), "<=" if stmt.op.name == "tril" else ">="

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        row, column = index[-2:]
        inside = L.compare(sign, column, L.add(row, k))
        return L.select(inside, x.at(emitter, index), L.lit(0, x.dtype))

    return replace(x, at=at, cost=x.cost + 1, memory=None, add_into=None)


def _flag_dtype(flag: object) -> str:
    return "bool" if isinstance(flag, bool) else "int64"


def _in_memory(ctx: Context, v: Value, dtype: str) -> Value:
    """`v` in a C-contiguous buffer of `dtype`."""
    if v.is_buffer and v.dtype == dtype:
        return v
    at = v.at
    return ctx.materialised_copy(
        replace(v, dtype=dtype, memory=None, at=lambda emitter, i: cast(at(emitter, i), dtype))
    )


def _sub_buffer(v: Value, index: L.Index) -> L.Subview:
    """The sub-buffer of `v` at a batch index."""
    assert v.memory is not None
    return L.Subview(v.memory.name, index)


def _emit_call(
    ctx: Context, name: str, args: tuple[L.Expr | L.Subview, ...], failure: tuple[str, ...]
) -> None:
    """Emit the call of a routine, and the check of its status if it can fail."""
    function = f"rt.linalg.{name}"
    if not failure:
        ctx.emitter.add(L.Call(function, args))
        return
    status = L.Name(ctx.emitter.new_name("status"))
    ctx.emitter.add(L.CallBuffers((status.name,), function, args))
    with ctx.emitter.branch(L.compare("!=", status, L.ZERO)):
        message: list[str | None] = [failure[0]]
        for text in failure[1:]:
            message += [None, text]
        site = ctx.failures.site("LinAlgError", (*message, ctx.location_suffix()))
        values = (L.sub(status, L.ONE),) * (len(failure) - 1)
        ctx.emitter.add(L.Fail("LinAlgError", "", site, values))


def _scalar_results(
    ctx: Context,
    stmt: nodes.Assign,
    batch: Sizes,
    reads: frozenset[str],
    args: Callable[[L.Index], tuple[L.Expr | L.Subview, ...]],
) -> Value:
    """The results of a routine that returns a scalar, one for each matrix of the batch."""
    dtype = stmt.target.type.dtype
    name = ctx.emitter.new_name("t")

    def call(index: L.Index) -> L.Expr:
        ctx.emitter.add(L.CallBuffers((name,), f"rt.linalg.{stmt.op.name}", args(index)))
        return L.Name(name, dtype)

    if isinstance(stmt.target.type, nodes.Scalar):
        return scalar_value(call(()))
    dest = ctx.dest(stmt.target, reads, batch)
    with ctx.emitter.nest(batch) as index:
        store_element(ctx.emitter, dest, index, call(index))
    return dest
