"""Products: matmul, dot, outer, einsum.

Matrices go through the runtime's gemm, which takes transposed operands as they are and can
accumulate; anything with a vector in it becomes a plain nest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .. import ir
from ..dims import Dim
from . import loop_ir as L
from .broadcast import meet, project
from .context import Context, handles, shape_of
from .elementwise import cast
from .values import Emitter, Value, fill, put, scalar_value
from .views import transpose


@handles("matmul")
def matmul(cx: Context, stmt: ir.Assign) -> Value:
    x, y = (cx.ready(a) for a in stmt.op.args)
    if x.ndim >= 2 and y.ndim >= 2:
        return _gemm_or_later(cx, stmt, x, y)
    batch = "abcdefgh"[: max(x.ndim, y.ndim, 2) - 2]
    left = "k" if x.ndim == 1 else batch[len(batch) - x.ndim + 2 :] + "mk"
    right = "k" if y.ndim == 1 else batch[len(batch) - y.ndim + 2 :] + "kn"
    out = batch + "m" * (x.ndim > 1) + "n" * (y.ndim > 1)
    return loops(cx, stmt.target, [x, y], [left, right], out)


@handles("dot")
def dot(cx: Context, stmt: ir.Assign) -> Value:
    x, y = (cx.ready(a) for a in stmt.op.args)
    if x.ndim == 2 and y.ndim == 2:
        return _gemm_or_later(cx, stmt, x, y)
    if x.ndim == 0 or y.ndim == 0:
        left, right = "abcdefgh"[: x.ndim], "abcdefgh"[: y.ndim]
        return loops(cx, stmt.target, [x, y], [left, right], left + right)
    left = "abcdefgh"[: x.ndim - 1] + "k"
    right = "k" if y.ndim == 1 else "opqrstuv"[: y.ndim - 2] + "kn"
    out = left[:-1] + right.replace("k", "")
    return loops(cx, stmt.target, [x, y], [left, right], out)


@handles("outer")
def outer(cx: Context, stmt: ir.Assign) -> Value:
    x, y = (cx.cheap(cx.ready(a)) for a in stmt.op.args)
    if x.ndim != 1 or y.ndim != 1:
        raise cx.refuse("outer of arrays that are not vectors", "use x.ravel() and y.ravel()")
    dtype = stmt.target.type.dtype

    def at(em: Emitter, index: L.Index) -> L.Expr:
        left, right = x.at(em, index[:1]), y.at(em, index[1:])
        return L.Bin("*", cast(left, dtype), cast(right, dtype), dtype)

    return Value(dtype, x.sizes + y.sizes, x.dims + y.dims, at, x.reads | y.reads, 1)


@handles("einsum")
def einsum(cx: Context, stmt: ir.Assign) -> Value:
    inputs, out = stmt.op.attrs["subscripts"].replace(" ", "").split("->")
    letters = inputs.split(",")
    values = [cx.ready(a) for a in stmt.op.args]
    plan = _as_matmul(letters, out) if len(values) == 2 else None
    if plan is not None:
        batch, m, n, k = plan
        x = transpose(values[0], tuple(letters[0].index(c) for c in batch + m + k))
        y = transpose(values[1], tuple(letters[1].index(c) for c in batch + k + n))
        product = batch + m + n
        if product == out:
            return _gemm_or_later(cx, stmt, x, y)
        z = gemm(cx, None, stmt.target.type.dtype, x, y)
        return transpose(z, tuple(product.index(c) for c in out))
    return loops(cx, stmt.target, values, letters, out)


def _as_matmul(letters: list[str], out: str) -> tuple[str, str, str, str] | None:
    """The letters (batch, m, n, k) if the product is one of matrices."""
    x, y = letters
    if len(set(x)) < len(x) or len(set(y)) < len(y):
        return None
    batch = "".join(c for c in x if c in y and c in out)
    k = "".join(c for c in x if c in y and c not in out)
    m = "".join(c for c in x if c not in y)
    n = "".join(c for c in y if c not in x)
    if len(m) != 1 or len(n) != 1 or len(k) != 1 or m not in out or n not in out:
        return None
    return batch, m, n, k


# ---------------------------------------------------------------- matrices


def _gemm_or_later(cx: Context, stmt: ir.Assign, x: Value, y: Value) -> Value:
    """Now, or, where the only reader adds it to an array, as one accumulating product."""
    dtype = stmt.target.type.dtype
    later = cx.adds_into(stmt)
    if later is None or later.type.dtype != dtype or later.name in x.reads | y.reads:
        return gemm(cx, stmt.target, dtype, x, y)
    shape = zip(shape_of(stmt.target), shape_of(later))
    if later.type.ndim != stmt.target.type.ndim or not all(
        cx.facts.known_equal(a, b) for a, b in shape
    ):
        return gemm(cx, stmt.target, dtype, x, y)

    def at(em: Emitter, index: L.Index) -> L.Expr:
        raise AssertionError("a deferred product has no elements")

    return Value(
        dtype,
        (*x.sizes[:-1], y.sizes[-1]),
        shape_of(stmt.target),
        at,
        x.reads | y.reads,
        100,
        add_into=lambda dest: _product(cx, x, y, dest, add=True),
    )


def gemm(cx: Context, target: ir.Var | None, dtype: str, x: Value, y: Value) -> Value:
    """x @ y for ranks of at least 2, batched over the leading axes."""
    batch, batch_dims = _batch(cx, x, y)
    sizes = (*batch, x.sizes[-2], y.sizes[-1])
    dims = (*batch_dims, x.dims[-2], y.dims[-1])
    if target is not None:
        dest = replace(cx.dest(target, x.reads | y.reads, sizes), dims=dims)
    else:
        dest = cx.allocate(cx.em.fresh("t"), dtype, sizes, dims)
    _product(cx, x, y, dest, add=False)
    return dest


def _batch(cx: Context, x: Value, y: Value) -> tuple[tuple[L.Expr, ...], tuple[Dim, ...]]:
    heads = [replace(v, sizes=v.sizes[:-2], dims=v.dims[:-2]) for v in (x, y)]
    return meet(cx.em, cx.facts, heads, cx.where())


def _product(cx: Context, x: Value, y: Value, dest: Value, add: bool) -> None:
    em, dtype = cx.em, dest.dtype
    batch, dims = dest.sizes[:-2], dest.dims[:-2]
    x, x_swapped = _matrix(cx, x, dtype)
    y, y_swapped = _matrix(cx, y, dtype)
    one, zero = L.Lit(1, dtype), L.Lit(0, dtype)
    assert dest.memory is not None
    with em.nest(batch) as index:
        parts = []
        for v in (x, y):
            assert v.memory is not None
            head = replace(v, sizes=v.sizes[:-2], dims=v.dims[:-2])
            parts.append(L.Whole(v.memory.name, project(cx.facts, head, batch, dims, index)))
        flags = (L.lit(x_swapped, "bool"), L.lit(y_swapped, "bool"))
        c = L.Whole(dest.memory.name, index)
        em.add(L.Do("rt.gemm", (*flags, one, *parts, one if add else zero, c)))


def _matrix(cx: Context, v: Value, dtype: str) -> tuple[Value, bool]:
    """`v` in memory as gemm can read it, and whether its last two axes are swapped."""
    n = v.ndim
    swapped = (*range(n - 2), n - 1, n - 2)
    if v.dtype == dtype:
        if v.is_buffer:
            return v, False
        if v.memory is not None and v.memory.contiguous and v.memory.axes == swapped:
            return v, True
    at = v.at
    v = replace(v, dtype=dtype, memory=None, at=lambda em, i: cast(at(em, i), dtype))
    return cx.copied(v), False


# ---------------------------------------------------------------- nests


def loops(
    cx: Context,
    target: ir.Var,
    values: Sequence[Value],
    letters: Sequence[str],
    out: str,
) -> Value:
    """The sum of products over all letters that `out` lacks, as one nest."""
    em, dtype = cx.em, target.type.dtype
    if len(values) > 2:
        values, letters = _pairwise(cx, dtype, list(values), list(letters), out)
    values = [cx.cheap(v) for v in values]
    sizes: dict[str, L.Expr] = {}
    dims: dict[str, Dim] = {}
    for v, names in zip(values, letters, strict=True):
        for c, n, d in zip(names, v.sizes, v.dims, strict=True):
            if c not in sizes:
                sizes[c], dims[c] = n, d
    summed = [c for c in sizes if c not in out]

    def term(at: dict[str, L.Expr], wide: str) -> L.Expr:
        product: L.Expr | None = None
        for v, names in zip(values, letters, strict=True):
            e = cast(v.at(em, tuple(at[c] for c in names)), wide)
            sign = "and" if wide == "bool" else "*"
            product = e if product is None else L.Bin(sign, product, e, wide)
        assert product is not None
        return product

    plus = "or" if dtype == "bool" else "+"
    reads = frozenset().union(*(v.reads for v in values))

    def total(outer: dict[str, L.Expr]) -> L.Expr:
        acc = em.variable(L.Lit(0, dtype), "acc")
        with em.nest([sizes[c] for c in summed]) as inner:
            at = {**outer, **dict(zip(summed, inner, strict=True))}
            em.add(L.Let(acc.name, L.Bin(plus, acc, term(at, dtype), dtype)))
        return acc

    if isinstance(target.type, ir.Scalar):
        return scalar_value(total({}))
    dest = cx.dest(target, reads, tuple(sizes[c] for c in out))
    tails = {names[-1] for v, names in zip(values, letters, strict=True) if v.ndim > 1}
    if summed and out and out[-1] in tails and not tails & set(summed) and dtype != "bool":
        # Neighbours in memory belong to different results: accumulate into them in order.
        fill(em, dest, lambda index: L.Lit(0, dtype))
        order = [*out[:-1], *summed, out[-1]]
        with em.nest([sizes[c] for c in order]) as index:
            at = dict(zip(order, index, strict=True))
            put(em, dest, tuple(at[c] for c in out), term(at, dtype), add=True)
        return dest
    with em.nest(dest.sizes) as index:
        at = dict(zip(out, index, strict=True))
        put(em, dest, index, total(at) if summed else term(at, dtype))
    return dest


def _pairwise(
    cx: Context, dtype: str, values: list[Value], letters: list[str], out: str
) -> tuple[list[Value], list[str]]:
    """Multiplies from the left until two operands remain; sums a letter when it is done."""
    while len(values) > 2:
        rest = set("".join(letters[2:]) + out)
        kept = "".join(dict.fromkeys(c for c in letters[0] + letters[1] if c in rest))
        shape = {}
        for v, names in zip(values[:2], letters[:2], strict=True):
            shape.update(zip(names, v.dims, strict=True))
        name = cx.em.fresh("t")
        type_ = ir.Array(dtype, tuple(shape[c] for c in kept))
        target = ir.Var(name, type_) if kept else ir.Var(name, ir.Scalar(dtype))
        z = loops(cx, target, values[:2], letters[:2], kept)
        if not kept:
            z = scalar_value(cx.em.let(z.at(cx.em, ())))
        values, letters = [z, *values[2:]], [kept, *letters[2:]]
    return values, letters
