"""Lists and stacks, which grow at run time: a buffer with spare capacity, and an element count.

Elements that are arrays are stored consecutively in a flat buffer, each in C order.  Two integer
buffers hold the offset at which each element begins, and its sizes.  So elements may differ in
shape.
"""

from __future__ import annotations

from ...ir import nodes
from ...ir.record import record
from ...ir.symbolic_dims import Dim
from ..build.context import Context, handles, shape_of
from ..build.lazy_array import Emitter, Value, scalar_value
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast

# Returned by handlers that have bound their target themselves.
ALREADY_BOUND = Value("int64", (), (), lambda emitter, index: L.ZERO)


@record(frozen=True)
class Parts:
    """The variables that make up a list: the buffer `data` and the element count.

    If the elements are arrays, also the used length of the buffer, the offset at which each element
    begins, and the sizes of all elements.
    """

    data: str
    count: L.Name
    used: L.Name
    begins: str
    sizes: str
    elem: nodes.Scalar | nodes.Array

    @property
    def rank(self) -> int | None:
        """The rank of the elements; None if they are scalars."""
        return self.elem.ndim if isinstance(self.elem, nodes.Array) else None


def parts_of(ctx: Context, operand: nodes.Operand) -> Parts:
    """The variables of a list, named on first use."""
    assert isinstance(operand, nodes.Var) and isinstance(operand.type, nodes.ListOf), operand
    elem = operand.type.elem
    assert not isinstance(elem, nodes.Pack), operand  # of readable text only
    data = ctx.python_name(operand)

    def name(suffix: str) -> str:
        key = (operand.name, suffix)
        if key not in ctx.names:
            ctx.names[key] = ctx.emitter.new_name(f"{data}_{suffix}")
        return ctx.names[key]

    used, begins, sizes = name("used"), name("begins"), name("sizes")
    count = L.Name(name("len"))
    return Parts(data, count, L.Name(used), begins, sizes, elem)


def list_params(ctx: Context, p: nodes.Var) -> list[L.Param]:
    """The parameters of a routine for a list."""
    parts = parts_of(ctx, p)
    data = L.Param(parts.data, parts.elem.dtype, 1)
    count = L.Param(parts.count.name, "int64")
    if parts.rank is None:
        return [data, count]
    used = L.Param(parts.used.name, "int64")
    tables = [L.Param(name, "int64", 1) for name in (parts.begins, parts.sizes)]
    return [data, count, used, *tables]


def list_names(ctx: Context, operand: nodes.Operand) -> list[str]:
    """The names of the variables of a list, in the order of `list_params`."""
    p = parts_of(ctx, operand)
    names = [p.data, p.count.name]
    return names if p.rank is None else [*names, p.used.name, p.begins, p.sizes]


def list_arguments(ctx: Context, operand: nodes.Operand) -> list[L.Expr | L.Subview]:
    """The variables of a list, in the order of `list_params`."""
    p = parts_of(ctx, operand)
    found: list[L.Expr | L.Subview] = [L.Subview(p.data), p.count]
    if p.rank is not None:
        found += [p.used, L.Subview(p.begins), L.Subview(p.sizes)]
    return found


def new_list(ctx: Context, target: nodes.Var) -> None:
    """Emit an empty list."""
    p = parts_of(ctx, target)
    emitter = ctx.emitter
    emitter.alloc(p.data, p.elem.dtype, (L.ZERO,))
    emitter.add(L.Let(p.count.name, L.ZERO))
    if p.rank is not None:
        emitter.add(L.Let(p.used.name, L.ZERO))
        emitter.alloc(p.begins, "int64", (L.ZERO,))
        emitter.alloc(p.sizes, "int64", (L.ZERO,))


