"""Emitted modules written by hand, as docs/design/cuda.md defines them.

They test the run time without the compiler, and are the templates that mutants are made of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

HEADER = """import math

import numpy as np
from numba import cuda
from numba.cuda import libdevice

from s2s import kernels as rt

BLOCK = 128
"""


@dataclass
class Kernel:
    name: str
    params: tuple[tuple[str, str], ...]
    kind: str = "grid"
    line: int = 0
    atomics: int = 0


@dataclass
class Program:
    """What the run time reads of the compiler's `CudaProgram`."""

    kernels: tuple[Kernel, ...]
    results: tuple[Any, ...] = ()
    params: tuple[Any, ...] = ()


@dataclass
class Text:
    """An emitted module and its description."""

    lowered: str
    entry: str
    cuda: Program
    failures: list[Any] = field(default_factory=list)


def kernel(name: str, *params: str, **about: Any) -> Kernel:
    """A kernel from parameters such as `"x: float64*"`."""
    pairs = tuple((n, t) for n, t in (p.split(": ") for p in params))
    return Kernel(name, pairs, **about)


REDUCTION = Text(
    HEADER
    + '''

@cuda.jit
def loss_k1(err, n, x, y, parts):
    if err[0] != 0:
        return
    shared = cuda.shared.array(BLOCK, np.float64)
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    total = 0.0
    # L4: s += x[i] ** 2
    for cell in range(thread, n, cuda.blockDim.x * cuda.gridDim.x):
        y[cell] = 2.0 * x[cell]
        total += x[cell] * x[cell]
    shared[cuda.threadIdx.x] = total
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if cuda.threadIdx.x < width:
            shared[cuda.threadIdx.x] = shared[cuda.threadIdx.x] + shared[cuda.threadIdx.x + width]
        cuda.syncthreads()
        width = width // 2
    if cuda.threadIdx.x == 0:
        parts[cuda.blockIdx.x] = shared[0]


@cuda.jit
def loss_k2(err, blocks, parts, s):
    if err[0] != 0:
        return
    total = s[0]
    for block in range(blocks):
        total += parts[block]
    s[0] = total


FAILURES = ()


def loss(dev, x):
    err, err_values = dev.begin(FAILURES)
    n = x.shape[0]
    y = dev.empty((n,), np.float64)
    s = dev.scalar(0.0, np.float64)
    blocks = dev.blocks(n, BLOCK)
    parts = dev.empty((blocks,), np.float64)
    dev.launch(loss_k1, blocks, BLOCK, err, n, x, y, parts)
    dev.launch(loss_k2, 1, 1, err, blocks, parts, s)
    return s, y
''',
    "loss",
    Program(
        (
            kernel(
                "loss_k1", "err: int64*", "n: int64", "x: float64*", "y: float64*",
                "parts: float64*", line=4,
            ),
            kernel(
                "loss_k2", "err: int64*", "blocks: int64", "parts: float64*", "s: float64*",
                kind="thread", line=4,
            ),
        )
    ),
)  # fmt: skip

