"""Axes are permuted to match the loop order, where that is not observable."""

from __future__ import annotations

import copy
import inspect
import linecache

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.analysis.parameters import Parameters
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.layout import choose_layout
from tests.switches import switched_off
from tests.transforms.lower.loop_ir_text import at, routine_text

F = "float64"
i, j, k = L.Name("i"), L.Name("j"), L.Name("k")
N, M = L.Size("x", 0), L.Size("x", 1)


def nest(*body, over=((j, N), (k, M), (i, N))):
    inner: list[L.Stmt] = list(body)
    for var, stop in reversed(over):
        inner = [L.Loop(var.name, L.ZERO, stop, L.ONE, inner)]
    return inner[0]


def turned(*body, outs=(), escaping=(), may_alias=lambda a, b: a == b, params=("x", "y")):
    new = [*copy.deepcopy(list(body)), L.Return(())]
    sizes: dict[str, tuple[L.Expr, ...]] = {
        name: (L.Size(name, 0), L.Size(name, 1)) for name in params
    }
    arrays = Parameters(dict.fromkeys(params, F), sizes, frozenset(outs), {*escaping})
    choose_layout(new, arrays, may_alias, Emitter({"x", "y", "i", "j", "k"}))
    return new


def is_same(*body, **options):
    return routine_text(turned(*body, **options)) == routine_text([*body, L.Return(())])


DOWN = nest(L.Store("y", (j, i), at("x", i, k), add=True))


def test_a_parameter_that_is_read_down_its_columns():
    assert (
        routine_text(turned(DOWN))
        == """\
    x_turned = np.empty((x.shape[1], x.shape[0]), np.float64)
    for i_1 in range(x.shape[0]):
        for j_1 in range(x.shape[1]):
            x_turned[j_1, i_1] = x[i_1, j_1]
    for j in range(x.shape[0]):
        for k in range(x.shape[1]):
            for i in range(x.shape[0]):
                y[j, i] += x_turned[k, i]"""
    )


def test_a_result_that_is_added_to_down_its_columns():
    body = nest(L.Store("y", (i, k), at("x", j, i), add=True))
    assert (
        routine_text(turned(body, outs=("y",)))
        == """\
    y_turned = np.empty((y.shape[1], y.shape[0]), np.float64)
    for j in range(x.shape[0]):
        for k in range(x.shape[1]):
            for i in range(x.shape[0]):
                y_turned[k, i] += x[j, i]
    for i_1 in range(y.shape[0]):
        for j_1 in range(y.shape[1]):
            y[i_1, j_1] = y_turned[j_1, i_1]"""
    )
    assert is_same(body)  # written, but no out-buffer
    assert is_same(body, outs=("y",), escaping=("y",))
    assert is_same(body, outs=("y",), may_alias=lambda a, b: True)


def test_own_buffers_and_those_bound_to_them():
    body = [
        L.Alloc("t", F, (N, M)),
        L.Alloc("u", F, (N, M)),
        nest(L.Store("t", (i, k), at("x", j, i)), over=((k, M), (i, L.Size("t", 0)))),
        L.Rebind("u", "t"),
        nest(L.Store("y", (j, k), at("u", j, k)), over=((k, L.Size("u", 1)), (j, N))),
    ]
    new = routine_text(turned(*body))
    for line in ("t = np.empty((x.shape[1], x.shape[0])", "u = np.empty((x.shape[1], x.shape[0])"):
        assert line in new
    assert "t[k, i] = x[j, i]" in new and "u[k, j]" in new
    assert "range(t.shape[1])" in new and "range(u.shape[0])" in new


def test_the_other_axes_follow_the_loops():
    body = [
        L.Alloc("t", F, (N, M, N)),
        nest(L.Let("at", L.sub(j, L.ONE)), L.Store("t", (i, k, L.Name("at")), at("x", i, k))),
        nest(L.Store("t", (i, k, j), at("x", i, k))),
    ]
    new = routine_text(turned(*body))
    assert "t = np.empty((x.shape[0], x.shape[1], x.shape[0])" in new
    assert "t[at, k, i] =" in new and "t[j, k, i] =" in new


SHALLOW = nest(L.Store("y", (i, k), at("x", i, k)), over=((k, M), (i, N)))
CALL = L.Call("rt.fft.resize", (L.Subview("y"), L.Subview("x")))
OWN = [L.Alloc("t", F, (N, M)), nest(L.Store("t", (i, k), at("y", i, k)), over=((k, M), (i, N)))]
LITERAL = ((j, N), (k, L.lit(3)), (i, N))


