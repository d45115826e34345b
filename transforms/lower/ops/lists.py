"""Lists and stacks, which grow at run time: a buffer with room to spare, and a count.

Arrays lie one after the other in a flat buffer, each in C order; where each begins and its
sizes stand in two buffers of integers.  So elements may differ in shape.
"""

from __future__ import annotations

from ...ir import nodes
from ...ir.record import record
from ...ir.symbolic_dims import Dim
from ..build.context import Context, handles, shape_of
from ..build.lazy_array import Emitter, Value, scalar_value
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast

DONE = Value("int64", (), (), lambda em, index: L.ZERO)


@record(frozen=True)
class Parts:
    """The variables that make up a list: elements, how many; for arrays also how much of the
    buffer is used, where each element begins, and all sizes."""

    data: str
    count: L.Name
    used: L.Name
    begins: str
    sizes: str
    elem: nodes.Scalar | nodes.Array

    @property
    def rank(self) -> int | None:
        return self.elem.ndim if isinstance(self.elem, nodes.Array) else None


def parts_of(cx: Context, operand: nodes.Operand) -> Parts:
    assert isinstance(operand, nodes.Var) and isinstance(operand.type, nodes.ListOf), operand
    data = cx.python_name(operand)

    def name(suffix: str) -> str:
        key = (operand.name, suffix)
        if key not in cx.names:
            cx.names[key] = cx.em.fresh(f"{data}_{suffix}")
        return cx.names[key]

    used, begins, sizes = name("used"), name("begins"), name("sizes")
    count = L.Name(name("len"))
    return Parts(data, count, L.Name(used), begins, sizes, operand.type.elem)


def new_list(cx: Context, target: nodes.Var) -> None:
    p = parts_of(cx, target)
    em = cx.em
    em.alloc(p.data, p.elem.dtype, (L.ZERO,))
    em.add(L.Let(p.count.name, L.ZERO))
    if p.rank is not None:
        em.add(L.Let(p.used.name, L.ZERO))
        em.alloc(p.begins, "int64", (L.ZERO,))
        em.alloc(p.sizes, "int64", (L.ZERO,))


def push(cx: Context, stack: nodes.Var, v: Value) -> None:
    """Appends a value."""
    em = cx.em
    p = parts_of(cx, stack)
    if p.rank is None:
        _reserve(em, p.data, p.count, L.ONE)
        em.add(L.Put(p.data, (p.count,), cast(v.at(em, ()), p.elem.dtype)))
    else:
        _reserve(em, p.data, p.used, em.let(L.product(v.sizes), "n"))
        _put_array(cx, p, p.used, v)
        first = em.let(L.mul(p.count, L.lit(v.ndim)))
        for name, used, more in ((p.begins, p.count, 1), (p.sizes, first, v.ndim)):
            _reserve(em, name, used, L.lit(more))
        em.add(L.Put(p.begins, (p.count,), p.used))
        for k, n in enumerate(v.sizes):
            em.add(L.Put(p.sizes, (L.add(first, L.lit(k)),), n))
        em.add(L.Let(p.used.name, L.add(p.used, em.let(L.product(v.sizes)))))
    em.add(L.Let(p.count.name, L.add(p.count, L.ONE)))


def _put_array(cx: Context, p: Parts, begin: L.Expr, v: Value) -> None:
    em = cx.em
    with em.nest(v.sizes) as index:
        e = cast(v.at(em, index), p.elem.dtype)
        em.add(L.Put(p.data, (_flat(begin, v.sizes, index),), e))


def _reserve(em: Emitter, name: str, used: L.Expr, more: L.Expr) -> None:
    em.add(L.BindCall((name,), "rt.reserve", (L.Whole(name), used, more)))


def _flat(begin: L.Expr, sizes: tuple[L.Expr, ...], index: L.Index) -> L.Expr:
    place: L.Expr = L.ZERO
    for n, i in zip(sizes, index, strict=True):
        place = L.add(L.mul(place, n), i)
    return L.add(begin, place)


def _element(cx: Context, operand: nodes.Operand, p: Parts, i: L.Expr) -> Value:
    """The i-th element, read where it lies."""
    assert isinstance(operand, nodes.Var)
    reads = frozenset({operand.name})
    if p.rank is None:
        return scalar_value(L.Load(p.data, (i,), p.elem.dtype), reads)
    em = cx.em
    begin = em.let(L.Load(p.begins, (i,), "int64"), "at")
    first = em.let(L.mul(i, L.lit(p.rank)))
    sizes = tuple(
        em.let(L.Load(p.sizes, (L.add(first, L.lit(k)),), "int64"), "n") for k in range(p.rank)
    )

    def at(em: Emitter, index: L.Index) -> L.Expr:
        return L.Load(p.data, (_flat(begin, sizes, index),), p.elem.dtype)

    return Value(p.elem.dtype, sizes, p.elem.shape, at, reads)


