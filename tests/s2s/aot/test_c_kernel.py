"""Kernels over a workspace: slots, pools and the heap give what Python computes, within bounds."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from s2s import kernels
from s2s.aot import c_kernel, status_codes
from s2s.aot.callees import Callees
from s2s.codegen import value_types as types
from s2s.codegen.llvm_utils import INT
from s2s.codegen.statements import ErrorCodes
from s2s.codegen.type_lowering import Context
from s2s.errors import S2SValueError
from tests.s2s.aot.programs import aligned, lowered_function
from tests.s2s.codegen.machine_code import POINTER, linked

VECTOR = types.Array(types.float64, 1, "C")


class Phrases:
    called: list[Any] = []

    def failure(self, site: int) -> tuple[str, tuple[str, ...]]:
        return "ValueError", (f"site {site}",)

    def place_of(self, stmt: Any) -> str:
        return ""


def compiled(text: str, conditions: tuple[str, ...] = (), kept: Any = (-1,), **options: Any) -> Any:
    """The kernel of f(x, n) as run(x, n, bytes) -> (status, results, workspace)."""
    from llvmlite import ir

    module = ir.Module()
    kinds = (VECTOR, types.int64)
    function, known = lowered_function(text, *kinds)
    failures = ErrorCodes(status_codes.FIRST_PROGRAM_ERROR)
    context = Context(lambda: pytest.fail("Numba is not needed"))
    made = c_kernel.emit_kernel(
        context, module, "f", function, known, kept, conditions, failures, Phrases(), None,
        options.get("trips"), Callees({}, known.space), [0],
    )  # fmt: skip
    places = [k for k in kept if k is not None]
    kinds_ = [POINTER, POINTER, POINTER, INT, INT, *[POINTER] * len(places), POINTER, INT]
    function = linked(module)(made.function.name, ir.IntType(32), *kinds_)

    def run(x: Any, n: int, size: int) -> tuple[int, Any, Any]:
        code, unused = ctypes.c_int32(-1), ctypes.c_void_p()
        outs = [np.full(64, np.nan) for _ in places]
        workspace = aligned(size, fill=0x5A)
        status = function(
            ctypes.addressof(code), ctypes.addressof(unused), x.ctypes.data, len(x), n,
            *(o.ctypes.data for o in outs), workspace.ctypes.data, size,
        )  # fmt: skip
        assert status == 0
        assert (workspace[size:] == 0x5A).all()
        return code.value, outs, workspace

    run.failures, run.kernel = failures, made  # type: ignore[attr-defined]
    return run


def test_slots() -> None:
    run = compiled(
        """
        def f(x, n):
            a = np.empty((x.shape[0],), np.float64)
            for i in range(x.shape[0]):
                a[i] = 2.0 * x[i]
            b = np.empty((n,), np.float64)
            for i in range(n):
                b[i] = a[i % x.shape[0]] + np.float64(i)
            return (b,)
        """
    )
    x = np.arange(1.0, 6.0)
    status, (found,), _ = run(x, 7, 64 + 64 + 64)
    assert status == 0
    np.testing.assert_array_equal(found[:7], [2.0 * x[i % 5] + i for i in range(7)])
    assert np.isnan(found[7:]).all()
    for size in range(0, 192, 16):
        status, _, workspace = run(x, 7, size)
        assert status == status_codes.WORKSPACE
        if size >= 64:
            assert workspace[:8].view(np.int64)[0] == 192
    assert run(x, 2**62, 4096)[0] == status_codes.WORKSPACE
    assert run(x, 0, 4096)[0] == 0  # lowered source checks that sizes are not negative


TURNS = """
    def f(x, n):
        u = x
        w = x
        for i in range(n):
            v = np.empty((x.shape[0],), np.float64)
            for k in range(x.shape[0]):
                v[k] = u[k] + 0.5 * w[x.shape[0] - 1 - k]
            w = u
            u = v
        return (u, w)
"""


def turns(x: Any, n: int) -> tuple[Any, Any]:
    u = w = x
    for _ in range(n):
        u, w = u + 0.5 * w[::-1], u
    return u, w


def test_pools() -> None:
    """For any number of iterations the blocks are enough, and no two live arrays share one."""
    run = compiled(TURNS, kept=(-1, -1))
    x = np.arange(1.0, 10.0)
    for n in (0, 1, 2, 3, 50):
        status, found, _ = run(x, n, 4096)
        assert status == 0
        for a, b in zip(found, turns(x, n)):
            np.testing.assert_array_equal(a[:9], b)


GROWS = """
    def f(x, n):
        a = np.empty((0,), np.float64)
        used = np.int64(0)
        while True:
            if used > n:
                break
            a = rt.reserve(a, used, 1)
            a[used] = np.float64(used) * 1.5
            used = used + 1
        s = np.float64(0.0)
        for i in range(used):
            s = s + a[i]
        return (s,)
"""


def test_lists_in_the_heap() -> None:
    """The size that is told grows until it is enough."""
    run = compiled(GROWS)
    x, sizes = np.zeros(1), []
    size = 64
    while True:
        status, (found,), workspace = run(x, 1000, size)
        if status == 0:
            break
        assert status == status_codes.WORKSPACE
        more = int(workspace[:8].view(np.int64)[0])
        assert more > size
        size = more
        sizes.append(size)
    assert found[0] == sum(i * 1.5 for i in range(1001)) and 2 <= len(sizes) < 12


@pytest.mark.parametrize("more", [2**40, 2**60 + 1, 2**62, 2**63 - 9, 2**63 - 1])
def test_a_capacity_that_overflows_does_not_fit(more) -> None:
    run = compiled(
        """
        def f(x, n):
            a = np.empty((1,), np.float64)
            a = rt.reserve(a, 1, n)
            a[0] = x[0]
            return (a[0],)
        """
    )
    assert run(np.ones(1), 3, 4096)[0] == 0
    assert run(np.ones(1), more, 1 << 16)[0] == status_codes.WORKSPACE
    assert kernels.MAX_CAPACITY >= 2**48


def test_errors_and_conditions_have_statuses() -> None:
    run = compiled(
        """
        def f(x, n):
            if n > 5:
                raise ValueError("large")
            if n < 0:
                raise rt.Failure(4, n)
            return (x[0],)
        """,
        conditions=("x.shape[0] >= 2",),
    )
    x = np.ones(3)
    assert run(x, 0, 64)[0] == 0
    large, small = run(x, 6, 64)[0], run(x, -1, 64)[0]
    known = {code: told for told, code in run.failures.known.items()}
    assert known == {large: (ValueError, ("large",)), small: ("ValueError", ("site 4",))}
    assert run(x[:1], 0, 64)[0] == status_codes.SIZES
    assert run.kernel.backed_up == []


def test_a_result_must_fill_its_slot_of_the_state() -> None:
    run = compiled("def f(x, n):\n    return (x,)", kept=(3,))
    status, (found,), _ = run(np.arange(3.0), 0, 64)
    assert status == 0 and found[:3].tolist() == [0.0, 1.0, 2.0]
    for count in (2, 4, 0):
        status, (found,), _ = run(np.arange(float(count)), 0, 64)
        assert status == status_codes.SIZES and np.isnan(found).all()


def test_a_program_that_always_fails_is_refused() -> None:
    with pytest.raises(S2SValueError, match="always fails: ValueError: never"):
        compiled("def f(x, n):\n    raise ValueError('never')\n    return (x,)")
