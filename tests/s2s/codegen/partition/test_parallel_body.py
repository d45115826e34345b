"""Parallel loops: the iterations share a record, and the first error is raised."""

from __future__ import annotations

import ast
import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from s2s import kernels
from s2s.codegen import llvm_passes
from s2s.codegen import value_types as types
from s2s.codegen.kernel_module import KERNEL, optimised_module
from s2s.codegen.partition.outline_nests import Plan
from s2s.codegen.partition.parallel_body import CODES, can_outline_parallel
from s2s.runtime.jit_link import PARALLEL_FOR
from tests.s2s.aot.programs import lowered_function
from tests.s2s.codegen import machine_code
from tests.s2s.codegen.machine_code import VECTOR, KernelError, kernel_source

TEXT = """
def f(x, y, n):
    for c in rt.prange(n):
        s = 0.0
        w = np.empty((4,), np.float64)
        for i in range(c * 10, c * 10 + 10):
            w[0] = x[i]
            s = s + w[0]
        if s > 1000.0:
            raise ValueError("large")
        if s < 0.0:
            raise IndexError("negative")
        y[c] = s
    return (n,)
"""


@pytest.fixture(scope="module")
def run() -> Any:
    """The kernel, whose thread pool is this function."""
    seen: list[int] = []

    def launch(body: int, record: int, count: int) -> None:
        seen.append(count)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(body)
        with ThreadPoolExecutor(4) as pool:
            # The last iterations begin first.
            list(pool.map(lambda i: function(record, i), reversed(range(count))))

    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    callback = kind(launch)
    source = kernel_source(TEXT, VECTOR, VECTOR, types.int64)
    final = optimised_module(source, [1])
    assert PARALLEL_FOR in (llvm_passes.undefined_symbols(final) or ())
    given = {PARALLEL_FOR: ctypes.cast(callback, ctypes.c_void_p).value or 0}
    code = machine_code.jit_link.link(llvm_passes.object_code(final), (KERNEL,), given)[KERNEL]
    pointer, size = ctypes.c_void_p, ctypes.c_int64
    function = ctypes.CFUNCTYPE(
        ctypes.c_int32, pointer, pointer, pointer, size, pointer, size, size
    )(code)

    def call(x: Any, y: Any, n: int) -> None:
        error, result = ctypes.c_void_p(), ctypes.c_int64()
        status = function(ctypes.addressof(result), ctypes.addressof(error), x.ctypes.data, len(x),
                          y.ctypes.data, len(y), n)  # fmt: skip
        if status:
            raise KernelError(*machine_code._told(error.value))

    call.seen, call.callback = seen, callback  # type: ignore[attr-defined]
    return call


def test_each_iteration_runs_once(run) -> None:
    x = np.arange(640.0) / 1000
    for n in (0, 1, 5, kernels.MAX_CHUNKS):
        y = np.full(kernels.MAX_CHUNKS, -1.0)
        run(x, y, n)
        np.testing.assert_allclose(y[:n], x[: 10 * n].reshape(n, 10).sum(axis=1), rtol=1e-14)
        assert (y[n:] == -1.0).all() and run.seen[-1] == n


def test_the_first_error_is_raised_and_the_others_end(run) -> None:
    x = np.zeros(640)
    x[30], x[50], x[600] = 5000.0, -1.0, 7000.0
    for first, error in ((3, (ValueError, ("large",))), (5, (IndexError, ("negative",)))):
        y = np.full(kernels.MAX_CHUNKS, -1.0)
        with pytest.raises(KernelError) as raised:
            run(x, y, kernels.MAX_CHUNKS)
        assert raised.value.args == error
        assert set(np.flatnonzero(y == -1.0)) >= {first}
        assert (y == 0.0).sum() >= kernels.MAX_CHUNKS - 3
        x[30] = 0.0


def test_there_is_a_code_for_each_chunk() -> None:
    assert CODES.count == kernels.MAX_CHUNKS


def share(body: str) -> bool:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    text = f"def f(x, y, n):\n    for i in rt.prange(n):\n{lines}    return (n,)\n"
    function, known = lowered_function(text, VECTOR, VECTOR, types.int64)
    plan = Plan(function, known)
    caller: Any = SimpleNamespace(private=plan.private)
    (loop,) = [s for s in function.body if isinstance(s, ast.For)]
    return can_outline_parallel(caller, plan, loop)


def test_bodies_that_cannot_be_shared() -> None:
    assert share("y[i] = x[i]") and share("w = np.empty((64,), np.float64)\nw[0] = x[i]")
    assert not share("w = np.empty((65,), np.float64)\nw[0] = x[i]")
    assert not share("w = np.empty((n,), np.float64)\nw[0] = x[i]")
    assert not share("w = x\ny[i] = w[i]")
    assert not share("if x[i] > 0.0:\n    raise rt.Failure(0, i)")
    assert threading.active_count() < 50
