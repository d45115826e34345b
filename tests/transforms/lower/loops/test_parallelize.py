"""Loops that are split into chunks, and the independence of chunks."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2s import kernels
from s2s.transforms.lower.analysis.dependence import LoopReductions, loop_reductions
from s2s.transforms.lower.analysis.liveness import NO_NAMES, Liveness, upward_exposed
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.loops import parallelize
from s2s.transforms.lower.loops.parallelize import Parallelizer
from s2s.transforms.lower.ops.scalar_ops import minmax_select
from tests.transforms.lower.loop_ir_text import at, loop, routine

F = "float64"
i, j, n = L.Name("i"), L.Name("j"), L.Name("n")
s, t = L.Name("s", F), L.Name("t", F)


def plus(a: L.Expr, b: L.Expr) -> L.Expr:
    return L.Bin("+", a, b, a.dtype)


def found(of: L.Loop, after: tuple[str, ...] = (), share: str = "", escaping: str = "") -> Any:
    may_alias = lambda a, b: a == b or (a in share and b in share)  # noqa: E731
    return loop_reductions(of, frozenset(after), may_alias, set(escaping))


def put(buffer: str, *index: L.Expr, value: L.Expr | None = None, add: bool = False) -> L.Store:
    return L.Store(buffer, index, at("x", i) if value is None else value, add)


FAILS = L.If(L.compare("<", at("x", i), L.Lit(0.0, F)), [L.Fail("ValueError", "negative")])

INDEPENDENT = {
    "a map": loop(put("y", i)),
    "in place": loop(put("x", i, value=plus(at("x", i), L.Lit(1.0, F)))),
    "the same offset everywhere": loop(put("y", L.add(i, L.ONE), value=at("y", L.add(i, L.ONE)))),
    "neighbours that are not written": loop(put("y", i, value=at("x", L.sub(i, L.ONE)))),
    "backwards": loop(put("y", L.sub(n, i)), step=-1),
    "another axis": loop(L.Loop("j", L.ZERO, n, L.ONE, [put("y", j, i)])),
    "a number of the iteration's own": loop(L.Let("t", at("x", i)), put("y", i, value=t)),
    "an index with a name": loop(
        L.Let("k", L.add(i, L.ONE)),
        put("y", L.Name("k")),
        put("y", L.add(i, L.ONE), add=True),
    ),
    "pairs": loop(put("y", L.mul(i, L.lit(2))), put("y", L.add(L.mul(i, L.lit(2)), L.ONE))),
    "every other": loop(put("y", i), put("y", L.add(i, L.ONE)), step=2),
    "fails, and nobody sees it": loop(FAILS, put("y", i)),
    "an inner loop that is left": loop(
        L.Let("t", L.Lit(0.0, F)),
        L.While([L.Let("t", plus(t, at("x", i))), L.If(L.TRUE, [L.Break()])]),
        put("y", i, value=t),
    ),
}

DEPENDENT = {
    "the last one": loop(put("y", i, value=at("y", L.sub(i, L.ONE)))),
    "the next one": loop(put("y", i, value=at("y", L.add(i, L.ONE)))),
    "two offsets": loop(put("y", i), put("y", L.add(i, L.ONE))),
    "always the same place": loop(put("y", L.ZERO)),
    "where another array says": loop(put("y", L.Load("k", (i,), "int64"))),
    "two axes that only look alike": loop(
        L.Loop("j", L.ZERO, n, L.ONE, [put("y", i, j, value=at("y", j, i))])
    ),
    "a sum of indices": loop(L.Loop("j", L.ZERO, n, L.ONE, [put("y", L.Bin("+", i, j, "int64"))])),
    "a number handed on": loop(L.Let("s", L.Bin("*", s, at("x", i), F)), put("y", i, value=s)),
    "a sum that is read": loop(L.Let("s", plus(s, at("x", i))), put("y", i, value=s)),
    "a number set in one case only": loop(
        L.If(L.compare(">", at("x", i), L.Lit(0.0, F)), [L.Let("t", at("x", i))]),
        put("y", i, value=t),
    ),
    "a break": loop(L.If(L.compare(">", i, L.lit(3)), [L.Break()]), put("y", i)),
    "its variable changes": loop(L.Let("i", L.add(i, L.ONE)), put("y", i)),
    "its bound changes": loop(L.Let("n", L.add(i, L.ONE)), put("y", i)),
    "a call": loop(L.Call("rt.gemm", (L.Subview("y"),))),
    "what is added is also read": loop(put("y", L.ZERO, value=at("y", L.ONE), add=True)),
    "a print": loop(L.Print("{}", (i,))),
    "pairs too close": loop(
        put("y", L.mul(i, L.lit(2))), put("y", L.add(L.mul(i, L.lit(2)), L.lit(2)))
    ),
    "a step of zero": loop(put("y", i), step=0),
}


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent(name: str) -> None:
    assert found(INDEPENDENT[name]) == LoopReductions()


@pytest.mark.parametrize("name", DEPENDENT)
def test_dependent(name: str) -> None:
    assert found(DEPENDENT[name]) is None


def test_sums_and_extremes() -> None:
    total = loop(L.Let("s", plus(s, at("x", i))), L.Let("s", L.Bin("-", s, at("y", i), F)))
    assert found(total, after=("s",)).scalar_reductions == {"s": ("+", F)}
    for sign in "<>":
        most = loop(L.Let("t", at("x", i)), L.Let("s", minmax_select(sign, t, s)))
        assert found(most, after=("s",)).scalar_reductions == {"s": (sign, F)}
    mixed = loop(L.Let("s", plus(s, at("x", i))), L.Let("s", minmax_select(">", at("x", i), s)))
    assert found(mixed, after=("s",)) is None


def test_what_is_left_behind_is_in_order() -> None:
    last = loop(L.Let("t", at("x", i)), put("y", i, value=t))
    assert found(last) is not None
    assert found(last, after=("t",)) is None
    assert found(last, after=("i",)) is None


def test_buffers_that_share_memory() -> None:
    shift = loop(put("y", i, value=at("x", i)))
    assert found(shift, share="") is not None
    assert found(shift, share="xy") is None


def test_added_to_by_all() -> None:
    scatter = loop(put("y", L.Load("k", (i,), "int64"), add=True))
    assert found(scatter).array_reductions == {"y": (F, 1)}


def test_a_failure_must_not_be_overtaken() -> None:
    """After an error, the caller sees the state that a sequential loop would leave."""
    assert found(loop(FAILS, put("y", i)), escaping="y") is None


def test_scratch_is_made_once() -> None:
    alloc = L.Alloc("c", F, (n,))
    body = [alloc, L.Loop("j", L.ZERO, n, L.ONE, [put("c", j)]), put("y", i, value=at("c", i))]
    assert found(loop(*body)).private_buffers == {"c": alloc}
    assert found(loop(L.Alloc("c", F, (i,)), put("c", L.ZERO))) is None
    assert found(loop(L.Alloc("c", F, (L.lit(3),)), put("c", L.ZERO))) == LoopReductions()


def test_liveness() -> None:
    inner = loop(L.Let("s", plus(s, t)), L.If(L.TRUE, [L.Break()]), L.Let("t", at("x", i)))
    live = Liveness(noting=True)
    assert live.before([inner, L.Return((s,))], NO_NAMES, NO_NAMES) == {"s", "t", "x", "n"}
    assert live.after[id(inner)] == {"s"}
    assert upward_exposed([L.Let("t", at("x", i)), L.Let("s", t)]) == {"x", "i"}
    # A loop may not run, so what it sets may come from before it.
    assert "t" in upward_exposed([loop(L.Let("t", at("x", i))), L.Let("s", t)])


# ---------------------------------------------------------------- any order gives the same

INT = "int64"
total, kept = L.Name("total", INT), L.Name("kept", INT)
places = st.sampled_from(
    [i, L.ZERO, j, *(L.add(i, L.lit(c)) for c in (-2, -1, 1, 2)), L.mul(i, L.lit(2)),
     L.add(L.mul(i, L.lit(2)), L.ONE), L.sub(L.lit(20), i), L.Bin("+", i, j, INT)]
)  # fmt: skip
loads = st.one_of(
    places.map(lambda k: L.Load("a", (k,), INT)),
    st.tuples(places, places).map(lambda k: L.Load("b", k, INT)),
    places.map(lambda k: L.Load("c", (k,), INT)),
)
values = st.recursive(
    st.one_of(loads, st.sampled_from([kept, i, L.lit(3)])),
    lambda inner: st.tuples(st.sampled_from("+*"), inner, inner).map(
        lambda e: L.Bin(e[0], e[1], e[2], INT)
    ),
    max_leaves=3,
)
simple = st.one_of(
    st.builds(L.Store, st.just("a"), st.tuples(places), values, st.booleans()),
    st.builds(L.Store, st.just("b"), st.tuples(places, places), values, st.booleans()),
    st.builds(L.Store, st.just("c"), st.tuples(places), values, st.booleans()),
    values.map(lambda e: L.Let("kept", e)),
    values.map(lambda e: L.Let("total", plus(total, e))),
    loads.map(lambda e: L.Let("total", minmax_select(">", e, total))),
)


def made(size: int) -> list[L.Stmt]:
    """The program with another buffer in place of c."""
    zero = L.Store("c", (L.Name("k"),), L.ZERO)
    return [L.Alloc("c", INT, (L.lit(size),)), L.Loop("k", L.ZERO, L.lit(size), L.ONE, [zero])]


statements = st.one_of(
    simple,
    simple,
    st.tuples(values, st.lists(simple, max_size=2)).map(
        lambda e: L.If(L.compare(">", e[0], L.lit(5)), e[1])
    ),
    st.lists(simple, max_size=2).map(lambda body: L.Loop("j", L.ZERO, L.lit(3), L.ONE, body)),
)
nests = st.lists(statements, min_size=1, max_size=3).map(
    lambda body: [L.Loop("j", L.lit(1), L.lit(4), L.ONE, body)]
)
ranges = st.sampled_from([(2, 9, 1), (9, 2, -1), (2, 10, 2), (5, 5, 1), (4, 5, 1)])


def outcome(routine: L.Routine, order: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(kernels, "prange", order)
    space: dict[str, Any] = {}
    exec(compile(print_module([routine]), "<lowered>", "exec"), space)
    a, b, c = np.arange(44), np.arange(44 * 44).reshape(44, 44) % 7, np.arange(44) % 5
    with np.errstate(all="ignore"):
        found = space["f"](a, b, c, np.int64(3), np.int64(1), np.int64(0))
    return a, b, c, *found


@settings(max_examples=150, deadline=None)
@given(
    body=st.one_of(st.lists(statements, min_size=1, max_size=4), nests),
    scratch=st.sampled_from([[], [], made(44), made(100)]),
    bounds=ranges,
    kept_is_read=st.booleans(),
)
def test_chunks_run_in_any_order(
    body: list[L.Stmt], scratch: list[L.Stmt], bounds: Any, kept_is_read: bool
) -> None:
    """With integers, whose sums are exact in any order, results are equal to the last bit."""
    start, stop, step = map(L.lit, bounds)
    around = L.Loop("i", start, stop, step, copy.deepcopy([*scratch, *body]))
    results = (total, kept) if kept_is_read else (total,)
    params = ["a", "b", "c", "kept", "total", "j"]
    plain = routine([copy.deepcopy(around), L.Return(results)], *params)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallelize, "THREAD_START_COST", 0)
        patch.setattr(parallelize, "MIN_CHUNK_WORK", 1)
        patch.setattr(parallelize, "MIN_WORK_PER_PRIVATE_ELEMENT", 0)
        numbers = iter(range(1000))
        stmts: list[L.Stmt] = [around, L.Return(results)]
        splitter = Parallelizer(stmts, lambda a, b: a == b, set(), lambda h: f"{h}_{next(numbers)}")
        split = routine(splitter.block(stmts), *params)
        want = outcome(plain, range, patch)
        for order in (range, lambda n: reversed(range(n))):
            for got, right in zip(outcome(split, order, patch), want, strict=True):
                np.testing.assert_array_equal(got, right)
