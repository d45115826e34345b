"""Indexing and stores against NumPy: slices of all signs, index arrays, masks, overlaps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from s2s.transforms.ir import nodes
from s2s.transforms.ir.builder import const
from tests.transforms.lower.harness import check, lowered, run


def items_of(index):
    """A NumPy index as `items` and operands, counted from position `at`."""
    items, operands = [], []

    def operand(v, at):
        if v is None:
            return None
        operands.append(v)
        return at + len(operands) - 1

    def convert(at):
        for i in index:
            if isinstance(i, slice):
                if i == slice(None):
                    items.append(("all",))
                else:
                    items.append(("slice", *(operand(v, at) for v in (i.start, i.stop, i.step))))
            elif i is None:
                items.append(("new",))
            elif isinstance(i, np.ndarray):
                items.append(("mask" if i.dtype == bool else "array", operand(i, at)))
            else:
                items.append(("int", operand(i, at)))
        return tuple(items), operands

    return convert


def reader(index, dynamic):
    """A function f(b, x, *operands) -> x[index], with scalars as constants or as arguments."""

    def f(b, x, *given):
        items, operands = items_of(index)(1)
        pool = list(given)
        values = []
        for v in operands:
            arg = dynamic or isinstance(v, np.ndarray)
            values.append(pool.pop(0) if arg else v)
        return b.emit("index", x, *values, items=items)

    items, operands = items_of(index)(1)
    args = [v for v in operands if dynamic or isinstance(v, np.ndarray)]
    return f, args


def both_ways(x, index):
    for dynamic in (False, True):
        f, args = reader(index, dynamic)
        check(f, lambda x, *_: x[index], x, *args)


X = np.arange(60.0).reshape(3, 4, 5)
BOUNDS = [None, -9, -4, -1, 0, 3, 9]


@pytest.mark.parametrize("step", [None, 1, 2, -1, -2, -7])
def test_slices_of_every_sign(step):
    """All pairs of bounds at once: constants in one function, arguments in the next."""
    x = np.arange(4.0)
    pairs = list(itertools.product(BOUNDS, BOUNDS))

    def constants(b, x):
        out = []
        for start, stop in pairs:
            items, operands = items_of((slice(start, stop, step),))(1)
            out.append(b.emit("index", x, *operands, items=items))
        return tuple(out)

    check(constants, lambda x: tuple(x[slice(p, q, step)] for p, q in pairs), x)
    known = [v for v in BOUNDS if v is not None]
    by = 1 if step is None else step

    def arguments(b, x, by, *bounds):
        out = []
        at = {None: None, **dict(zip(known, bounds))}
        for start, stop in pairs:
            operands = [at[v] for v in (start, stop) if v is not None]
            p = None if start is None else 1
            q = None if stop is None else 1 + (p is not None)
            item = ("slice", p, q, 1 + len(operands))
            out.append(b.emit("index", x, *operands, by, items=(item,)))
        return tuple(out)

    check(arguments, lambda x, *_: tuple(x[slice(p, q, step)] for p, q in pairs), x, by, *known)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_slices_of_short_arrays(n):
    x = np.arange(float(n))
    for start, stop, step in itertools.product([None, -2, 0, 1], [None, -1, 0, 2], [1, -1, 2]):
        both_ways(x, (slice(start, stop, step),))


@pytest.mark.parametrize(
    "index",
    [
        (0, 1, 2), (-1, -4, -5), (1, slice(None), slice(None)), (slice(None), -2, slice(1, 3)),
        (None, 0, None, slice(None), 1), (slice(None), slice(None, None, -1), slice(1, None, 2)),
        (slice(None), slice(None), slice(None)),
    ],
)  # fmt: skip
def test_basic_indices(index):
    both_ways(X, index)


ROW, COL = np.array([2, 0, 0, -1]), np.array([[1], [-3]])


ALL = slice(None)


@pytest.mark.parametrize(
    "index",
    [
        (ROW, ALL, ALL), (ALL, ROW, ALL), (ROW, ROW, ALL), (ROW, ALL, ROW), (COL, ALL, ROW),
        (ALL, COL, ROW), (0, ALL, ROW), (0, ROW, slice(1, 3)), (ALL, 0, ROW), (ROW, 1, 2),
        (ROW, COL, -1), (ROW, None, ALL, 0), (ALL, ROW, None, ALL), (np.array([], int), ALL, ALL),
        (ROW, ROW, ROW), (COL, ROW, ROW),
    ],
)  # fmt: skip
def test_index_arrays(index):
    both_ways(X, index)


M1 = np.array([True, False, True])
M2 = np.arange(12).reshape(3, 4) % 3 == 0


@pytest.mark.parametrize(
    "index",
    [
        (M1, slice(None), slice(None)), (M2, slice(None)), (X > 30,), (slice(None), M2[0], 1),
        (M1, 1, slice(None)), (M2, 0), (np.zeros(3, bool), slice(None), slice(None)),
        (M1, np.array([1, 0]), slice(None)),
    ],
)  # fmt: skip
def test_masks(index):
    both_ways(X, index)


@pytest.mark.parametrize("i", [3, -4, 100])
def test_out_of_range_raises(i):
    f, args = reader((i, slice(None), slice(None)), True)
    with pytest.raises(IndexError, match="index out of bounds for axis 0"):
        run(f, X, *args)
    f, args = reader((np.array([0, i]), 0, 0), False)
    with pytest.raises(IndexError, match="axis 0"):
        run(f, X, *args)


def test_mask_of_another_size_raises():
    f, args = reader((np.ones(4, bool), slice(None), slice(None)), False)
    with pytest.raises(IndexError, match="boolean index did not match"):
        run(f, X, *args)


# ---------------------------------------------------------------- stores


def writer(index, add, dynamic=False):
    def f(b, x, v, *given):
        items, operands = items_of(index)(2)
        pool = list(given)
        values = [pool.pop(0) if dynamic or isinstance(o, np.ndarray) else o for o in operands]
        name = "update_add" if add else "update"
        return b.emit(name, x, v, *values, path=(("index", items),))

    _, operands = items_of(index)(2)
    return f, [o for o in operands if dynamic or isinstance(o, np.ndarray)]


def written(x, v, index, add):
    x = x.copy()
    if add:
        np.add.at(x, index, v)
    else:
        x[index] = v
    return x


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(
    "index",
    [
        (0, slice(None), slice(None)), (slice(None, None, -2), 1, slice(None)),
        (slice(1, None), slice(None), -1), (1, 2, 3), (ROW, ALL, ALL),
        (slice(None), ROW, 0), (ROW, ROW, ROW), (M1, slice(None), slice(None)), (M2, slice(None)),
        (X > 30,), (slice(None), slice(None), slice(None)),
    ],
)  # fmt: skip
def test_updates(index, add):
    region = X[index]
    for v in (2.5, np.asarray(region * 0.5 + np.arange(region.size).reshape(region.shape)).copy()):
        for dynamic in (False, True):
            f, args = writer(index, add, dynamic)
            check(f, lambda x, v, *_: written(x, v, index, add), X, v, *args)


def test_updates_broadcast_the_value():
    f, _ = writer((slice(None), slice(1, 3), slice(None)), False)
    for v in (np.arange(5.0), np.arange(2.0)[:, None].copy(), np.ones((1, 1, 5))):
        check(f, lambda x, v: written(x, v, np.s_[:, 1:3, :], False), X, v)
    with pytest.raises(ValueError, match="broadcast"):
        run(f, X, np.ones(3), asked=False)


def test_update_of_another_dtype_casts():
    f, _ = writer((slice(None), 0, 0), False)
    check(f, lambda x, v: written(x, v, np.s_[:, 0, 0], False), X.astype("float32"), np.ones(3))
    check(f, lambda x, v: written(x, v, np.s_[:, 0, 0], False), X.astype("int64"), np.ones(3) * 1.7)


@pytest.mark.parametrize("shift", [1, -1, 2])
def test_overlapping_store_reads_first(shift):
    """Stores such as a[1:] = a[:-1], after which the old version of `a` is dead."""
    low = (slice(shift, None),) if shift > 0 else (slice(None, shift),)
    high = (slice(None, -shift),) if shift > 0 else (slice(-shift, None),)

    def f(b, a):
        a = b.emit("copy", a, hint="w")
        items, operands = items_of(high)(1)
        v = b.emit("index", a, *operands, items=items)
        v = v * 2.0
        items, operands = items_of(low)(2)
        return b.emit("update", a, v, *operands, path=(("index", items),))

    def reference(a):
        a = a.copy()
        a[low] = a[high] * 2.0
        return a

    for n in (0, 1, 2, 7):
        check(f, reference, np.arange(float(n)))


def test_elementwise_store_needs_no_copy():
    def f(b, a):
        a = b.emit("copy", a, hint="w")
        v = np.sqrt(a) + a
        return b.emit("update", a, v, path=())

    check(f, lambda a: np.sqrt(a) + a, np.arange(5.0))
    assert lowered(f, np.arange(5.0)).text.count("np.empty") == 1


def test_transposed_store_copies_first():
    def f(b, a):
        a = b.emit("copy", a, hint="w")
        return b.emit("update", a, b.emit("transpose", a, axes=(1, 0)), path=())

    check(f, lambda a: a.T.copy(), np.arange(9.0).reshape(3, 3))


@pytest.mark.parametrize(
    "path, view",
    [
        ((("transpose", (1, 0)), ("index", (("int", 2), ("all",)))), lambda a: a.T[0]),
        ((("reshape", (3,)), ("index", (("slice", None, 2, None),))), lambda a: a.reshape(-1)[:2]),
        ((("expand_dims", (1,)),), lambda a: a[:, None]),
    ],
)
def test_paths(path, view):
    def f(b, a, k):
        n = a.shape[0] * a.shape[1]
        return b.emit("update", a, 7.0, k, n, path=path)

    def reference(a, k):
        a = a.copy()
        if path[0][0] == "transpose":
            a.T[k] = 7.0
        elif path[0][0] == "reshape":
            a.reshape(-1)[:k] = 7.0
        else:
            a[:, None] = 7.0
        return a

    check(f, reference, np.arange(6.0).reshape(2, 3), 1)


# ---------------------------------------------------------------- bounds that are proven


def loop(b, n, body, start=0, step=1):
    index = nodes.Var(b.names.fresh("i"), nodes.Scalar("int64"), "i")
    from s2s.transforms.ir.symbolic_dims import Dim

    index = nodes.Var(index.name, nodes.Scalar("int64", value=Dim.of(index.name)), "i")
    block: nodes.Block = []
    with b.into(block):
        carried = body(b.sym(index))
    b.block.append(
        nodes.For(
            index,
            b.sym(start).operand,
            b.sym(n).operand,
            const(step),
            block,
            carried,
            origin=b.origin,
        )
    )


def test_proven_indices_are_not_checked():
    def total(shift, start, back):
        def f(b, x):
            init = const(np.float64(0.0))
            phi = b.var(nodes.Scalar("float64"), "s")
            out = b.var(nodes.Scalar("float64"), "s")

            def body(i):
                e = b.emit("index", x, i + shift, items=(("int", 1),))
                new = b.sym(phi) + e
                return [nodes.Carried(phi, init, new.operand, out)]

            loop(b, x.shape[0] - back, body, start)
            return b.sym(out)

        return f

    x = np.arange(5.0)
    for shift, start, back, safe in (
        (0, 0, 0, True),
        (1, 0, 1, True),
        (-1, 1, 0, True),
        (1, 0, 0, False),
    ):
        f = total(shift, start, back)
        assert ("raise IndexError" in lowered(f, x).text) != safe, (shift, start, back)
        if safe:
            want = sum(x[i + shift] for i in range(start, 5 - back))
            assert run(f, x) == want
        else:
            with pytest.raises(IndexError):
                run(f, x)
    assert "IndexError" not in lowered(total(1, 0, 0), x, boundscheck=False).text
