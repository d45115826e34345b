"""Loops whose iterations are independent but for reductions, and the reasons why others are not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from s2s.transforms.lower.analysis.dependence import (
    LoopReductions,
    add_scaled,
    explain_dependence,
    is_small,
    loop_reductions,
    reversible_loops,
)
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.ops.scalar_ops import minmax_select
from tests.transforms.lower.loop_ir_text import ir, loops_of, run_body

F = {"s": "float64", "t": "float64"}


def same(a: str, b: str) -> bool:
    return a == b


def found(body: str, after=(), escaping=(), may_alias=same, header="for i in range(n):", **types):
    lines = "\n    ".join(body.splitlines())
    (loop,) = ir(f"{header}\n    {lines}", **F, **types)
    assert isinstance(loop, L.Loop)
    return explain_dependence(loop, frozenset(after), may_alias, {*escaping})


INDEPENDENT = [
    "y[i] = x[i]",
    "y[i] = x[n - i - 1]",
    "y[i] = x[i]\ny[i] = y[i] + 1.0",
    "y[n - i - 1] = x[i]",
    "y[2 * i] = x[i]\ny[2 * i + 1] = x[i]",
    "y[i * 3 + 2] = y[i * 3]",
    "y[i + i] = y[i + i + 1]",
    "y[i, 0] = y[i, k]",
    "last = n - i - 1\ny[last] = x[i]",
    "t = x[i]\ny[i] = t * t",
    "for j in range(i):\n    y[i, j] = y[i, 0] + 1.0",
    "if x[i] > 0.0:\n    y[i] = x[i]",
]
DEPENDENT = [
    "y[0] = x[i]",
    "y[i + 1] = y[i]",
    "y[2 * i] = x[i]\ny[2 * i + 2] = x[i]",
    "y[i] = y[n - i - 1]",
    "y[i % k] = x[i]",
    "y[rt.to_int(x[i])] = x[i]",
    "for j in range(3):\n    y[j] = y[j] + x[i]",
    "y[i // 2] = x[i]",
]


@pytest.mark.parametrize("body", INDEPENDENT)
def test_each_iteration_has_its_own_elements(body):
    assert found(body) == LoopReductions()


@pytest.mark.parametrize("body", DEPENDENT)
def test_elements_that_iterations_may_share(body):
    assert found(body) == "iterations may touch the same elements of y"


@pytest.mark.parametrize("body", INDEPENDENT)
def test_independent_iterations_run_in_any_order(body):
    """Oracle: the loop forwards, backwards and in any order leaves the same memory."""
    rank = 2 if "y[i, " in body else 1
    lines = "\n    ".join(body.splitlines())
    (loop,) = ir(f"for i in range(n):\n    {lines}", y=f"float64[{', '.join(':' * rank)}]", **F)
    assert isinstance(loop, L.Loop)
    n = 3
    x = np.random.default_rng(0).normal(size=16)
    y = np.random.default_rng(1).normal(size=(16,) * rank)
    results = [
        run_body(
            [s for i in order for s in (L.Let("i", L.lit(i)), *loop.body)], x=x, y=y, n=n, k=2
        )["y"]
        for order in itertools.permutations(range(n))
    ]
    for got in results[1:]:
        np.testing.assert_array_equal(got, results[0])


@pytest.mark.parametrize(
    ("body", "fold"),
    [
        ("s = s + x[i]", ("+", "float64")),
        ("s = s - x[i]", ("+", "float64")),
        ("s = x[i] + s", ("+", "float64")),
        ("s = s + x[i]\ns = s - 1.0", ("+", "float64")),
        ("s = s + x[i] * k - 2.0", ("+", "float64")),
    ],
)
def test_sums(body, fold):
    result = found(body, after={"s"})
    assert isinstance(result, LoopReductions) and result.scalar_reductions == {"s": fold}


@pytest.mark.parametrize(
    "body",
    [
        "s = x[i] - s",
        "s = s * x[i]",
        "s = s + s",
        "s = s + x[i]\ny[i] = s",
        "s = x[i]",  # its last value is read after the loop
        "s = s + x[i]\ns = s * 2.0",
    ],
)
def test_scalars_that_are_carried(body):
    assert found(body, after={"s"}) == "s goes from one iteration to the next"


@pytest.mark.parametrize("sign", ["<", ">"])
def test_running_minimum_and_maximum(sign):
    s, x = L.Name("s", "float64"), L.Load("x", (L.Name("i"),), "float64")
    taken = L.Let("s", minmax_select(sign, x, s))
    loop = L.Loop("i", L.ZERO, L.Name("n"), L.ONE, [taken])
    result = explain_dependence(loop, frozenset("s"), same, set())
    assert isinstance(result, LoopReductions) and result.scalar_reductions == {
        "s": (sign, "float64")
    }
    # Of the variable itself, a multiple of it, or another sign beside it, it is none.
    other = "<" if sign == ">" else ">"
    for last in (minmax_select(sign, s, s), minmax_select(sign, L.Bin("*", s, x, "float64"), s)):
        loop.body = [L.Let("s", last)]
        assert isinstance(explain_dependence(loop, frozenset("s"), same, set()), str)
    loop.body = [taken, L.Let("s", minmax_select(other, x, s))]
    assert isinstance(explain_dependence(loop, frozenset("s"), same, set()), str)


def test_buffers_that_are_only_added_to():
    result = found("y[k] += x[i]\nz[0, i % 2] += 1.0", z="float32[:, :]")
    assert isinstance(result, LoopReductions)
    assert result.array_reductions == {"y": ("float64", 1), "z": ("float64", 2)}
    assert isinstance(found("y[k] += y[0]"), str)
    assert isinstance(found("y[k] += x[i]\ny[k] = 0.0"), str)


def test_buffers_made_in_each_iteration():
    body = "t = np.empty(({},), np.float64)\nt[0] = x[i]\ny[i] = t[0]"
    result = found(body.format("m"))
    assert isinstance(result, LoopReductions) and [*result.private_buffers] == ["t"]
    assert found(body.format("64")) == LoopReductions()  # small ones stay
    assert found(body.format("i")) == "iterations may touch the same elements of t"


@pytest.mark.parametrize(
    ("size", "small"),
    [("64", True), ("65", False), ("8, 8", True), ("8, 9", False), ("n", False), ("0, n", True)],
)
def test_small_buffers(size, small):
    (alloc,) = ir(f"t = np.empty(({size},), np.float64)")
    assert isinstance(alloc, L.Alloc) and is_small(alloc) is small


@pytest.mark.parametrize(
    ("body", "options", "reason"),
    [
        ("y[i] = x[i]", {"header": "for i in range(0, n, k):"},
         "its step is known only when it runs"),
        ("if x[i] > s:\n    break", {}, "it may end early"),
        ("y[i] = x[i]", {"after": {"i"}}, "its index is needed after it"),
        ("n = k", {}, "its index is needed after it"),  # which its bounds read
        ("rt.gemm(a, b, y)", {"a": "float64[:, :]", "b": "float64[:, :]", "y": "float64[:, :]"},
         "it holds a product of matrices"),
        ("rt.show('{}', 'float64', s)", {}, "it prints"),
        ("v = x.reshape((n,))", {}, "v is another name for an array"),
        ("rt.draws.seed(n)", {}, "it holds a random draw"),
        ("return ()", {}, "it returns"),
    ],
)  # fmt: skip
def test_reasons(body, options, reason):
    assert found(body, **options) == reason
    assert (
        loop_reductions(
            loops_of(ir("for i in range(0, n, k):\n    s = i"))[0], frozenset(), same, set()
        )
        is None
    )


def test_an_inner_break_ends_only_the_inner_loop():
    assert (
        found("for j in range(k):\n    if x[j] > 0.0:\n        break\n    y[i, j] = 1.0")
        == LoopReductions()
    )


def test_errors_and_arguments_that_are_written():
    body = "if x[i] < 0.0:\n    raise ValueError('negative')\ny[i] = x[i]"
    assert found(body) == LoopReductions()
    reason = "an error may stop it halfway through writing into an argument"
    assert found(body, escaping={"y"}) == reason
    assert found(body, escaping={"z"}, may_alias=lambda a, b: True) == reason
    assert found("y[i] = x[i]", escaping={"y"}) == LoopReductions()


def test_buffers_that_may_be_the_same():
    assert (
        found("y[i] = x[i]", may_alias=lambda a, b: True)
        == "iterations may touch the same elements of y"
    )


def test_loops_that_may_run_upwards():
    body = ir(
        """
        for i in range(n - 1, -1, -1):
            y[i] = x[i]
        for j in range(n - 1, -1, -1):
            y[j] = y[j + 1]
        for k in range(n - 1, -1, -1):
            if x[k] < 0.0:
                raise ValueError('negative')
        for l in range(n):
            y[l] = x[l]
        """
    )
    assert reversible_loops(body, same, set()) == [body[0]]
    assert reversible_loops(body[-1:], same, set()) == []


def test_linear_forms():
    n = L.Name("n")
    assert add_scaled({n: 2, None: 1}, {n: 1, None: 4}, -2) == {n: 0, None: -7}
    assert add_scaled(None, {}, 1) is add_scaled({}, None, 1) is None
