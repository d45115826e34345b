"""What runs on the host, in grids, and on one thread; order of launches."""

from __future__ import annotations

import numpy as np
import pytest

from s2s import UnsupportedError
from tests.cuda.compiling import compiled, emitted, host_function, kernel_bodies

VECTOR = {"x": "float64[:]", "y": "float64[:]"}


def kinds(source: str, **types: str) -> list[str]:
    return [v.kind for v in emitted(source, **types)[1].verdicts]


def launches(text: str) -> list[str]:
    """The kernels and products of a host function in order."""
    lines = [line.strip() for line in host_function(text).splitlines()]
    return [line.split("(")[1].split(",")[0] for line in lines if line.startswith("dev.")]


def test_statements_of_one_thread_are_one_kernel():
    text, _ = emitted(
        "def f(x, y):\n    x[0] = 1.0\n    s = x[1]\n    y[0] = s\n    return ()\n", **VECTOR
    )
    (kernel,) = kernel_bodies(text)
    assert "s = x[1]" in kernel and "slot" not in kernel


def test_a_store_before_a_grid_that_reads_it_is_launched_first():
    source = """
def f(x, y, n):
    x[0] = 1.0
    for i in range(n):
        {store}
    return ()
"""
    before, _ = emitted(source.format(store="y[i] = x[i]"), **VECTOR)
    assert "x[0] = np.float64(1.0)" in kernel_bodies(before)[0]
    after, _ = emitted(source.format(store="y[i] = 2.0"), **VECTOR)
    assert "x[0] = np.float64(1.0)" in kernel_bodies(after)[1]


def test_a_check_precedes_what_relies_on_it():
    text, _ = emitted(
        """
def f(x, y, n):
    if x[0] < 0.0:
        raise ValueError("negative")
    for i in range(n):
        y[i] = 1.0
    return ()
""",
        **VECTOR,
    )
    assert "atomic.cas" in kernel_bodies(text)[0]


def test_a_scalar_argument_is_passed_before_the_host_changes_it():
    text, _ = emitted(
        """
def f(x, y, n):
    k = n
    x[k] = 1.0
    k = n + 1
    y[k] = 2.0
    return ()
""",
        **VECTOR,
    )
    lines = [line.strip().split("(")[0] for line in host_function(text).splitlines()]
    assert lines == ["n = np.int64", "k = n", "dev.launch", "k = n + 1", "dev.launch", "return "]


def test_a_recurrence_runs_on_one_thread():
    assert kinds(
        "def f(x, n):\n    for i in range(n):\n        x[i + 1] = x[i]\n    return ()\n", **VECTOR
    ) == ["thread"]


def test_a_long_recurrence_is_refused_when_it_is_called():
    text, _ = emitted(
        "def f(x, n):\n    for i in range(n):\n        x[i + 1] = x[i]\n    return ()\n", **VECTOR
    )
    lines = [line.strip() for line in host_function(text).splitlines()]
    test, error, launch = lines[1:4]
    assert test.startswith("if n * ") and test.endswith("> 1048576:")
    assert error.startswith('raise NotImplementedError("this loop runs on one thread')
    assert launch.startswith("dev.launch(f_k1, 1, 1")


def test_a_loop_over_time_runs_on_the_host():
    text, program = emitted(
        """
def f(x, y, n, steps):
    for t in range(steps):
        for i in range(n):
            y[i] = x[i] + x[i + 1]
        for i in range(n):
            x[i] = y[i]
    return ()
""",
        **VECTOR,
    )
    assert [v.kind for v in program.verdicts] == ["host", "grid", "grid"]
    assert "for t in range(steps):" in text


def test_checks_in_a_sum_leave_no_barrier_behind_a_return():
    text, _ = emitted(
        """
def f(x, n):
    s = 0.0
    for i in range(n):
        if x[i] < 0.0:
            raise ValueError("negative")
        s = s + x[i]
    return (s,)
""",
        **VECTOR,
    )
    grid, _ = kernel_bodies(text)
    assert "syncthreads" not in grid and "s_parts[thread] = s_part" in grid
    assert "s_parts = dev.empty((blocks * BLOCK,), np.float64)" in text


def test_private_memory_of_threads():
    text, _ = emitted(
        """
def f(x, y, n, m):
    for i in range(n):
        t = np.empty((m,), np.float64)
        for j in range(m):
            t[j] = x[i + j]
        for j in range(m):
            y[i] += t[m - 1 - j] * t[j]
    return ()
""",
        **VECTOR,
    )
    assert "t_parts = dev.empty((blocks * BLOCK, m if m > 0 else 0), np.float64)" in text
    assert "t_parts[thread * t_parts_n1 + j] = x[i + j]" in text


def test_a_maximum_starts_from_its_value():
    text, _ = emitted(
        """
def f(x, n):
    s = x[0]
    for i in range(1, n):
        s = x[i] if x[i] > s or x[i] != x[i] else s
    return (s,)
""",
        **VECTOR,
    )
    grid, last = kernel_bodies(text)
    assert "    s = x[0]\n" in grid and "s_part = s" in grid
    assert "if other > shared[cuda.threadIdx.x] or other != other:" in grid
    # Each partial result includes the value before.
    assert "    s = s_parts[0]\n    s_part_1 = s\n" in last
    assert "    for k in range(1 + cuda.threadIdx.x, blocks, cuda.blockDim.x):" in last


def test_a_grid_computes_the_scalars_that_it_needs():
    """Every block of the second grid adds up the results of the first; one thread stores the
    sum."""
    text, _ = emitted(
        """
def f(x, y, n):
    s = 0.0
    for i in range(n):
        s = s + x[i]
    t = s * s
    for i in range(n):
        y[i] = x[i] / t
    return (t,)
""",
        **VECTOR,
    )
    first, second = kernel_bodies(text)
    assert "s_parts[cuda.blockIdx.x]" in first
    assert "    for k in range(cuda.threadIdx.x, blocks, cuda.blockDim.x):" in second
    assert "    s = s + whole_float64[0]\n    cuda.syncthreads()\n    t = s * s\n" in second
    assert "    if thread == 0:\n        t_slot[0] = t\n" in second and "s_slot" not in text


@pytest.mark.parametrize("op", ["s + x[i]", "x[i] if x[i] > s or x[i] != x[i] else s"])
def test_a_reduction_that_is_only_returned_is_stored(op):
    text, _ = emitted(
        f"def f(x, n):\n    s = 0.0\n    for i in range(n):\n        s = {op}\n    return (s,)\n",
        **VECTOR,
    )
    assert kernel_bodies(text)[-1].endswith("    s_slot[0] = s")


def test_a_loop_controlled_by_the_device_is_refused_at_its_line():
    def relax(x):
        while np.max(np.abs(x)) > 0.5:
            x = 0.5 * (x + np.roll(x, 1))
        return np.sum(x)

    with pytest.raises(UnsupportedError, match="control depends on values on the device") as error:
        compiled(relax, np.ones(50), mode="primal")
    assert error.value.line == relax.__code__.co_firstlineno + 1
    assert "np.where" in error.value.advice
