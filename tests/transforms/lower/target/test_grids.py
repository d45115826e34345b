"""Grids and the memory of their threads."""

from __future__ import annotations

from tests.cuda.compiling import emitted

VECTOR = {"x": "float64[:]", "y": "float64[:]"}


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


def test_a_block_tests_the_flag_together_if_a_thread_may_leave():
    """A row loop with a check: all threads find the same value of its condition."""
    text, _ = emitted(
        """
def f(x, y, n, m):
    for i in range(n):
        s = 0.0
        for j in range(m):
            s = s + y[j]
        if s < 0.0:
            raise ValueError("negative")
        x[i] = s
    return ()
""",
        **VECTOR,
    )
    (kernel,) = [k for k in text.split("@cuda.jit\n") if k.startswith("def f_k1")]
    lines = kernel.splitlines()
    assert lines[1] == "    flag = cuda.shared.array(1, np.int64)"
    assert lines[5] == "    if flag[0] != 0:" and "if err[0] != 0" not in kernel