def push(ctx: Context, stack: nodes.Var, v: Value) -> None:
    """Emit the append of a value."""
    emitter = ctx.emitter
    p = parts_of(ctx, stack)
    if p.rank is None:
        _reserve(emitter, p.data, p.count, L.ONE)
        emitter.add(L.Store(p.data, (p.count,), cast(v.at(emitter, ()), p.elem.dtype)))
    else:
        _reserve(emitter, p.data, p.used, emitter.let(L.product(v.sizes), "n"))
        _put_array(ctx, p, p.used, v)
        first = emitter.let(L.mul(p.count, L.lit(v.ndim)))
        for name, used, more in ((p.begins, p.count, 1), (p.sizes, first, v.ndim)):
            _reserve(emitter, name, used, L.lit(more))
        emitter.add(L.Store(p.begins, (p.count,), p.used))
        for k, n in enumerate(v.sizes):
            emitter.add(L.Store(p.sizes, (L.add(first, L.lit(k)),), n))
        emitter.add(L.Let(p.used.name, L.add(p.used, emitter.let(L.product(v.sizes)))))
    emitter.add(L.Let(p.count.name, L.add(p.count, L.ONE)))


def _put_array(ctx: Context, p: Parts, begin: L.Expr, v: Value) -> None:
    """Store the elements of an array to the flat buffer from offset `begin` on."""
    emitter = ctx.emitter
    with emitter.nest(v.sizes) as index:
        e = cast(v.at(emitter, index), p.elem.dtype)
        emitter.add(L.Store(p.data, (_flat(begin, v.sizes, index),), e))


def _reserve(emitter: Emitter, name: str, used: L.Expr, more: L.Expr) -> None:
    """Ensure capacity for `more` elements after the first `used`; may reallocate the buffer."""
    emitter.add(L.CallBuffers((name,), "rt.reserve", (L.Subview(name), used, more)))


def _flat(begin: L.Expr, sizes: tuple[L.Expr, ...], index: L.Index) -> L.Expr:
    """The offset in the flat buffer of one element of an array that begins at `begin`."""
    offset: L.Expr = L.ZERO
    for n, i in zip(sizes, index, strict=True):
        offset = L.add(L.mul(offset, n), i)
    return L.add(begin, offset)


def _element(ctx: Context, operand: nodes.Operand, p: Parts, i: L.Expr) -> Value:
    """The i-th element, read in place."""
    assert isinstance(operand, nodes.Var)
    reads = frozenset({operand.name})
    if p.rank is None:
        return scalar_value(L.Load(p.data, (i,), p.elem.dtype), reads)
    emitter = ctx.emitter
    begin = emitter.let(L.Load(p.begins, (i,), "int64"), "at")
    first = emitter.let(L.mul(i, L.lit(p.rank)))
    sizes = tuple(
        emitter.let(L.Load(p.sizes, (L.add(first, L.lit(k)),), "int64"), "n") for k in range(p.rank)
    )

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        return L.Load(p.data, (_flat(begin, sizes, index),), p.elem.dtype)

    return Value(p.elem.dtype, sizes, p.elem.shape, at, reads)


def pop(ctx: Context, stack: nodes.Operand) -> Value:
    """Emit the removal of the last element; its value.  An array is read in place.

    The list is never empty here: a check precedes a pop of the user's program, and an adjoint sweep
    pops only what the forward sweep pushed.
    """
    emitter = ctx.emitter
    p = parts_of(ctx, stack)
    emitter.add(L.Let(p.count.name, L.sub(p.count, L.ONE)))
    last = emitter.variable(p.count, "at")
    if p.rank is None:
        # The element is loaded now, because the count may change before it is used.
        return scalar_value(emitter.let(L.Load(p.data, (last,), p.elem.dtype)))
    v = _element(ctx, stack, p, last)
    begin = emitter.let(L.Load(p.begins, (last,), "int64"), "at")
    end = L.add(begin, L.product(v.sizes))
    with emitter.branch(L.compare("==", emitter.let(end), p.used)):
        emitter.add(L.Let(p.used.name, begin))
    return v


def _position(ctx: Context, operand: nodes.Operand, count: L.Expr) -> L.Expr:
    """A list index, wrapped if negative and bounds-checked."""
    emitter = ctx.emitter
    i = ctx.integer(operand)
    low = ctx.ranges.nonnegative(ctx.symbolic_value(operand))
    if not low:
        i = emitter.let(L.select(L.compare("<", i, L.ZERO), L.add(i, count), i), "at")
    if ctx.boundscheck:
        bad = L.compare(">=", i, count)
        if not low:
            bad = L.logical_or(L.compare("<", i, L.ZERO), bad)
        emitter.check(bad, "IndexError", "list index out of range" + ctx.location_suffix())
    return i


