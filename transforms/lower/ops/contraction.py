"""Tensor contractions: matmul, dot, outer, einsum.

Products of matrices call the runtime's gemm, which reads transposed operands without a copy and can
accumulate.  A product with a vector operand becomes a plain loop nest.  A sum of few products, such
as one over coordinates, is fully unrolled: it is a virtual value, like other elementwise
arithmetic.

`contraction_order.py` chooses the order of an einsum of several operands.  `strided_gemm.py`
multiplies views without a copy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from ...ir import nodes
from ...ir.record import record, replace
from ...ir.symbolic_dims import Dim
from ..build.context import Context, handles, shape_of
from ..build.lazy_array import Emitter, Value, fill, scalar_value, store_element
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast
from . import contraction_order
from .broadcast import broadcast_shape, project_index
from .strided_gemm import add_to, is_profitable, multiply, view_access
from .view import collapse_axes, transpose

# Maximum number of terms of a sum that is unrolled.  With more, a register tile of gemm loads each
# element less often.
MAX_UNROLLED_TERMS = 4
# Maximum length of rows that are short enough for their memory order to be irrelevant.
MAX_SHORT_ROW = 8


@handles("matmul")
def matmul(ctx: Context, stmt: nodes.Assign) -> Value:
    """`x @ y`: unrolled, from a view, by gemm, or as a loop nest, in this order of preference."""
    x, y = (ctx.evaluated_value(a) for a in stmt.op.args)
    unrollable = _unrollable(ctx, x, y)
    if unrollable is not None:
        return loops(ctx, stmt.target, [x, y], *unrollable)
    if x.ndim > 2 and y.ndim == 2:
        rows = "abcdefgh"[: x.ndim - 1]
        found = _in_place_product(
            ctx, stmt.target, x, y, _Plan("", rows, "n", "k"), rows + "n", stmt
        )
        if found is not None:
            return found
    if x.ndim >= 2 and y.ndim >= 2:
        return _gemm_or_deferred(ctx, stmt, x, y)
    return loops(ctx, stmt.target, [x, y], *_letters(x, y))


def _letters(x: Value, y: Value) -> tuple[list[str], str]:
    """The einsum subscripts of a matrix product: those of the operands, and of the result."""
    batch = "abcdefgh"[: max(x.ndim, y.ndim, 2) - 2]
    left = "k" if x.ndim == 1 else batch[len(batch) - x.ndim + 2 :] + "mk"
    right = "k" if y.ndim == 1 else batch[len(batch) - y.ndim + 2 :] + "kn"
    return [left, right], batch + "m" * (x.ndim > 1) + "n" * (y.ndim > 1)


def _unrollable(ctx: Context, x: Value, y: Value) -> tuple[list[str], str] | None:
    """The subscripts of a matrix product whose sums are to be unrolled; None for any other."""
    if x.ndim < 2 or y.ndim < 2 or _terms(ctx, x.dims[-1:]) is None:
        return None
    batch_dims = zip(x.dims[-3::-1], y.dims[-3::-1])
    if not all(ctx.facts.known_equal(a, b) for a, b in batch_dims):
        return None  # one of the operands may be broadcast
    letters, out = _letters(x, y)
    n = ctx.facts.canonical(y.dims[-1])
    if (
        not (n.is_const and n.const <= MAX_SHORT_ROW)
        and _contiguous_axis(ctx.emitter, y, letters[1]) != "n"
    ):
        return None
    return letters, out


@handles("dot")
def dot(ctx: Context, stmt: nodes.Assign) -> Value:
    """`np.dot`, which sums over the last axis of x and the last but one of y."""
    x, y = (ctx.evaluated_value(a) for a in stmt.op.args)
    if x.ndim == 2 and y.ndim == 2:
        unrollable = _unrollable(ctx, x, y)
        return (
            loops(ctx, stmt.target, [x, y], *unrollable)
            if unrollable
            else _gemm_or_deferred(ctx, stmt, x, y)
        )
    if x.ndim == 0 or y.ndim == 0:
        left, right = "abcdefgh"[: x.ndim], "abcdefgh"[: y.ndim]
        return loops(ctx, stmt.target, [x, y], [left, right], left + right)
    left = "abcdefgh"[: x.ndim - 1] + "k"
    right = "k" if y.ndim == 1 else "opqrstuv"[: y.ndim - 2] + "kn"
    out = left[:-1] + right.replace("k", "")
    return loops(ctx, stmt.target, [x, y], [left, right], out)


@handles("outer")
def outer(ctx: Context, stmt: nodes.Assign) -> Value:
    """The outer product of two vectors, as a virtual value."""
    x, y = (ctx.materialise_if_costly(ctx.evaluated_value(a)) for a in stmt.op.args)
    if x.ndim != 1 or y.ndim != 1:
        raise ctx.unsupported("outer of arrays that are not vectors", "use x.ravel() and y.ravel()")
    dtype = stmt.target.type.dtype

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        left, right = x.at(emitter, index[:1]), y.at(emitter, index[1:])
        return L.Bin("*", cast(left, dtype), cast(right, dtype), dtype)

    return Value(dtype, x.sizes + y.sizes, x.dims + y.dims, at, x.reads | y.reads, 1)


@handles("einsum")
def einsum(ctx: Context, stmt: nodes.Assign) -> Value:
    """An einsum: reduced to pairwise products, which become gemm calls where possible."""
    inputs, out = stmt.op.attrs["subscripts"].replace(" ", "").split("->")
    letters = inputs.split(",")
    values = [ctx.evaluated_value(a) for a in stmt.op.args]
    if len(values) > 2 and not _one_covers(letters):
        values, letters = _pairwise(ctx, stmt.target.type.dtype, values, letters, out)
    found = _as_matmul(values, letters, out) if len(values) == 2 else None
    if found is None:
        return loops(ctx, stmt.target, values, letters, out)
    plan, x, y = found
    if plan.product == out and plan.plain:
        return _gemm_or_deferred(ctx, stmt, x, y)
    return _grouped(ctx, stmt.target, x, y, plan, out, stmt)


@record(frozen=True)
class _Plan:
    """The subscripts of a batched matrix product.

    `batch` occur in both operands and the result, `m` and `n` in one operand and the result, `k` in
    both operands only, and are summed over.
    """

    batch: str
    m: str
    n: str
    k: str

    @property
    def product(self) -> str:
        """The subscripts of the result, in the order in which gemm writes them."""
        return self.batch + self.m + self.n

    @property
    def plain(self) -> bool:
        """True if rows, columns and sums are a single axis each."""
        return len(self.m) == len(self.n) == len(self.k) == 1


def _as_matmul(
    values: Sequence[Value], letters: Sequence[str], out: str
) -> tuple[_Plan, Value, Value] | None:
    """The plan of a matrix product of two operands, and the operands with permuted axes.

    None if the contraction is not a matrix product.
    """
    first, second = letters
    plans = [_plan(first, second, out), _plan(second, first, out)]
    if plans[0] is None or plans[1] is None:
        return None
    if plans[0].product != out and plans[1].product == out:
        plans, values, letters = plans[::-1], values[::-1], letters[::-1]
    plan = plans[0]
    assert plan is not None
    orders = plan.batch + plan.m + plan.k, plan.batch + plan.k + plan.n
    x, y = (
        transpose(v, tuple(names.index(c) for c in order))
        for v, names, order in zip(values, letters, orders, strict=True)
    )
    return plan, x, y


def _plan(x: str, y: str, out: str) -> _Plan | None:
    """The plan for operands with the subscripts `x` and `y`; None unless m, n and k all occur."""
    batch = "".join(c for c in out if c in x and c in y)
    k = "".join(c for c in x if c in y and c not in out)
    m = "".join(c for c in out if c in x and c not in y)
    n = "".join(c for c in out if c in y and c not in x)
    return _Plan(batch, m, n, k) if m and n and k else None


def _grouped(
    ctx: Context, target: nodes.Var, x: Value, y: Value, plan: _Plan, out: str,
    stmt: nodes.Assign | None = None,
) -> Value:  # fmt: skip
    """A matrix product with several axes of rows, columns or sums; each group is collapsed."""
    found = None if plan.batch else _in_place_product(ctx, target, x, y, plan, out, stmt)
    if found is not None:
        return found
    b, m, n, k = (len(part) for part in (plan.batch, plan.m, plan.n, plan.k))
    sizes = (*x.sizes[: b + m], *y.sizes[b + k :])
    dims = (*x.dims[: b + m], *y.dims[b + k :])
    left = collapse_axes(ctx, x, (*[1] * b, m, k))
    right = collapse_axes(ctx, y, (*[1] * b, k, n))
    if plan.product == out:
        dest = replace(ctx.dest(target, x.reads | y.reads, sizes), dims=dims)
    else:
        dest = ctx.allocate(ctx.emitter.new_name("t"), target.type.dtype, sizes, dims)
    _product(ctx, left, right, collapse_axes(ctx, dest, (*[1] * b, m, n)), add=False)
    return transpose(dest, tuple(plan.product.index(c) for c in out))


def _in_place_product(
    ctx: Context,
    target: nodes.Var,
    x: Value,
    y: Value,
    plan: _Plan,
    out: str,
    stmt: nodes.Assign | None,
) -> Value | None:
    """The product where one operand is a view, read in place instead of copied; else None.

    If the only reader adds the product to an array, it is deferred and never materialised.
    """
    dtype = target.type.dtype
    m, n, k = len(plan.m), len(plan.n), len(plan.k)
    transposed = (
        transpose(y, (*range(k, k + n), *range(k))),
        transpose(x, (*range(m, m + k), *range(m))),
    )
    for view, right, letters in ((x, y, plan.m + plan.n), (*transposed, plan.n + plan.m)):
        where = view_access(ctx, view) if is_profitable(ctx, view, right, k, dtype) else None
        if where is None:
            continue
        sizes = (*view.sizes[: view.ndim - k], *right.sizes[k:])
        dims = (*view.dims[: view.ndim - k], *right.dims[k:])
        reads = x.reads | y.reads
        if letters == out and stmt is not None and _adds_later(ctx, stmt, reads):
            parts = view, where, right, k
            return _deferred(
                dtype, sizes, dims, reads, lambda dest, parts=parts: add_to(ctx, *parts, dest)
            )
        if letters == out:
            dest = replace(ctx.dest(target, reads, sizes), dims=dims)
        else:
            dest = ctx.allocate(ctx.emitter.new_name("t"), dtype, sizes, dims)
        multiply(ctx, view, where, right, k, dest)
        return transpose(dest, tuple(letters.index(c) for c in out))
    return None


# ---------------------------------------------------------------- matrices


def _gemm_or_deferred(ctx: Context, stmt: nodes.Assign, x: Value, y: Value) -> Value:
    """The product by gemm, or deferred to its only reader.

    If the only reader adds the product to an array, the two become one accumulating gemm.
    """
    dtype = stmt.target.type.dtype
    later = ctx.adds_into(stmt)
    if later is None or later.path or not _adds_later(ctx, stmt, x.reads | y.reads):
        return gemm(ctx, stmt.target, dtype, x, y)
    shape = zip(shape_of(stmt.target), shape_of(later.array))
    if later.array.type.ndim != stmt.target.type.ndim or not all(
        ctx.facts.known_equal(a, b) for a, b in shape
    ):
        return gemm(ctx, stmt.target, dtype, x, y)

    batch, _ = _batch(ctx, x, y)
    sizes = (*batch, x.sizes[-2], y.sizes[-1])

    def add_into(dest: Value) -> None:
        if dest.is_buffer:
            _product(ctx, x, y, dest, add=True)
            return
        total = ctx.allocate(ctx.emitter.new_name("t"), dtype, sizes, dest.dims)
        _product(ctx, x, y, total, add=False)
        with ctx.emitter.nest(dest.sizes) as index:
            store_element(ctx.emitter, dest, index, total.at(ctx.emitter, index), add=True)

    return _deferred(dtype, sizes, shape_of(stmt.target), x.reads | y.reads, add_into)


def _adds_later(ctx: Context, stmt: nodes.Assign, reads: frozenset[str]) -> bool:
    """True if the only reader adds the product to an array that the product does not read."""
    later = ctx.adds_into(stmt)
    if later is None or later.array.type.dtype != stmt.target.type.dtype:
        return False
    name = later.array.name
    return not ctx.usage.aliases.get(name, {name}) & reads


def _deferred(
    dtype: str,
    sizes: tuple[L.Expr, ...],
    dims: tuple[Dim, ...],
    reads: frozenset[str],
    add_into: Callable[[Value], None],
) -> Value:
    """A product that can only be added to an array; its elements cannot be read."""

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        raise AssertionError("a deferred product has no elements")

    return Value(dtype, sizes, dims, at, reads, 100, add_into=add_into)


def gemm(ctx: Context, target: nodes.Var | None, dtype: str, x: Value, y: Value) -> Value:
    """The materialised product x @ y of ranks of at least 2, batched over the leading axes."""
    batch, batch_dims = _batch(ctx, x, y)
    sizes = (*batch, x.sizes[-2], y.sizes[-1])
    dims = (*batch_dims, x.dims[-2], y.dims[-1])
    if target is not None:
        dest = replace(ctx.dest(target, x.reads | y.reads, sizes), dims=dims)
    else:
        dest = ctx.allocate(ctx.emitter.new_name("t"), dtype, sizes, dims)
    _product(ctx, x, y, dest, add=False)
    return dest


def _batch(ctx: Context, x: Value, y: Value) -> tuple[tuple[L.Expr, ...], tuple[Dim, ...]]:
    """The broadcast shape of the batch axes."""
    heads = [replace(v, sizes=v.sizes[:-2], dims=v.dims[:-2]) for v in (x, y)]
    return broadcast_shape(ctx.emitter, ctx.facts, heads, ctx.location_suffix())


def _product(ctx: Context, x: Value, y: Value, dest: Value, add: bool) -> None:
    """Emit dest = x @ y, or dest += x @ y, as gemm calls in a loop over the batch."""
    emitter, dtype = ctx.emitter, dest.dtype
    matrices = [_matrix(ctx, v, dtype) for v in (x, y)]
    left, right = matrices
    if left.value.ndim > 2 == right.value.ndim and left.value.is_buffer and dest.is_buffer:
        # The matrices of the batch, stacked along the rows, are one matrix.
        rows, dest = (collapse_axes(ctx, v, (v.ndim - 1, 1)) for v in (left.value, dest))
        matrices = [_matrix(ctx, rows, dtype), right]
    batch, dims = dest.sizes[:-2], dest.dims[:-2]
    one, zero = L.Lit(1, dtype), L.Lit(0, dtype)
    assert dest.memory is not None
    with emitter.nest(batch) as index:
        parts = []
        for m in matrices:
            head = replace(m.value, sizes=m.value.sizes[:-2], dims=m.value.dims[:-2])
            at = project_index(ctx.facts, head, batch, dims, index)
            parts.append(L.Subview(m.buffer, (*m.lead, *at)))
        flags = [L.lit(m.swapped, "bool") for m in matrices]
        c = L.Subview(dest.memory.name, index)
        emitter.add(L.Call("rt.gemm", (*flags, one, *parts, one if add else zero, c)))


@record(frozen=True)
class _Matrix:
    """An operand of gemm: a buffer, or its sub-buffer at the leading index `lead`.

    `swapped` tells whether the last two axes are transposed in memory.
    """

    value: Value
    buffer: str
    lead: L.Index = ()
    swapped: bool = False


def _matrix(ctx: Context, v: Value, dtype: str) -> _Matrix:
    """`v` as an operand of gemm, copied if it has another dtype or layout."""
    n = v.ndim
    swapped = (*range(n - 2), n - 1, n - 2)
    if v.dtype == dtype:
        if v.memory is not None and v.is_buffer:
            return _Matrix(v, v.memory.name)
        if v.memory is not None and v.memory.contiguous and v.memory.axes == swapped:
            return _Matrix(v, v.memory.name, swapped=True)
        part = _part(ctx, v)
        if part is not None:
            return part
    at = v.at
    v = replace(v, dtype=dtype, memory=None, at=lambda emitter, i: cast(at(emitter, i), dtype))
    v = ctx.materialised_copy(v)
    assert v.memory is not None
    return _Matrix(v, v.memory.name)


def _part(ctx: Context, v: Value) -> _Matrix | None:
    """`v` as one matrix of a contiguous array of matrices, such as a loop's saved values."""
    emitter, i, j = ctx.emitter, L.Name("?i"), L.Name("?j")
    if v.ndim != 2:
        return None
    with emitter.into([]) as scratch:
        element = v.at(emitter, (i, j))
    if scratch or not isinstance(element, L.Load) or len(element.index) < 3:
        return None
    *lead, a, b = element.index
    swapped = (a, b) == (j, i)
    if not swapped and (a, b) != (i, j):
        return None
    dims = ctx.dims_of_buffer(element.buffer)
    if dims is None or not all(
        map(ctx.facts.known_equal, dims[-2:], v.dims[::-1] if swapped else v.dims)
    ):
        return None
    if any(p in (i, j) for e in lead for p in L.walk_expr(e)):
        return None
    return _Matrix(v, element.buffer, tuple(emitter.let(e, "at") for e in lead), swapped)


