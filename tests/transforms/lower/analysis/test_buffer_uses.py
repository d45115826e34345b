"""Where each buffer is allocated, loaded and stored, and what other uses it has."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.buffer_uses import collect_uses, depth_in_path
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import ir

I, J = L.Name("i"), L.Name("j")  # noqa: E741


def test_accesses_with_their_paths():
    body = ir(
        """
        t = np.empty((n,), np.float64)
        for i in range(n):
            t[i] = x[i]
            if p:
                t[0] += t[i]
        """
    )
    uses = collect_uses(body)
    loop = body[1]
    assert isinstance(loop, L.Loop)
    (branch,) = loop.body[1:]
    assert isinstance(branch, L.If)
    t = uses["t"]
    assert t.allocs == [(body, body[0])] and not t.has_other_uses
    assert [(index, plain) for _, index, plain in t.accesses] == [
        ((I,), True),
        ((I,), False),
        ((L.ZERO,), False),  # an accumulating store is no plain one
    ]
    (path, _, _), *_ = t.accesses
    assert [(block is b, k) for (block, k), b in zip(path, (body, loop.body))] == [
        (True, 1),
        (True, 0),
    ]
    assert depth_in_path(path, loop.body) == 1
    assert depth_in_path(path, branch.then) is None
    deep = t.accesses[-1][0]
    assert [k for _, k in deep] == [1, 1, 0] and depth_in_path(deep, branch.then) == 2
    assert uses["x"].accesses == [(path, (I,), False)] and not uses["x"].allocs


@pytest.mark.parametrize(
    "source",
    [
        "s = t.shape[0]",
        "x[t.shape[0]] = 1.0",
        "v = t.reshape((n, 1))",
        "u = t",
        "rt.gemm(t, t, t)",
        "(p, t) = g(n)",
        "return (t,)",
        "for i in range(n):\n    rt.draws.legacy_fill_random_sample(t)",
    ],
)
def test_odd_uses(source):
    assert collect_uses(ir(f"t[0] = 1.0\n{source}"))["t"].has_other_uses


@pytest.mark.parametrize("source", ["s = t[i]", "t[i] = 1.0", "x[rt.to_int(t[i])] = 1.0"])
def test_element_accesses_are_not_odd(source):
    assert not collect_uses(ir(source))["t"].has_other_uses


def test_elements_in_the_index_of_a_part_are_accesses():
    uses = collect_uses(ir("rt.gemm(x[t[i]], y)", t="int64[:]", x="float64[:, :]", y="float64[:]"))
    assert uses["x"].has_other_uses and uses["y"].has_other_uses and not uses["t"].has_other_uses
    assert [index for _, index, _ in uses["t"].accesses] == [(I,)]