def set_item(ctx: Context, stmt: nodes.Store) -> None:
    """Lower `l[i] = v`.

    An array that has as many elements as the old one replaces it in place; otherwise it is appended
    to the flat buffer.
    """
    emitter = ctx.emitter
    p = parts_of(ctx, stmt.array)
    args = (stmt.array, stmt.value, *stmt.operands)
    ((kind, items), *rest) = stmt.path
    if kind != "index" or len(items) != 1 or items[0][0] != "int" or rest or stmt.add:
        raise ctx.unsupported("this write into a list cannot be compiled")
    v = ctx.evaluated_value(stmt.value)
    i = _position(ctx, args[items[0][1]], p.count)
    if p.rank is None:
        emitter.add(L.Store(p.data, (i,), cast(v.at(emitter, ()), p.elem.dtype)))
        return
    if stmt.array.name in v.reads:
        v = ctx.materialised_copy(v)
    old = _element(ctx, stmt.array, p, i)
    begin = emitter.variable(L.Load(p.begins, (i,), "int64"), "at")
    same = L.compare("==", emitter.let(L.product(old.sizes)), emitter.let(L.product(v.sizes), "n"))
    if not L.is_lit(same, True):
        with emitter.branch(L.Un("not", same, "bool")):
            # The new array has another size: it is appended to the buffer.
            _reserve(emitter, p.data, p.used, L.product(v.sizes))
            emitter.add(L.Let(begin.name, p.used))
            emitter.add(L.Store(p.begins, (i,), begin))
            emitter.add(L.Let(p.used.name, L.add(p.used, L.product(v.sizes))))
    first = emitter.let(L.mul(i, L.lit(p.rank)))
    for k, n in enumerate(v.sizes):
        emitter.add(L.Store(p.sizes, (L.add(first, L.lit(k)),), n))
    _put_array(ctx, p, begin, v)


@handles("list_get")
def get(ctx: Context, stmt: nodes.Assign) -> Value:
    """`l[i]`, read in place."""
    items, at = stmt.op.args
    p = parts_of(ctx, items)
    reads = ctx.value(at).reads
    v = _element(ctx, items, p, _position(ctx, at, p.count))
    return Value(v.dtype, v.sizes, v.dims, v.at, v.reads | reads)


@handles("list_len")
def length(ctx: Context, stmt: nodes.Assign) -> Value:
    """`len(l)`"""
    (items,) = stmt.op.args
    assert isinstance(items, nodes.Var)
    ctx.ranges.define_symbol(
        ctx.symbolic_value(stmt.target), ctx.fresh_dim()
    )  # a size, so not negative
    return scalar_value(parts_of(ctx, items).count, {items.name})


@handles("list_stack")
def stack(ctx: Context, stmt: nodes.Assign) -> Value:
    (items,) = stmt.op.args
    assert isinstance(items, nodes.Var)
    return stacked(ctx, items, shape_of(stmt.target))


def stacked(ctx: Context, items: nodes.Var, dims: tuple[Dim, ...]) -> Value:
    """The elements stacked along a new first axis, with a check that their shapes are equal."""
    emitter = ctx.emitter
    p = parts_of(ctx, items)
    reads = frozenset({items.name})
    if p.rank is None:
        return Value(
            p.elem.dtype,
            (p.count,),
            dims,
            lambda emitter, i: L.Load(p.data, i, p.elem.dtype),
            reads,
        )
    some = L.compare(">", p.count, L.ZERO)
    sizes = tuple(
        emitter.variable(
            L.Select(some, L.Load(p.sizes, (L.lit(k),), "int64"), L.ZERO, "int64"), "n"
        )
        for k in range(p.rank)
    )
    if p.rank:
        with emitter.loop(L.mul(p.count, L.lit(p.rank))) as j:
            wrong: L.Expr = L.lit(False, "bool")
            size: L.Expr = sizes[-1]
            for k in range(p.rank - 1):
                here = L.compare("==", L.Bin("%", j, L.lit(p.rank), "int64"), L.lit(k))
                size = L.Select(here, sizes[k], size, "int64")
            wrong = L.compare("!=", L.Load(p.sizes, (j,), "int64"), size)
            message = "setting an array element with a sequence: the shapes differ"
            emitter.check(wrong, "ValueError", message + ctx.location_suffix())

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        begin = L.Load(p.begins, index[:1], "int64")
        return L.Load(p.data, (_flat(begin, sizes, index[1:]),), p.elem.dtype)

    return Value(p.elem.dtype, (p.count, *sizes), dims, at, reads)