# ---------------------------------------------------------------- loop nests


def loops(
    ctx: Context,
    target: nodes.Var,
    values: Sequence[Value],
    letters: Sequence[str],
    out: str,
) -> Value:
    """The sum of products over all subscripts that `out` lacks, as one loop nest."""
    emitter, dtype = ctx.emitter, target.type.dtype
    every = set("".join(letters))
    tails = {
        _contiguous_axis(emitter, v, names)
        for v, names in zip(values, letters, strict=True)
        if v.ndim > 1
    }
    # An operand with every subscript is read once per element; the others are read repeatedly.
    values = [
        v if set(n) == every else ctx.materialise_if_costly(v)
        for v, n in zip(values, letters, strict=True)
    ]
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
            e = cast(v.at(emitter, tuple(at[c] for c in names)), wide)
            sign = "and" if wide == "bool" else "*"
            product = e if product is None else L.Bin(sign, product, e, wide)
        assert product is not None
        return product

    plus = "or" if dtype == "bool" else "+"
    reads = frozenset().union(*(v.reads for v in values))
    terms = _terms(ctx, [dims[c] for c in summed])

    def unrolled(outer: dict[str, L.Expr]) -> L.Expr:
        e: L.Expr | None = None
        for at in terms or ():
            more = term({**outer, **dict(zip(summed, at, strict=True))}, dtype)
            e = more if e is None else L.Bin(plus, e, more, dtype)
        return L.Lit(0, dtype) if e is None else e

    if summed and terms is not None:
        cost = max(1, len(terms)) * (1 + sum(v.cost for v in values))
        return Value(
            dtype, tuple(sizes[c] for c in out), tuple(dims[c] for c in out),
            lambda emitter, index: unrolled(dict(zip(out, index, strict=True))), reads, cost,
        )  # fmt: skip

    def total(outer: dict[str, L.Expr]) -> L.Expr:
        acc = emitter.variable(L.Lit(0, dtype), "acc")
        with emitter.nest([sizes[c] for c in summed]) as inner:
            at = {**outer, **dict(zip(summed, inner, strict=True))}
            emitter.add(L.Let(acc.name, L.Bin(plus, acc, term(at, dtype), dtype)))
        return acc

    if isinstance(target.type, nodes.Scalar):
        return scalar_value(total({}))
    dest = ctx.dest(target, reads, tuple(sizes[c] for c in out))
    if summed and out and out[-1] in tails and not tails & set(summed) and dtype != "bool":
        # Consecutive elements in memory belong to different results: the innermost loop runs along
        # the result's last axis and accumulates in memory.
        fill(emitter, dest, lambda index: L.Lit(0, dtype))
        order = [*out[:-1], *summed, out[-1]]
        with emitter.nest([sizes[c] for c in order]) as index:
            at = dict(zip(order, index, strict=True))
            store_element(emitter, dest, tuple(at[c] for c in out), term(at, dtype), add=True)
        return dest
    with emitter.nest(dest.sizes) as index:
        at = dict(zip(out, index, strict=True))
        store_element(emitter, dest, index, total(at) if summed else term(at, dtype))
    return dest


