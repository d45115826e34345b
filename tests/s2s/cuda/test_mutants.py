"""Wrong kernels: each must be caught by the emulator."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from s2s.cuda.emulator import DivergentBarrier
from s2s.cuda.shadow_memory import MemoryViolation
from tests.s2s.cuda.running import run
from tests.s2s.cuda.texts import GEMM, REDUCTION, SCATTER, SCRATCH, SOFTMAX

BARRIER = "cuda.syncthreads()"
RNG = np.random.default_rng(0)
X = RNG.normal(size=9)
ROWS = RNG.normal(size=(3, 7))
MATRIX = RNG.normal(size=(17, 17))
INDEX = np.array([0, 3, 3, 1, 0, 3, 2, 2, 3])

# For each text: arguments, the number of threads of a block, and the results.
EXPONENTIALS = np.exp(ROWS - ROWS.max(axis=1, keepdims=True))
SUMMED = np.zeros(4)
np.add.at(SUMMED, INDEX, X**2)
PROGRAMS = {
    "reduction": (REDUCTION, (X,), 4, [[np.sum(X**2)], 2 * X]),
    "softmax": (SOFTMAX, (ROWS,), 4, [EXPONENTIALS / EXPONENTIALS.sum(axis=1, keepdims=True)]),
    "gemm": (
        GEMM, (False, False, 1.0, MATRIX, MATRIX, 0.0, np.full((17, 17), np.nan)), 4,
        [MATRIX @ MATRIX],
    ),
    "scatter": (SCATTER, (INDEX, X, np.ones(9, bool), 4), 4, [SUMMED]),
    "scratch": (SCRATCH, (X, 1e9), 2, [[np.sum(X * 8)]]),
    "scratch, error": (SCRATCH, (X, -1e9), 2, []),
}  # fmt: skip


def verdict(name, text):
    """ "right", or what was found."""
    original, arguments, block, expected = PROGRAMS[name]
    changed = dataclasses.replace(original, lowered=text)
    try:
        results = run(changed, *arguments, block=block, checked=True)
    except MemoryViolation as error:
        return str(error)
    except DivergentBarrier as error:
        return str(error)
    except ValueError:
        return "right" if name == "scratch, error" else "an error of the program"
    same = [np.allclose(r, e) for r, e in zip(results, expected)]
    return "right" if all(same) else "wrong result"


@pytest.mark.parametrize("name", PROGRAMS)
def test_originals_are_right(name):
    assert verdict(name, PROGRAMS[name][0].lowered) == "right"


def replaced(text, old, new, which=0):
    """The text with one occurrence of `old` replaced."""
    parts = text.split(old)
    assert len(parts) > which + 1, old
    return old.join(parts[: which + 1]) + new + old.join(parts[which + 1 :])


def barriers(name):
    return range(PROGRAMS[name][0].lowered.count(BARRIER))


# The last barrier of the scratch kernel orders nothing.
DROPPED = [(n, i) for n in ("reduction", "gemm", "softmax") for i in barriers(n)] + [("scratch", 0)]


@pytest.mark.parametrize("name, which", DROPPED)
def test_barrier_dropped(name, which):
    text = replaced(PROGRAMS[name][0].lowered, BARRIER, "pass", which)
    assert verdict(name, text) != "right"


GLOBAL = "thread = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x"
MUTANTS = {
    "barrier under a branch": (
        "reduction",
        [("        if cuda.threadIdx.x < width:\n",
          "        if cuda.threadIdx.x < width:\n            cuda.syncthreads()\n")],
        "divergent barrier",
    ),
    "addition that is not atomic": (
        "scatter",
        [("cuda.atomic.add(y, i, squared(x[cell]))", "y[i] = y[i] + squared(x[cell])")],
        "race between",
    ),
    "block id instead of the global id": (
        "reduction", [(GLOBAL, "thread = cuda.blockIdx.x")], "race between",
    ),
    "thread id instead of the global id": (
        "reduction", [(GLOBAL, "thread = cuda.threadIdx.x")], "race between",
    ),
    "one cell too many": (
        "reduction", [("range(thread, n, ", "range(thread, n + 1, ")], "outside of all arrays",
    ),
    "one cell too few": (
        "reduction", [("range(thread, n, ", "range(thread, n - 1, ")], "wrong result",
    ),
    "a stride of one block": (
        "reduction", [("n, cuda.blockDim.x * cuda.gridDim.x)", "n, cuda.blockDim.x)")],
        "race between",
    ),
    "shared array too short": (
        "reduction", [("cuda.shared.array(BLOCK,", "cuda.shared.array(2,")],
        "outside of all arrays",
    ),
    "local array too short": (
        "scratch", [("cuda.local.array(2,", "cuda.local.array(1,")], "outside of all arrays",
    ),
    "finishing kernel before the map": (
        "reduction",
        [
            ("    dev.launch(loss_k2, 1, 1, err, blocks, parts, s)\n", ""),
            ("    dev.launch(loss_k1",
             "    dev.launch(loss_k2, 1, 1, err, blocks, parts, s)\n    dev.launch(loss_k1"),
        ],
        "never written",
    ),
    "two launches swapped": (
        "scatter",
        [("scatter_k1, dev.blocks(m, BLOCK), BLOCK, err, m, y", "HERE"),
         ("scatter_k2, dev.blocks(n, BLOCK), BLOCK, err, err_values, n, m, idx, x, flags, y",
          "scatter_k1, dev.blocks(m, BLOCK), BLOCK, err, m, y"),
         ("HERE",
          "scatter_k2, dev.blocks(n, BLOCK), BLOCK, err, err_values, n, m, idx, x, flags, y")],
        "never written",
    ),
    "a launch left out": (
        "scatter", [("dev.launch(scatter_k1, dev.blocks(m, BLOCK), BLOCK, err, m, y)", "pass")],
        "never written",
    ),
    "scratch indexed by the cell": (
        "scratch", [("scratch[thread * 3 + j]", "scratch[cell * 3 + j]"),
                    ("scratch[thread * 3 + j]", "scratch[cell * 3 + j]")],
        "outside of all arrays",
    ),
    "scratch shared by the threads of a block": (
        "scratch", [("scratch[thread * 3 + j]", "scratch[cuda.blockIdx.x * 3 + j]"),
                    ("scratch[thread * 3 + j]", "scratch[cuda.blockIdx.x * 3 + j]")],
        "race between",
    ),
    "flag tested after a barrier": (
        "scratch, error",
        [("    shared[cuda.threadIdx.x] = total\n    cuda.syncthreads()\n",
          "    shared[cuda.threadIdx.x] = total\n    cuda.syncthreads()\n"
          "    if err[0] != 0 and cuda.threadIdx.x > 0:\n        return\n")],
        "divergent barrier",
    ),
    "result of every thread stored": (
        "reduction", [("cuda.threadIdx.x == 0:\n        parts",
                       "cuda.threadIdx.x <= 1:\n        parts")],
        "race between",
    ),
    "sum over the tree of half the block": (
        "reduction", [("width = BLOCK // 2", "width = BLOCK // 4")], "wrong result",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutant(mutant):
    name, changes, expected = MUTANTS[mutant]
    text = PROGRAMS[name][0].lowered
    for old, new in changes:
        text = replaced(text, old, new)
    assert expected in verdict(name, text)
