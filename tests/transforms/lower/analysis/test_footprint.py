"""What statements read and write, and which buffers they may touch or modify."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.footprint import Footprint, footprint, may_access, may_modify
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import ir

I = L.Name("i")  # noqa: E741


def of(source: str, **types: str) -> Footprint:
    (stmt,) = ir(source, **types)
    return footprint(stmt)


def test_a_nest():
    f = of("for i in range(n):\n    s = x[i] * k\n    y[i] += s\n    if p:\n        z[0] = 1.0")
    assert f.reads == {"n", "x", "i", "k", "y", "s", "p", "z"}
    assert f.writes == {"i", "s"} and f.loops == {"i"}
    assert (
        f.defined == {"s"}
        and f.free_reads == f.reads - {"i"}
        and f.mentioned == f.reads | {"i", "s"}
    )
    assert f.loads == [("x", (I,)), ("y", (I,))]  # an accumulating store also loads
    assert f.stores == [("y", (I,)), ("z", (L.ZERO,))]
    assert f.written == {"y", "z"} and f.touched == {"x", "y", "z"}
    assert f.size == 5 and not f.fails and not f.is_barrier


@pytest.mark.parametrize(
    ("source", "loads", "stores"),
    [
        ("t = np.empty((n,), np.float64)", [], [("t", None)]),
        (
            "rt.gemm(True, True, s, x, y, s, z)",
            [("x", None), ("y", None), ("z", None)],
            [("z", None)],
        ),
        ("v = x.reshape((n,))", [], []),
        ("s = x[y[i]]", [("x", (L.Load("y", (I,), "float64"),)), ("y", (I,))], []),
        ("s = x.shape[0]", [], []),
    ],
)
def test_single_statements(source, loads, stores):
    f = of(source, **dict.fromkeys("xyz", "float64[...]") if "gemm" in source else {})
    assert (f.loads, f.stores) == (loads, stores)


@pytest.mark.parametrize(
    ("source", "fails", "fixed"),
    [
        ("if k < 0:\n    raise ValueError('no')", True, False),
        ("s = k", False, False),
        ("# a note", False, False),
        ("break", False, True),
        ("rt.draws.seed(k)", False, True),
        ("return (k,)", False, True),
        ("rt.show('{}', 'int64', k)", False, True),
        ("for i in range(n):\n    if k < i:\n        break", False, True),
        ("while True:\n    s = k", False, True),
    ],
)
def test_errors_and_barriers(source, fails, fixed):
    f = of(source)
    assert (f.fails, f.is_barrier) == (fails, fixed)


def test_footprints_of_nested_statements_may_be_known():
    (loop,) = ir("for i in range(n):\n    s = k")
    f = footprint(loop, known=lambda s: Footprint(reads={"known"}, size=7))
    assert f.reads == {"n", "known"} and f.size == 8


def same(a: str, b: str) -> bool:
    return a == b


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("s = t[0]", True),
        ("t[0] = 1.0", True),
        ("x[rt.to_int(t[0])] = 1.0", True),
        ("t = np.empty((n,), np.float64)", True),
        ("v = t.reshape((n,))", True),
        ("rt.gemm(x[rt.to_int(t[0])], y)", True),
        ("rt.gemm(x, t)", True),
        ("for i in range(n):\n    if k:\n        t[i] = 1.0", True),
        ("return (t,)", True),
        ("x[0] = y[0]", False),
        ("s = t.shape[0]", False),  # the size is no element
        ("s = k", False),
    ],
)
def test_touches(source, found):
    types = {"x": "float64[:, :]", "t": "float64[:]", "y": "float64[:]"} if "gemm" in source else {}
    types |= {"t": "float64[:]"}
    (stmt,) = ir(source, **types)
    assert may_access(stmt, "t", same) is found


def test_touches_what_may_alias():
    (stmt,) = ir("x[0] = 1.0")
    assert may_access(stmt, "t", lambda a, b: {a, b} == {"x", "t"})
    assert may_access(L.Rebind("u", "t"), "t", same) and may_access(L.Rebind("t", "u"), "t", same)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("x[0] = y[0]", {"x"}),
        ("v = x.reshape((n,))", {"x"}),
        ("rt.gemm(True, True, s, x, y, s, z)", {"z"}),
        ("return (x,)", set()),
        ("s = y[0]", set()),
        ("for i in range(n):\n    x[i] = 1.0", set()),  # nested statements are asked themselves
    ],
)
def test_may_modify(source, names):
    types = dict.fromkeys("xyz", "float64[...]") if "gemm" in source or "return" in source else {}
    (stmt,) = ir(source, **types)
    assert may_modify(stmt) == names
    assert may_modify(L.Rebind("u", "x")) == {"x"}