def _terms(ctx: Context, summed: Sequence[Dim]) -> list[L.Index] | None:
    """The indices of the terms of a sum over these axes; None unless they are few and constant."""
    known = [ctx.facts.canonical(d) for d in summed]
    if not all(d.is_const for d in known) or math.prod(d.const for d in known) > MAX_UNROLLED_TERMS:
        return None
    return list(itertools.product(*([L.lit(i) for i in range(d.const)] for d in known)))


def _contiguous_axis(emitter: Emitter, v: Value, names: str) -> str:
    """The subscript of the axis that is contiguous in memory.

    For a virtual value, it is the one that most loads use as their last index.
    """
    if v.memory is not None:
        return names[v.memory.axes.index(max(v.memory.axes))]
    index = tuple(L.Name(f"?{c}") for c in names)
    with emitter.into([]) as scratch:
        element = v.at(emitter, index)
    read = [e for s in L.walk(scratch) for e in L.exprs_of(s) if not isinstance(e, L.Subview)]
    ends = [
        p.index[-1]
        for e in (*read, element)
        for p in L.walk_expr(e)
        if isinstance(p, L.Load) and len(p.index) > 1
    ]
    votes = [sum(end == i for end in ends) for i in index]
    return names[votes.index(max(votes))] if any(votes) else names[-1]


