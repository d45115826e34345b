"""Iterations of an outer loop executed together: text, counts of accesses, and equal results."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.lower.analysis.dependence import LoopReductions, loop_reductions
from s2s.transforms.lower.build.lazy_array import Emitter
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loops.unroll_and_jam_rewrite import (
    JammedLoop,
    accesses,
    depth_of,
    loads_in,
    loops_in,
)
from tests.transforms.lower.loop_ir_text import dedented, ir, loops_of, run_body, text

TYPES = {**dict.fromkeys("xyz", "float64[:, :]"), "s": "float64", "t": "float64"}
DTYPES = dict.fromkeys("xyz", "float64")


def jammed(source: str, rounds: int = 2) -> tuple[list[L.Stmt], JammedLoop]:
    (loop,) = ir(source, **TYPES)
    assert isinstance(loop, L.Loop)
    common = loop_reductions(loop, frozenset("s"), lambda a, b: a == b, set())
    assert isinstance(common, LoopReductions)
    tile = JammedLoop(loop, common, rounds, DTYPES, Emitter({*"ijknmxyzst"}).new_name)
    return tile.statements(), tile


SUM = """
    for i in range({}):
        for k in range(m):
            t = 0.0
            for j in range({}):
                t = t + y[i, j] * x[k, j]
            z[i, k] = t
    """
ADD = """
    for i in range({}):
        for k in range(m):
            for j in range({}):
                x[k, j] += z[i, k] * y[i, j]
    """


def test_scalars_are_renamed_and_loops_fused():
    body, tile = jammed(SUM.format("x.shape[0]", "n"))
    assert text(body) == dedented(
        """
        rest = x.shape[0] - x.shape[0] % 2
        for i in range(0, rest, 2):
            for k in range(m):
                t = np.float64(0.0)
                t_1 = np.float64(0.0)
                for j in range(n):
                    t = t + y[i, j] * x[k, j]
                    t_1 = t_1 + y[i + 1, j] * x[k, j]
                z[i, k] = t
                z[i + 1, k] = t_1
        for i in range(rest, x.shape[0]):
            for k in range(m):
                t_2 = np.float64(0.0)
                for j in range(n):
                    t_2 = t_2 + y[i, j] * x[k, j]
                z[i, k] = t_2
        """
    )
    # Of 4 loads, both of x[k, j] are one.  The innermost loop has depth 2.
    assert tile.jammed == [(2, 4, 3)] and max(tile.unjammed_depths) < 2


def test_accumulations_to_one_element_are_one_store():
    body, tile = jammed(ADD.format("x.shape[0]", "n"))
    assert "x[k, j] = x[k, j] + z[i, k] * y[i, j] + z[i + 1, k] * y[i + 1, j]" in text(body)
    assert tile.jammed == [(2, 6, 4)]


def test_another_dtype_is_rounded_after_each_addition():
    (loop,) = ir(ADD.format("n", "n"), **{**TYPES, "x": "float32[:, :]"})
    assert isinstance(loop, L.Loop)
    common = loop_reductions(loop, frozenset(), lambda a, b: a == b, set())
    assert isinstance(common, LoopReductions)
    tile = JammedLoop(loop, common, 2, {**DTYPES, "x": "float32"}, Emitter(set()).new_name)
    assert text(tile.statements()).count("x[k, j] +=") == 3


@pytest.mark.parametrize(
    ("inner", "ranges"),
    [
        ("i", ["range(i)", "range(i, i + 1)"]),
        ("i + 1", ["range(i + 1)", "range(i + 1, i + 1)", "range(i + 1, i + 2)"]),
        ("i, n", ["range(i, i + 1)", "range(i + 1, n)"]),
        ("2, i", ["range(2, i)", "range(i if i >= 2 else 2, i)"]),
    ],
)
def test_triangles_have_heads_or_tails(inner, ranges):
    body, _ = jammed(ADD.format("n", inner))
    lines = text(body)
    (tile,) = (part for part in lines.split("for i in range(rest")[:1])
    for bounds in ranges:
        if bounds != "range(i + 1, i + 1)":
            assert f"for j in {bounds}:" in tile, tile
        else:
            assert bounds not in tile  # an empty range is dropped


@pytest.mark.parametrize("inner", ["i * 2", "rt.to_int(y[i, 0])", "i, i + 2"])
def test_bounds_that_cannot_be_jammed(inner):
    body, tile = jammed(ADD.format("n", inner))
    assert tile.jammed == [] and max(tile.unjammed_depths) == 2
    assert text(body).split("for i in range(rest")[0].count("for j in range(") == 2


def test_neighbours_of_what_is_stored_stay_apart():
    """Overlap checks, hoisted out of the nest, would fail."""
    source = """
        for i in range(n):
            for k in range(m):
                for j in range(m):
                    z[i, j] += y[k, j] * x[i, k]
        """
    _, tile = jammed(source)
    assert tile.jammed == [(2, 6, 5)]  # z[i, j] and z[i + 1, j] do not vary with k
    _, beside = jammed(source.replace("y[k, j] * x[i, k]", "y[k, j]").replace("z[i, j]", "z[i, k]"))
    assert beside.jammed == []  # z[i, k] and z[i + 1, k] do


def test_loops_before_and_after_are_not_copied():
    body, _ = jammed(
        """
        for i in range(n):
            for j in range(m):
                z[i, j] = 0.0
            for k in range(m):
                for j in range(m):
                    z[i, j] += y[k, j] * x[i, k]
            for j in range(m):
                z[i, j] = z[i, j] * 2.0
        """
    )
    tile = text(body).split("for i in range(rest")[0]
    assert tile.count("= z[i_1, j] * 2.0") + tile.count("= z[i_2, j] * 2.0") == 1
    assert tile.count("= 0.0") == 1 and "for i_1 in range(i, i + 2):" in tile


@pytest.mark.parametrize("rounds", [2, 3, 4])
@pytest.mark.parametrize("inner", ["m", "i", "i + 1", "i, m", "1, i", "i - 1, m"])
@pytest.mark.parametrize("form", [SUM, ADD], ids=["sum", "add"])
def test_results(form, inner, rounds):
    """Oracle: the loop as it was.  Remaining iterations, single ones and none."""
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=(8, 8)) for name in "xyz"}
    for outer in ("n", "n - 1, -1, -1"):
        source = form.format(outer, inner)
        after, _ = jammed(source, rounds)
        for n in (0, 1, 4, 7):
            want = run_body(ir(source, **TYPES), **arrays, n=n, m=7)
            got = run_body(after, **arrays, n=n, m=7)
            for name in "xyz":
                np.testing.assert_allclose(got[name], want[name], rtol=1e-12, atol=1e-12)


def test_loops_of_a_block():
    body = ir(
        """
        if p:
            for i in range(n):
                for j in range(n):
                    s = j
        for k in range(n):
            s = k
        """
    )
    i, j, k = loops_of(body)
    assert loops_in(body) == [i, k] and loops_in([i]) == [i] and loops_in(i.body) == [j]
    assert (depth_of(i), depth_of(j)) == (1, 0)


def test_accesses_of_an_iteration():
    body = ir("t = y[i, j] * x[k, 0]\nz[i, j] += t + y[i, j]\nz[k, 0] = t", **TYPES)
    assert {(p.buffer, p.index) for p in loads_in(body)} == {
        ("y", (L.Name("i"), L.Name("j"))),
        ("x", (L.Name("k"), L.ZERO)),
        ("z", (L.Name("i"), L.Name("j"))),  # an accumulating store loads
    }
    found = accesses(body, "j")
    assert sorted(buffer for buffer, _ in found) == ["y", "z", "z", "z"]  # x[k, 0] is invariant
