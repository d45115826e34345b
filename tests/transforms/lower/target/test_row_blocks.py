"""A block of threads for each row: phases, barriers, and which loops are fused for it."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.target.row_blocks import keeps_parallelism
from tests.cuda.compiling import emitted, kernel_bodies, same_name
from tests.transforms.lower.loop_ir_text import ir

MATRIX = {"x": "float64[:, :]", "y": "float64[:, :]", "n": "int64", "m": "int64"}


def kernel(body: str) -> str:
    """The first kernel of a row loop."""
    lines = "\n".join("        " + line for line in body.strip("\n").splitlines())
    source = f"def f(x, y, n, m):\n    for i in range(n):\n{lines}\n    return ()\n"
    return kernel_bodies(emitted(source, **MATRIX)[0])[0]


def test_softmax_of_rows():
    found = kernel("""
s = 0.0
for j in range(m):
    s = s + x[i, j]
for j in range(m):
    y[i, j] = x[i, j] / s
""")
    assert found == (
        "def f_k1(err, n, m, x_n1, x, y_n1, y):\n"
        "    shared_float64 = cuda.shared.array(BLOCK, np.float64)\n"
        "    for i in range(cuda.blockIdx.x, n, cuda.gridDim.x):\n"
        "        s = np.float64(0.0)\n"
        "        s_part = np.float64(0.0)\n"
        "        for j in range(cuda.threadIdx.x, m, cuda.blockDim.x):\n"
        "            s_part = s_part + x[i * x_n1 + j]\n"
        "        shared_float64[cuda.threadIdx.x] = s_part\n"
        "        cuda.syncthreads()\n"
        "        width = BLOCK // 2\n"
        "        while width > 0:\n"
        "            if cuda.threadIdx.x < width:\n"
        "                shared_float64[cuda.threadIdx.x] = shared_float64[cuda.threadIdx.x] + "
        "shared_float64[cuda.threadIdx.x + width]\n"
        "            cuda.syncthreads()\n"
        "            width = width // 2\n"
        "        s = s + shared_float64[0]\n"
        "        cuda.syncthreads()\n"
        "        for j in range(cuda.threadIdx.x, m, cuda.blockDim.x):\n"
        "            y[i * y_n1 + j] = x[i * x_n1 + j] / s\n"
        "        cuda.syncthreads()"
    )


def test_one_thread_stores_what_is_outside_of_the_loops():
    found = kernel("""
t = x[i, 0]
x[i, 0] = 2.0 * t
for j in range(m):
    y[i, j] = x[i, 0]
""")
    assert (
        "        t = x[i * x_n1]\n"
        "        cuda.syncthreads()\n"  # all threads have loaded it
        "        if cuda.threadIdx.x == 0:\n"
        "            x[i * x_n1] = 2.0 * t\n"
        "        cuda.syncthreads()\n"  # it is stored before it is loaded
        "        for j in "
    ) in found


def test_loops_backwards():
    found = kernel("""
for j in range(m - 1, -1, -1):
    y[i, j] = x[i, j]
y[i, 0] = 0.0
""")
    assert "for j in range(m - 1 + -cuda.threadIdx.x, -1, -cuda.blockDim.x):" in found


@pytest.mark.parametrize(
    "body",
    [
        # A recurrence along the row.
        "for j in range(m):\n    y[i, j + 1] = y[i, j]\ny[i, 0] = 1.0",
        # A check may end a thread.
        "for j in range(m):\n    if x[i, j] < 0.0:\n        raise ValueError('')\n"
        "    y[i, j] = 1.0",
        # A branch.
        "if x[i, 0] > 0.0:\n    for j in range(m):\n        y[i, j] = 1.0",
        # Few iterations.
        "for j in range(3):\n    y[i, j] = 1.0\ny[i, 0] = 2.0",
    ],
)
def test_other_rows_are_left_to_a_thread(body):
    assert "range(thread, " in kernel(body) and "syncthreads" not in kernel(body)


def test_sums_over_rows_and_columns():
    text, program = emitted(
        """
def f(x, n, m):
    s = 0.0
    for i in range(n):
        t = 0.0
        for j in range(m):
            t = t + x[i, j]
        s = s + t * t
    return (s,)
""",
        x="float64[:, :]",
    )
    rows, last = kernel_bodies(text)
    assert "    s_part = np.float64(0.0)\n    for i in range(cuda.blockIdx.x, n" in rows
    assert rows.endswith("    if cuda.threadIdx.x == 0:\n        s_parts[cuda.blockIdx.x] = s_part")
    assert "blocks = dev.blocks(n, 1)" in text and "s = s + whole_float64[0]" in last
    assert program.stats.atomics == 0


FUSED = [
    # A map over a matrix and a sum of its rows: a block shares a row.
    (
        "for j in range(m):\n y[i, j] = x[i, j]",
        "s = 0.0\nfor j in range(m):\n s = s + y[i, j]",
        True,
    ),
    # The sum of columns would become atomic.
    ("for j in range(m):\n y[i, j] = x[i, j]", "for j in range(m):\n b[j] += y[i, j]", False),
    # One thread would run a recurrence along each row.
    ("for j in range(m):\n y[i, j] = x[i, j]", "for j in range(m):\n z[i, j + 1] = z[i, j]", False),
    ("b[i] = 1.0", "c[i] = b[i]", True),
]


@pytest.mark.parametrize(("first", "second", "expected"), FUSED)
def test_which_loops_are_fused(first, second, expected):
    def loop(*bodies: str) -> L.Loop:
        lines = "\n".join(f"    {line}" for b in bodies for line in b.splitlines())
        (found,) = ir(f"for i in range(n):\n{lines}", x="float64[:, :]", b="float64[:]")
        assert isinstance(found, L.Loop)
        return found

    accepts = keeps_parallelism(same_name)
    assert accepts(loop(first), loop(second), loop(first, second)) is expected