@handles("list_unstack")
def unstack(ctx: Context, stmt: nodes.Assign) -> Value:
    """The list of the rows of an array."""
    emitter = ctx.emitter
    x = ctx.materialise_if_costly(ctx.value(stmt.op.args[0]))
    p = parts_of(ctx, stmt.target)
    n, rest = x.sizes[0], x.sizes[1:]
    size = emitter.let(L.product(rest), "n")
    emitter.alloc(p.data, p.elem.dtype, (emitter.let(L.mul(n, size), "n"),))
    with emitter.nest(x.sizes) as index:
        e = cast(x.at(emitter, index), p.elem.dtype)
        emitter.add(L.Store(p.data, (_flat(L.mul(index[0], size), rest, index[1:]),), e))
    emitter.add(L.Let(p.count.name, n))
    if p.rank is not None:
        emitter.add(L.Let(p.used.name, L.mul(n, size)))
        emitter.alloc(p.begins, "int64", (n,))
        emitter.alloc(p.sizes, "int64", (emitter.let(L.mul(n, L.lit(p.rank)), "n"),))
        with emitter.loop(n) as i:
            emitter.add(L.Store(p.begins, (i,), L.mul(i, size)))
            for k, m in enumerate(rest):
                emitter.add(L.Store(p.sizes, (L.add(L.mul(i, L.lit(p.rank)), L.lit(k)),), m))
    return ALREADY_BOUND


@handles("list_zeros_like")
def zeros_like(ctx: Context, stmt: nodes.Assign) -> Value:
    """A list of zeros with the shapes of the elements of another."""
    _copy_list(ctx, stmt, zero=True)
    return ALREADY_BOUND


def bind_list(ctx: Context, stmt: nodes.Assign) -> None:
    """Lower `copy` and `alias` of lists."""
    if stmt.op.name == "copy":
        _copy_list(ctx, stmt, zero=False)
        return
    new, old = parts_of(ctx, stmt.target), parts_of(ctx, stmt.op.args[0])
    emitter = ctx.emitter
    emitter.add(L.Rebind(new.data, old.data))
    emitter.add(L.Let(new.count.name, old.count))
    if new.rank is not None:
        emitter.add(L.Let(new.used.name, old.used))
        emitter.add(L.Rebind(new.begins, old.begins))
        emitter.add(L.Rebind(new.sizes, old.sizes))


def _copy_list(ctx: Context, stmt: nodes.Assign, zero: bool) -> None:
    """Copy a list; with `zero`, its structure only, with zeros as data."""
    new, old = parts_of(ctx, stmt.target), parts_of(ctx, stmt.op.args[0])
    emitter = ctx.emitter
    filled = old.count if new.rank is None else old.used
    copies: list[tuple[str, str, L.Expr, str]] = [(new.data, old.data, filled, new.elem.dtype)]
    emitter.add(L.Let(new.count.name, old.count))
    if new.rank is not None:
        emitter.add(L.Let(new.used.name, old.used))
        copies.append((new.begins, old.begins, old.count, "int64"))
        copies.append((new.sizes, old.sizes, L.mul(old.count, L.lit(new.rank)), "int64"))
    for to, source, n, dtype in copies:
        # Source and target may be the same variable: the copy then needs a buffer of its own.
        made = emitter.new_name(to) if to == source else to
        emitter.alloc(made, dtype, (n,))
        with emitter.loop(n) as i:
            nothing = zero and to == new.data
            e = L.Lit(0, dtype) if nothing else L.Load(source, (i,), dtype)
            emitter.add(L.Store(made, (i,), e))
        if made != to:
            emitter.add(L.Rebind(to, made))
