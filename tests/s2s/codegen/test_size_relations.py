"""Size guards in compiled code: what `Guard.holds` says, for all small sizes."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.codegen import size_relations
from s2s.codegen.size_guards import relation
from s2s.transforms.ir import symbolic_dims
from s2s.transforms.ir.symbolic_dims import Atom, Dim, Guard
from tests.s2s.codegen.machine_code import BIT, INT, emitted

X0, X1, N = (Dim.of(s) for s in ("x.0", "x.1", "n"))
ONE = Dim.of(1)


def checked(*guards: Guard) -> Any:
    """The test of guards over an array x of rank 2 and an integer n, as a function."""
    whose: Any = SimpleNamespace(
        params=[SimpleNamespace(name=n) for n in ("x", "n")], guards=list(guards)
    )
    found = [relation(guard, whose) for guard in guards]

    def write(builder: Any, *args: Any) -> Any:
        values = [SimpleNamespace(sizes=list(args[:2])), args[2]]
        total: Any = INT(0)
        for k, given in enumerate(found):
            assert given is not None
            holds = builder.zext(size_relations.holds(builder, *given, values), INT)
            total = builder.or_(total, builder.shl(holds, INT(k)))
        return total

    return emitted(INT, [INT] * 3, write)


def agree(guards: list[Guard], sizes: Any) -> None:
    run = checked(*guards)
    for x0, x1, n in sizes:
        found = run(x0, x1, n)
        for k, guard in enumerate(guards):
            expected = guard.holds({"x.0": x0, "x.1": x1, "n": n})
            assert bool(found >> k & 1) == expected, (str(guard), x0, x1, n)


SMALL = [*itertools.product((0, 1, 2, 7), (0, 1, 3), (-8, -2, -1, 0, 1, 2, 5))]


def test_polynomials() -> None:
    lefts = [X0, X0 * X1, X0 * 2 - X1 * 3 + 1, N * N - X0, Dim.of(0), N * X0 * X1 - 4]
    agree([Guard(k, a, Dim.of(b)) for k in ("equal", "differ") for a in lefts
           for b in (0, 4, X1, X0 * 2)], SMALL)  # fmt: skip


def test_quotients_round_down() -> None:
    """As in Python, for negative numbers, too."""
    parts = [op(N * 3 + 1, Dim.of(by)) for by in (1, 2, 5, 7)
             for op in (symbolic_dims.floordiv, symbolic_dims.remainder)]  # fmt: skip
    agree([Guard("equal", p, Dim.of(k)) for p in parts for k in (-4, -1, 0, 1, 2)], SMALL)


def test_lengths_of_slices() -> None:
    bounds = [None, N, N + 2, N * -1, Dim.of(0), Dim.of(-2), Dim.of(2)]
    lengths = [Atom.make(f"{a} {b}", "len", X0, a, b, ONE) for a in bounds for b in bounds]
    guards = [Guard("equal", d, Dim.of(k)) for d in lengths for k in range(4)]
    for k in range(0, len(guards), 60):
        agree(guards[k : k + 60], SMALL[::2])


def test_lengths_are_not_negative() -> None:
    agree([Guard("equal", symbolic_dims.max0(N - X0 + 1), Dim.of(k)) for k in range(5)], SMALL)


def test_amounts_of_work_do_not_overflow() -> None:
    """Products of sizes beyond 64 bits are large, not negative."""
    work = X0 * X1 * X0 * X1 * 7
    guards = [Guard("below", work, Dim.of(10**6)), Guard("reaches", work, Dim.of(10**6)),
              Guard("least", X0, Dim.of(3))]  # fmt: skip
    large = [(2**31, 2**31, 0), (2**40, 2**40, 0), (2**32, 2**32, 0), (2**20, 2**12, 1)]
    agree(guards, [*SMALL, *large, (377, 1, 0), (378, 1, 0), (1, 378, 0), (3, 0, 0)])


def test_both_sides_of_an_inequality_count() -> None:
    """A guard of which only the constant part of the right side were compared would hold for
    arrays that are too short: the kernel would access memory beyond them."""
    guards = [
        Guard(kind, left, right)
        for kind in ("least", "below")
        for left, right in ((X0, X1 + 1), (X0 * 2, X1 * 3 + N), (X0, symbolic_dims.max0(N - 1)),
                            (X0 + X1 * X1, N * N + 2),
                            (X0 + 3, symbolic_dims.floordiv(N, Dim.of(2))))
    ]  # fmt: skip
    agree(guards, SMALL)


def test_nothing_overflows() -> None:
    products = [N * N, N * N * X0, X0 * X1, X0 * X1 * N * N, N * 3, N + 1, N * -1]
    guards = [Guard(kind, p, q) for kind in ("equal", "differ", "least") for p in products
              for q in (X1, X1 + N, X0 * X1 * 2, symbolic_dims.max0(N + X0))]  # fmt: skip
    most = 2**63 - 1
    values = [(0, 0, 2**32), (0, 2**32, 2**32), (2**62, 4, 0), (2**62, 2, -(2**63)),
              (most, 1, most),
              (most, most, most), (1, most, -(2**63)), (0, 0, most), (0, 0, -(2**63)),
              (2**31, 2**33, 2**62)]  # fmt: skip
    for k in range(0, len(guards), 60):
        agree(guards[k : k + 60], values)


@pytest.mark.parametrize("n", [2**53 + 1, 2**62, -(2**63), 2**63 - 1])
def test_large_sizes_are_compared_exactly(n: int) -> None:
    run = checked(Guard("equal", N, X0), Guard("equal", N, X0 + 1), Guard("differ", N, X0))
    assert run(n, 0, n) == 0b001
    if n > -(2**63):
        assert run(n - 1, 0, n) == 0b110


def test_truth_is_one_bit() -> None:
    run = emitted(
        BIT,
        [INT],
        lambda b, n: size_relations.holds(b, "==", (0, ((1, ((0, None),)),)), (3, ()), [n]),
    )
    assert run(3) is True and run(4) is False


def pairs(x: Any, y: Any) -> Any:
    s = 0.0
    for i in range(y.shape[0]):
        s += np.sum(x[i : i + 2] ** 2) * y[i]
    return s


@pytest.mark.parametrize("backend", ["numba", "native"])
def test_a_kernel_does_not_run_on_arrays_that_are_too_short(backend: str) -> None:
    """The first call is compiled for slices that lie within x, which depends on both sizes."""
    function = s2s.value_and_grad(pairs, backend=backend)
    y, block = np.ones(5), np.arange(1.0, 31.0)
    assert function(block[:10], y)[0] == 145.0
    for _ in range(3):
        value, x_bar = function(block[:3], y)
        assert value == 27.0
        np.testing.assert_array_equal(x_bar, [2.0, 8.0, 12.0])