def pop(cx: Context, stack: nodes.Operand) -> Value:
    """Takes the last element off; an array is read where it lies.  There is one: a program has
    been asked before its list gets shorter, and a sweep takes off what its forward part put on."""
    em = cx.em
    p = parts_of(cx, stack)
    em.add(L.Let(p.count.name, L.sub(p.count, L.ONE)))
    last = em.variable(p.count, "at")
    if p.rank is None:
        # The count moves on: the element is read now.
        return scalar_value(em.let(L.Load(p.data, (last,), p.elem.dtype)))
    v = _element(cx, stack, p, last)
    begin = em.let(L.Load(p.begins, (last,), "int64"), "at")
    end = L.add(begin, L.product(v.sizes))
    with em.branch(L.compare("==", em.let(end), p.used)):
        em.add(L.Let(p.used.name, begin))
    return v


def _position(cx: Context, operand: nodes.Operand, count: L.Expr) -> L.Expr:
    em = cx.em
    i = cx.integer(operand)
    low = cx.ranges.nonnegative(cx.known(operand))
    if not low:
        i = em.let(L.select(L.compare("<", i, L.ZERO), L.add(i, count), i), "at")
    if cx.boundscheck:
        bad = L.compare(">=", i, count)
        if not low:
            bad = L.either(L.compare("<", i, L.ZERO), bad)
        em.check(bad, "IndexError", "list index out of range" + cx.where())
    return i


def set_item(cx: Context, stmt: nodes.Store) -> None:
    """`l[i] = v`; `l[i][…] = v` writes into the element."""
    em = cx.em
    p = parts_of(cx, stmt.array)
    args = (stmt.array, stmt.value, *stmt.operands)
    ((kind, items), *rest) = stmt.path
    if kind != "index" or len(items) != 1 or items[0][0] != "int" or rest or stmt.add:
        raise cx.refuse("this write into a list cannot be compiled")
    v = cx.ready(stmt.value)
    i = _position(cx, args[items[0][1]], p.count)
    if p.rank is None:
        em.add(L.Put(p.data, (i,), cast(v.at(em, ()), p.elem.dtype)))
        return
    if stmt.array.name in v.reads:
        v = cx.copied(v)
    old = _element(cx, stmt.array, p, i)
    begin = em.variable(L.Load(p.begins, (i,), "int64"), "at")
    same = L.compare("==", em.let(L.product(old.sizes)), em.let(L.product(v.sizes), "n"))
    if not L.is_lit(same, True):
        with em.branch(L.Un("not", same, "bool")):
            # It does not fit in its place: it goes behind the others.
            _reserve(em, p.data, p.used, L.product(v.sizes))
            em.add(L.Let(begin.name, p.used))
            em.add(L.Put(p.begins, (i,), begin))
            em.add(L.Let(p.used.name, L.add(p.used, L.product(v.sizes))))
    first = em.let(L.mul(i, L.lit(p.rank)))
    for k, n in enumerate(v.sizes):
        em.add(L.Put(p.sizes, (L.add(first, L.lit(k)),), n))
    _put_array(cx, p, begin, v)


@handles("list_get")
def get(cx: Context, stmt: nodes.Assign) -> Value:
    items, at = stmt.op.args
    p = parts_of(cx, items)
    reads = cx.value(at).reads
    v = _element(cx, items, p, _position(cx, at, p.count))
    return Value(v.dtype, v.sizes, v.dims, v.at, v.reads | reads)


@handles("list_len")
def length(cx: Context, stmt: nodes.Assign) -> Value:
    (items,) = stmt.op.args
    assert isinstance(items, nodes.Var)
    cx.ranges.learn(cx.known(stmt.target), cx.fresh_dim())  # not negative, as other sizes
    return scalar_value(parts_of(cx, items).count, {items.name})


@handles("list_stack")
def stack(cx: Context, stmt: nodes.Assign) -> Value:
    (items,) = stmt.op.args
    assert isinstance(items, nodes.Var)
    return stacked(cx, items, shape_of(stmt.target))