GEMM_BODY = """

@cuda.jit
def gemm_float64(
    err, swap_a, swap_b, m, n, k, alpha, a, a_at, b, b_at, beta, c, c_at, batch, a_step, b_step,
    c_step
):
    if err[0] != 0:
        return
    tile_a = cuda.shared.array(272, np.float64)
    tile_b = cuda.shared.array(272, np.float64)
    row = cuda.threadIdx.x // 16
    column = cuda.threadIdx.x % 16
    across = (n + 15) // 16
    tiles = ((m + 15) // 16) * across
    item = cuda.blockIdx.x // tiles
    tile = cuda.blockIdx.x % tiles
    i = (tile // across) * 16 + row
    j = (tile % across) * 16 + column
    first_a = a_at + item * a_step
    first_b = b_at + item * b_step
    total = 0.0
    for p in range(0, k, 16):
        value = 0.0
        if i < m and p + column < k:
            if swap_a:
                value = a[first_a + (p + column) * m + i]
            else:
                value = a[first_a + i * k + p + column]
        tile_a[row * 17 + column] = value
        value = 0.0
        if p + row < k and j < n:
            if swap_b:
                value = b[first_b + j * k + p + row]
            else:
                value = b[first_b + (p + row) * n + j]
        tile_b[row * 17 + column] = value
        cuda.syncthreads()
        for q in range(16):
            total = total + tile_a[row * 17 + q] * tile_b[q * 17 + column]
        cuda.syncthreads()
    if i < m and j < n:
        place = c_at + item * c_step + i * n + j
        if beta == 0.0:
            c[place] = alpha * total
        else:
            c[place] = alpha * total + beta * c[place]
"""
_GEMM_KERNEL = kernel(
    "gemm_float64", "err: int64*", "swap_a: bool", "swap_b: bool", "m: int64", "n: int64",
    "k: int64", "alpha: float64", "a: float64*", "a_at: int64", "b: float64*", "b_at: int64",
    "beta: float64", "c: float64*", "c_at: int64", "batch: int64", "a_step: int64",
    "b_step: int64", "c_step: int64", kind="gemm",
)  # fmt: skip
GEMM = Text(
    HEADER
    + GEMM_BODY
    + """

FAILURES = ()


def product(dev, swap_a, swap_b, alpha, a, b, beta, c):
    err, err_values = dev.begin(FAILURES)
    m, n = c.shape
    k = a.shape[0] if swap_a else a.shape[1]
    dev.gemm(gemm_float64, swap_a, swap_b, m, n, k, alpha, a, 0, b, 0, beta, c, 0)
    return (c,)


def products(dev, a, b, c):
    err, err_values = dev.begin(FAILURES)
    batch, m, n = c.shape
    k = a.shape[2]
    dev.gemm_batched(
        gemm_float64, False, False, m, n, k, 1.0, a, 0, b, 0, 0.0, c, 0, batch, m * k, k * n, m * n
    )
    return (c,)
""",
    "product",
    Program((_GEMM_KERNEL,)),
)

SOFTMAX = Text(
    HEADER
    + '''

@cuda.jit
def softmax_k1(err, rows, n, x, y):
    if err[0] != 0:
        return
    shared = cuda.shared.array(BLOCK, np.float64)
    lane = cuda.threadIdx.x
    for row in range(cuda.blockIdx.x, rows, cuda.gridDim.x):
        largest = -math.inf
        for j in range(lane, n, cuda.blockDim.x):
            value = x[row * n + j]
            if value > largest or value != value:
                largest = value
        shared[lane] = largest
        cuda.syncthreads()
        width = BLOCK // 2
        while width > 0:
            if lane < width:
                value = shared[lane + width]
                if value > shared[lane] or value != value:
                    shared[lane] = value
            cuda.syncthreads()
            width = width // 2
        largest = shared[0]
        cuda.syncthreads()
        total = 0.0
        for j in range(lane, n, cuda.blockDim.x):
            total = total + math.exp(x[row * n + j] - largest)
        shared[lane] = total
        cuda.syncthreads()
        width = BLOCK // 2
        while width > 0:
            if lane < width:
                shared[lane] = shared[lane] + shared[lane + width]
            cuda.syncthreads()
            width = width // 2
        total = shared[0]
        for j in range(lane, n, cuda.blockDim.x):
            y[row * n + j] = math.exp(x[row * n + j] - largest) / total
        cuda.syncthreads()


FAILURES = ()


def softmax(dev, x):
    err, err_values = dev.begin(FAILURES)
    rows, n = x.shape
    y = dev.empty((rows, n), np.float64)
    if rows > 0:
        dev.launch(softmax_k1, dev.blocks(rows, 2), BLOCK, err, rows, n, x, y)
    return (y,)
''',
    "softmax",
    Program(
        (
            kernel(
                "softmax_k1", "err: int64*", "rows: int64", "n: int64", "x: float64*",
                "y: float64*", line=3,
            ),
        )
    ),
)  # fmt: skip