def _one_covers(letters: list[str]) -> bool:
    """True if one operand has every subscript: a single nest over its axes is optimal."""
    every = set("".join(letters))
    return any(every <= set(names) for names in letters)


def _pairwise(
    ctx: Context, dtype: str, values: list[Value], letters: list[str], out: str
) -> tuple[list[Value], list[str]]:
    """Multiply two operands at a time until two remain.

    A subscript that no other operand and not the result has is summed in the process.
    """
    values, letters = list(values), list(letters)
    while len(values) > 2:
        i, j = contraction_order.first_pair(tuple(letters), out)
        kept = contraction_order.product_subscripts(letters, i, j, out)
        z = _pair(ctx, dtype, [values[i], values[j]], [letters[i], letters[j]], kept)
        values = [z, *(v for p, v in enumerate(values) if p not in (i, j))]
        letters = [kept, *(s for p, s in enumerate(letters) if p not in (i, j))]
    return values, letters


def _pair(ctx: Context, dtype: str, values: list[Value], letters: list[str], out: str) -> Value:
    """The product of two operands, materialised."""
    dims = {c: d for v, names in zip(values, letters) for c, d in zip(names, v.dims)}
    shape = tuple(dims[c] for c in out)
    target = nodes.Var(
        ctx.emitter.new_name("t"), nodes.Array(dtype, shape) if out else nodes.Scalar(dtype)
    )
    found = _as_matmul(values, letters, out)
    if found is not None:
        plan, x, y = found
        return _grouped(ctx, target, x, y, plan, out)
    z = loops(ctx, target, values, letters, out)
    return z if out else scalar_value(ctx.emitter.let(z.at(ctx.emitter, ())))