def stacked(cx: Context, items: nodes.Var, dims: tuple[Dim, ...]) -> Value:
    """The elements along a new first axis."""
    em = cx.em
    p = parts_of(cx, items)
    reads = frozenset({items.name})
    if p.rank is None:
        return Value(
            p.elem.dtype, (p.count,), dims, lambda em, i: L.Load(p.data, i, p.elem.dtype), reads
        )
    some = L.compare(">", p.count, L.ZERO)
    sizes = tuple(
        em.variable(L.Select(some, L.Load(p.sizes, (L.lit(k),), "int64"), L.ZERO, "int64"), "n")
        for k in range(p.rank)
    )
    if p.rank:
        with em.loop(L.mul(p.count, L.lit(p.rank))) as j:
            wrong: L.Expr = L.lit(False, "bool")
            size: L.Expr = sizes[-1]
            for k in range(p.rank - 1):
                here = L.compare("==", L.Bin("%", j, L.lit(p.rank), "int64"), L.lit(k))
                size = L.Select(here, sizes[k], size, "int64")
            wrong = L.compare("!=", L.Load(p.sizes, (j,), "int64"), size)
            message = "setting an array element with a sequence: the shapes differ"
            em.check(wrong, "ValueError", message + cx.where())

    def at(em: Emitter, index: L.Index) -> L.Expr:
        begin = L.Load(p.begins, index[:1], "int64")
        return L.Load(p.data, (_flat(begin, sizes, index[1:]),), p.elem.dtype)

    return Value(p.elem.dtype, (p.count, *sizes), dims, at, reads)


@handles("list_unstack")
def unstack(cx: Context, stmt: nodes.Assign) -> Value:
    """A list of the rows of an array."""
    em = cx.em
    x = cx.cheap(cx.value(stmt.op.args[0]))
    p = parts_of(cx, stmt.target)
    n, rest = x.sizes[0], x.sizes[1:]
    size = em.let(L.product(rest), "n")
    em.alloc(p.data, p.elem.dtype, (em.let(L.mul(n, size), "n"),))
    with em.nest(x.sizes) as index:
        e = cast(x.at(em, index), p.elem.dtype)
        em.add(L.Put(p.data, (_flat(L.mul(index[0], size), rest, index[1:]),), e))
    em.add(L.Let(p.count.name, n))
    if p.rank is not None:
        em.add(L.Let(p.used.name, L.mul(n, size)))
        em.alloc(p.begins, "int64", (n,))
        em.alloc(p.sizes, "int64", (em.let(L.mul(n, L.lit(p.rank)), "n"),))
        with em.loop(n) as i:
            em.add(L.Put(p.begins, (i,), L.mul(i, size)))
            for k, m in enumerate(rest):
                em.add(L.Put(p.sizes, (L.add(L.mul(i, L.lit(p.rank)), L.lit(k)),), m))
    return DONE


@handles("list_zeros_like")
def zeros_like(cx: Context, stmt: nodes.Assign) -> Value:
    _copy_list(cx, stmt, zero=True)
    return DONE


def bind_list(cx: Context, stmt: nodes.Assign) -> None:
    """`copy` and `alias` of lists."""
    if stmt.op.name == "copy":
        _copy_list(cx, stmt, zero=False)
        return
    new, old = parts_of(cx, stmt.target), parts_of(cx, stmt.op.args[0])
    em = cx.em
    em.add(L.Bind(new.data, old.data))
    em.add(L.Let(new.count.name, old.count))
    if new.rank is not None:
        em.add(L.Let(new.used.name, old.used))
        em.add(L.Bind(new.begins, old.begins))
        em.add(L.Bind(new.sizes, old.sizes))


def _copy_list(cx: Context, stmt: nodes.Assign, zero: bool) -> None:
    new, old = parts_of(cx, stmt.target), parts_of(cx, stmt.op.args[0])
    em = cx.em
    filled = old.count if new.rank is None else old.used
    copies: list[tuple[str, str, L.Expr, str]] = [(new.data, old.data, filled, new.elem.dtype)]
    em.add(L.Let(new.count.name, old.count))
    if new.rank is not None:
        em.add(L.Let(new.used.name, old.used))
        copies.append((new.begins, old.begins, old.count, "int64"))
        copies.append((new.sizes, old.sizes, L.mul(old.count, L.lit(new.rank)), "int64"))
    for to, source, n, dtype in copies:
        # A list that takes the place of the one it is copied from may not be its memory.
        made = em.fresh(to) if to == source else to
        em.alloc(made, dtype, (n,))
        with em.loop(n) as i:
            nothing = zero and to == new.data
            e = L.Lit(0, dtype) if nothing else L.Load(source, (i,), dtype)
            em.add(L.Put(made, (i,), e))
        if made != to:
            em.add(L.Bind(to, made))