SCATTER = Text(
    HEADER
    + '''

@cuda.jit(device=True, inline="always")
def squared(v):
    return v * v


@cuda.jit
def scatter_k1(err, m, y):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for cell in range(thread, m, cuda.blockDim.x * cuda.gridDim.x):
        y[cell] = 0.0


@cuda.jit
def scatter_k2(err, err_values, n, m, idx, x, flags, y):
    if err[0] != 0:
        return
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    # L7: y[idx[i]] += x[i] ** 2
    for cell in range(thread, n, cuda.blockDim.x * cuda.gridDim.x):
        i = idx[cell]
        if i < 0 or i >= m:
            if cuda.atomic.cas(err, 0, 0, 1) == 0:
                err[1] = i
                err[2] = m
                err_values[2] = x[cell]
        elif flags[cell] != 0:
            cuda.atomic.add(y, i, squared(x[cell]))


FAILURES = (("", "", 0, ("int64", "int64", "float64")),)


def scatter(dev, idx, x, flags, m):
    err, err_values = dev.begin(FAILURES)
    n = idx.shape[0]
    y = dev.empty((m,), np.float64)
    if m > 0:
        dev.launch(scatter_k1, dev.blocks(m, BLOCK), BLOCK, err, m, y)
    if n > 0:
        dev.launch(scatter_k2, dev.blocks(n, BLOCK), BLOCK, err, err_values, n, m, idx, x, flags, y)
    return (y,)
''',
    "scatter",
    Program(
        (
            kernel("scatter_k1", "err: int64*", "m: int64", "y: float64*"),
            kernel(
                "scatter_k2", "err: int64*", "err_values: float64*", "n: int64", "m: int64",
                "idx: int64*", "x: float64*", "flags: bool*", "y: float64*", line=7, atomics=1,
            ),
        )
    ),
    failures=[
        (
            "IndexError",
            ("index ", None, " is out of bounds for size ", None, " at x = ", None,
             " (model.py:7: y[idx[i]] += x[i] ** 2)"),
        )
    ],
)  # fmt: skip

ALL = {"reduction": REDUCTION, "gemm": GEMM, "softmax": SOFTMAX, "scatter": SCATTER}

# Each thread has a row of a scratch buffer; a check in a kernel with barriers.
SCRATCH = Text(
    HEADER
    + '''

@cuda.jit
def scratch_k1(err, n, limit, x, scratch, parts):
    if err[0] != 0:
        return
    shared = cuda.shared.array(BLOCK, np.float64)
    own = cuda.local.array(2, np.float64)
    thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    total = 0.0
    for cell in range(thread, n, cuda.blockDim.x * cuda.gridDim.x):
        for j in range(3):
            scratch[thread * 3 + j] = x[cell] * (j + 1)
        own[0] = 1.0
        own[1] = 2.0
        for j in range(3):
            total += scratch[thread * 3 + j] * own[j % 2]
        if x[cell] > limit:
            if cuda.atomic.cas(err, 0, 0, 1) == 0:
                err[1] = cell
    shared[cuda.threadIdx.x] = total
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        total = 0.0
        for t in range(BLOCK):
            total += shared[t]
        parts[cuda.blockIdx.x] = total
    cuda.syncthreads()


@cuda.jit
def scratch_k2(err, blocks, parts, s):
    if err[0] != 0:
        return
    for block in range(blocks):
        s[0] = s[0] + parts[block]


FAILURES = (("ValueError", "too large (model.py:3: check(x[i]))", None, ()),)


def scratch(dev, x, limit):
    err, err_values = dev.begin(FAILURES)
    n = x.shape[0]
    blocks = 2
    scratch = dev.empty((blocks * BLOCK * 3,), np.float64)
    parts = dev.empty((blocks,), np.float64)
    s = dev.scalar(0.0, np.float64)
    dev.launch(scratch_k1, blocks, BLOCK, err, n, limit, x, scratch, parts)
    dev.launch(scratch_k2, 1, 1, err, blocks, parts, s)
    return (s,)
''',
    "scratch",
    Program(
        (
            kernel(
                "scratch_k1", "err: int64*", "n: int64", "limit: float64", "x: float64*",
                "scratch: float64*", "parts: float64*",
            ),
            kernel("scratch_k2", "err: int64*", "blocks: int64", "parts: float64*", "s: float64*"),
        )
    ),
)  # fmt: skip
ALL["scratch"] = SCRATCH