@pytest.mark.parametrize(
    "body",
    [
        [SHALLOW],
        [nest(L.Store("y", (j, k), at("x", j, k)), over=((j, N), (i, N), (k, M)))],
        [DOWN, L.Store("x", (L.ZERO, L.ZERO), L.Lit(0.0, F))],
        [DOWN, CALL],
        [L.Rebind("z", "x"), DOWN],
        [nest(L.Store("y", (j, i), at("x", i, k), add=True), over=LITERAL)],
        [nest(L.Store("y", (j, i), at("x", i, i), add=True))],
        [nest(L.Store("y", (j, i), at("x", L.mul(i, i), k), add=True))],
        [*OWN, L.Return((L.Subview("t"),))],
        [*OWN, L.View("z", "t", (N,))],
        [*OWN, L.Rebind("t", "x")],
        [*OWN, nest(L.Store("y", (k, i), at("t", k, i)), over=((k, M), (i, N)))],
        [L.Alloc("t", F, (L.lit(8), L.lit(8))), OWN[1]],
        [L.Alloc("t", F, (N, L.ONE)), OWN[1]],
    ],
    ids=[
        "copying costs more", "along rows already", "written", "written by a call", "another name",
        "a corner only", "a diagonal", "steps that grow", "returned", "of other sizes, too",
        "bound to a parameter", "no clear majority", "small", "a single column",
    ],
)  # fmt: skip
def test_left_alone(body):
    assert is_same(*body)


def test_what_a_product_reads_is_copied_for_the_loops():
    product = L.Call("rt.gemm", (L.Subview("x"), L.Subview("z")))
    new = routine_text(turned(DOWN, product))
    assert "x_turned[k, i]" in new and "rt.gemm(x, z)" in new


def test_places_that_are_named_make_an_axis_short():
    """Constant indices mark an axis as short; otherwise the loop over coordinates would have as
    many votes."""
    rows = nest(L.Store("t", (j, i), at("x", j, i)), over=((k, N), (j, N), (i, M)))
    columns = [
        nest(L.Store("y", (L.ZERO, i), at("t", i, L.lit(c))), over=((k, N), (j, N), (i, N)))
        for c in range(2)
    ]
    assert "t[i, j] =" in routine_text(turned(L.Alloc("t", F, (N, M)), rows, *columns))
    assert is_same(L.Alloc("t", F, (N, M)), rows, columns[1])


# ---------------------------------------------------------------- programs


def products(a, b, n):
    c = np.zeros((a.shape[0], a.shape[0]))
    for row in range(a.shape[0]):
        for k in range(a.shape[1]):
            c[row, : row + 1] += b[row, k] * a[: row + 1, k]
    total = 0.0
    for k in range(n):
        total += np.sum(c[:, 0]) * a[n, k]
    return total + np.sum(c**2)


def both(*args):
    """The gradient with the pass, and without it."""
    now = s2s.value_and_grad(products, wrt=("a", "b"), backend="loops")
    results = now(*args)
    assert "a_turned" in now.lowered
    with switched_off("choose_layout", "duplicate_layout"):
        was = s2s.value_and_grad(again(products), wrt=("a", "b"), backend="loops")
        expected = was(*args)
        assert "a_turned" not in was.lowered
    return results, expected


def again(function):
    """A second function with the same source."""
    space = {"np": np}
    source = inspect.getsource(function)
    name = f"<copy of {function.__name__}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), space)
    return space[function.__name__]


def arrays(dtype, rows=5, columns=4):
    rng = np.random.default_rng(0)
    a = rng.normal(size=(rows, columns)).astype(dtype)
    return a, rng.normal(size=(rows, columns)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(5, 4), (1, 1), (5, 0)])
def test_results_are_the_same_to_the_last_bit(dtype, shape):
    a, b = arrays(dtype, *shape)
    given = [(a, b), (a, a)]
    given += [(np.asfortranarray(a), b[:, ::-1]), (np.repeat(a, 2, 1)[::-1, ::2], b)]
    for x, y in given:
        (value, bars), (right, right_bars) = both(x, y, 0)
        assert value == right
        for bar, right_bar in zip(bars, right_bars):
            assert bar.dtype == right_bar.dtype
            np.testing.assert_array_equal(bar, right_bar)


def test_errors_name_the_line_as_before():
    a, b = arrays("float64")
    f = s2s.value_and_grad(products, wrt=("a", "b"), backend="loops")
    with pytest.raises(IndexError, match=r"a\[n, k\]"):
        f(a, b, 5)
    value, _ = f(a, b, 4)
    np.testing.assert_allclose(value, products(a, b, 4), rtol=1e-12)
