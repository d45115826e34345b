"""Loops are fused, and buffers of one iteration become scalars, exactly where that is legal."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.analysis.dependence import reversible_loops
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.loops.fusion import LoopFusion
from s2s.transforms.lower.memory.scalar_replacement import replace_by_scalars
from tests.transforms.lower.harness import check, lowered
from tests.transforms.lower.loop_ir_text import routine

I, J = L.Name("i"), L.Name("j")  # noqa: E741
N = L.Size("x", 0)


def load(buffer, *index):
    return L.Load(buffer, index, "float64")


def loop(*body, var="i", stop=N):
    return L.Loop(var, L.ZERO, stop, L.ONE, list(body))


def add(e, f):
    return L.Bin("+", e, f, "float64")


def merged(*body, may_alias=lambda a, b: False, escaping=()):
    out = LoopFusion(may_alias, set(escaping)).block(list(body))
    return out, sum(isinstance(s, L.Loop) for s in out)


def writes_t():
    return loop(L.Store("t", (I,), load("x", I)))


def test_elementwise_neighbours_merge():
    _, loops = merged(writes_t(), loop(L.Store("u", (I,), load("t", I))))
    assert loops == 1


def test_a_shifted_read_keeps_loops_apart():
    for index in (L.add(I, L.ONE), L.ZERO, L.sub(N, I)):
        _, loops = merged(writes_t(), loop(L.Store("u", (I,), load("t", index))))
        assert loops == 2


def test_a_write_over_what_was_read_before_keeps_loops_apart():
    reads = loop(L.Store("u", (I,), load("t", L.add(I, L.ONE))))
    _, loops = merged(reads, writes_t())
    assert loops == 2


def test_other_ranges_keep_loops_apart():
    _, loops = merged(writes_t(), loop(L.Store("u", (I,), load("x", I)), stop=L.Size("y", 0)))
    assert loops == 2


def test_an_accumulator_is_complete_only_after_its_loop():
    total = loop(L.Let("acc", add(L.Name("acc", "float64"), load("x", I))))
    uses = loop(L.Store("u", (I,), L.Name("acc", "float64")))
    _, loops = merged(total, uses)
    assert loops == 2


def test_shared_memory_keeps_loops_apart():
    body = [writes_t(), loop(L.Store("u", (I,), load("v", I)))]
    _, loops = merged(*body, may_alias=lambda a, b: {a, b} == {"t", "v"})
    assert loops == 2


def test_preparations_move_before_the_loop():
    alloc = L.Alloc("u", "float64", (N,))
    check_ = L.If(L.compare("==", N, L.ZERO), [L.Fail("ValueError", "empty")])
    out, loops = merged(writes_t(), alloc, check_, loop(L.Store("u", (I,), load("t", I))))
    assert loops == 1 and isinstance(out[-1], L.Loop)
    # But a check is not moved before an escaping store.
    body = [writes_t(), check_, loop(L.Store("u", (I,), load("t", I)))]
    assert merged(*body, escaping={"t"})[1] == 2


def test_loops_that_fail_merge_unless_somebody_could_tell():
    def risky(message="no"):
        return loop(L.If(L.compare("<", I, L.ZERO), [L.Fail("IndexError", message)]))

    def rows():
        return loop(loop(L.Store("t", (I, J), load("x", I)), var="j"))

    scattered = loop(
        L.Let("k", L.Load("y", (I,), "int64")), L.Store("t", (I, L.Name("k")), load("x", I))
    )
    assert merged(rows(), risky())[1] == merged(risky(), rows())[1] == 1
    assert merged(risky(), scattered)[1] == 1
    assert merged(rows(), risky(), escaping=["t"])[1] == 2
    assert merged(risky(), rows(), escaping=["t"])[1] == 2
    # A loop that may fail is not vectorised.
    assert merged(writes_t(), risky())[1] == merged(risky(), writes_t())[1] == 2
    # Relative to a nest that costs little, unless the loop calls functions.
    nest = loop(*risky().body, *rows().body)
    assert merged(nest, loop(L.Store("u", (I,), load("x", I))))[1] == 1
    exp = L.Apply("np.exp", (load("x", I),), "float64")
    assert merged(nest, loop(L.Store("u", (I,), exp)))[1] == 2
    # The error of the first loop must precede that of the second.
    assert merged(risky("a"), risky("b"))[1] == 2
    # Neither is a failing loop moved before an escaping store or another error.
    seen = L.Store("v", (L.ZERO,), load("x", L.ZERO))
    assert merged(rows(), seen, risky(), escaping=["v"])[1] == 2
    check_first = L.If(L.compare("<", L.Name("k"), L.ZERO), [L.Fail("IndexError", "k")])
    assert merged(rows(), check_first, risky())[1] == 2
    # Nor is a check moved before a failing loop.
    needs_k = loop(loop(L.Store("u", (I, J), load("t", I, J)), var="j"))
    out, loops = merged(risky(), check_first, needs_k)
    assert loops == 2 and out[1] == check_first


def nest(*body):
    return loop(loop(*body, var="j"))


NO = L.If(L.compare("<", load("x", I, J), L.ZERO), [L.Fail("ValueError", "no")])
RISKY = nest(NO, L.Store("t", (I, J), load("x", I, J)))


def joined(between, escaping=(), size=N):
    """A nest that may fail, and a nest that reads its result and the statements between them."""
    needs_both = nest(L.Store("u", (I, J), L.Bin("*", load("t", I, J), load("p", I), "float64")))
    merger = LoopFusion(lambda a, b: a == b, {*escaping}, sizes={"p": (size,)})
    return merger.run(copy.deepcopy([RISKY, between, needs_both]))


def test_what_the_caller_sees_does_not_make_way_before_a_loop_that_fails():
    zeros = loop(L.Store("p", (I,), L.Lit(0.0, "float64")))
    assert len(joined(zeros)) == 1
    assert joined(zeros, escaping=["p"])[0] == RISKY


def test_what_may_rely_on_a_check_does_not_make_way_before_it():
    """A failing loop may contain a check that a later loop relies on."""
    zeros = loop(L.Store("p", (I,), L.Lit(0.0, "float64")))
    copied = loop(L.Store("p", (I,), load("y", I)))
    for first, *_ in (joined(zeros, size=L.Name("m")), joined(copied)):
        assert first.body[0].body[0] == NO


def test_an_index_is_checked_before_it_is_used():
    def f(x, w, k):
        n, m = k.shape[0], x.shape[1]
        y, z, p = np.empty((n, m)), np.empty((n, m)), np.empty(n)
        for i in range(n):
            c = w[k[i]]
            for j in range(m):
                y[i, j] = c * j
        for i in range(n):
            p[i] = w[k[i]] * 2.0
        for i in range(n):
            for j in range(m):
                z[i, j] = y[i, j] * p[i]
        return np.sum(z * z)

    g = s2s.function(f, backend="loops")
    x, w = np.ones((3, 4)), np.array([1.0, 2.0, 3.0])
    assert g(x, w, np.array([0, 2, 1])) == f(x, w, np.array([0, 2, 1]))
    with pytest.raises(IndexError, match=r"c = |w\[k\[i\]\]"):
        g(x, w, np.array([0, 2, 3]))


def test_inner_loops_merge_too():
    first = loop(loop(L.Store("t", (I, J), load("x", I, J)), var="j"))
    second = loop(loop(L.Store("u", (I, J), load("t", I, J)), var="j"))
    (out,), _ = merged(first, second)
    assert len(out.body) == 1


def test_rows_that_other_rows_need_keep_only_inner_loops_apart():
    """t[j] is summed over i, so a reader of t[i] must come after the whole nest."""
    first = loop(loop(L.Store("t", (J,), load("x", I, J), add=True), var="j"))
    second = loop(L.Store("u", (I,), load("t", I)))
    assert merged(first, second)[1] == 2


def scalarised(*body):
    body = list(body)
    replace_by_scalars(body, ["x", "u"])
    return print_module([routine(body, "x", "u")])


def test_a_buffer_of_one_iteration_becomes_a_scalar():
    text = scalarised(
        L.Alloc("t", "float64", (N,)),
        loop(
            L.Store("t", (I,), load("x", I)),
            loop(L.Store("u", (I, J), load("t", I)), var="j"),
            L.Store("t", (I,), load("x", I), add=True),
        ),
    )
    assert "np.empty" not in text and "t = x[i]" in text and "t = t + x[i]" in text


def test_buffers_that_must_stay():
    alloc = L.Alloc("t", "float64", (N,))
    put, use = L.Store("t", (I,), load("x", I)), L.Store("u", (I,), load("t", I))
    later = [alloc, loop(put), loop(use)]
    before = [alloc, loop(use, put)]
    elsewhere = [alloc, loop(put, L.Store("u", (I,), load("t", L.ZERO)))]
    rebound = [alloc, loop(put, loop(L.Store("u", (I,), load("t", I)), var="i"))]
    whole = [alloc, loop(put, use), L.Return((L.Subview("t"),))]
    branch = [alloc, loop(L.If(load("x", I), [put]), use)]
    for body in (later, before, elsewhere, rebound, whole, branch):
        assert "np.empty" in scalarised(*body)


def test_softmax_is_one_loop_over_rows():
    def f(b, x):
        m = b.emit("max", x, axis=(1,), keepdims=True)
        e = np.exp(x - m)
        return e / b.emit("sum", e, axis=(1,), keepdims=True)

    def reference(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    x = np.random.default_rng(0).normal(size=(3, 4))
    check(f, reference, x, tol=1e-12)
    text = lowered(f, x).text
    assert text.count("\n    for ") == 1 and text.count("np.empty") == 2


def test_equal_integers_have_one_name_where_it_is_known():
    emitter = Emitter(["x", "k"])
    emitter.bound_once.add("x")
    n, m = (L.sub(L.Size("x", axis), L.ONE) for axis in (0, 1))
    assert emitter.let(n) == emitter.let(n)
    with emitter.branch(L.Name("flag", "bool")):
        inside = emitter.let(m)
        assert emitter.let(m) == inside and emitter.let(n) != inside
    assert emitter.let(m) != inside  # the branch may not be taken
    changing = L.add(L.Name("k"), L.ONE)
    assert emitter.let(changing) != emitter.let(changing)
    emitter.same_sizes("t", (emitter.let(n),))
    assert emitter.name_of(L.Size("t", 0)) == emitter.let(n)
    emitter.forget_sizes("t")
    assert emitter.name_of(L.Size("t", 0)) is None


# ---------------------------------------------------------------- sweeps


def backwards(*body, stop=N):
    return L.Loop("k", L.sub(stop, L.ONE), L.lit(-1), L.lit(-1), list(body))


def at_will(*body):
    found = reversible_loops(list(body), lambda a, b: a == b, set())
    out = LoopFusion(lambda a, b: a == b, set(), found).block(list(body))
    return out, sum(isinstance(s, L.Loop) for s in out)


K = L.Name("k")


def test_a_sweep_that_only_adds_runs_forwards_with_its_loop():
    adds = L.Store("g", (L.ZERO,), load("t", K), add=True)
    out, loops = at_will(writes_t(), backwards(adds))
    assert loops == 1 and L.is_lit(out[0].step, 1)


def test_a_sweep_whose_iterations_depend_on_each_other_stays():
    for put in (
        L.Store("g", (K,), add(load("g", L.add(K, L.ONE)), load("t", K))),
        L.Store("g", (L.ZERO,), load("t", K)),
        L.Store("g", (L.ZERO,), add(load("t", K), load("g", K)), add=True),
    ):
        out, loops = at_will(writes_t(), backwards(put))
        assert loops == 2 and L.is_lit(out[1].step, -1)
    carried = L.Let("s", L.Bin("*", L.Name("s", "float64"), load("t", K), "float64"))
    assert at_will(writes_t(), backwards(carried))[1] == 2


def test_a_sweep_stays_as_it_is_where_it_joins_nothing():
    adds = L.Store("g", (L.ZERO,), load("u", K), add=True)
    out, loops = at_will(
        loop(L.Store("t", (I,), load("x", I)), stop=L.Size("y", 0)), backwards(adds)
    )
    assert loops == 2 and L.is_lit(out[1].step, -1)


def test_a_sweep_that_may_fail_stays():
    fails = L.If(L.compare("==", K, L.ONE), [L.Fail("ValueError", "no")])
    adds = L.Store("g", (L.ZERO,), load("t", K), add=True)
    assert at_will(writes_t(), backwards(fails, adds))[1] == 2


def test_functions_are_not_computed_one_by_one_for_the_sake_of_a_nest():
    nest = loop(loop(L.Store("t", (I,), load("x", I, J), add=True), var="j", stop=L.Size("x", 1)))
    for function, loops in (("np.exp", 2), ("np.sqrt", 1)):
        called = L.Apply(function, (load("t", I),), "float64")
        assert merged(copy.deepcopy(nest), loop(L.Store("u", (I,), called)))[1] == loops
