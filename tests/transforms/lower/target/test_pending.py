"""Statements of one thread, and of one block."""

from __future__ import annotations

from tests.cuda.compiling import emitted, kernel_bodies

VECTOR = {"x": "float64[:]", "y": "float64[:]"}


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
