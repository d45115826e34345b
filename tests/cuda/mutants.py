"""Mutants of a text that the simulator must catch: `python -m tests.cuda.mutants`.

Prints one line for each mutant: what was changed, and how it was caught or that it was not.
"""

from __future__ import annotations

import os

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

from collections.abc import Iterator  # noqa: E402

import numpy as np  # noqa: E402

from tests.cuda import simulator  # noqa: E402
from tests.cuda.compiling import emitted  # noqa: E402

ROWS = """
def f(x, y, n, m):
    total = 0.0
    for i in range(n):
        s = 0.0
        for j in range(m):
            y[i, j] = x[i, j] * 2.0
            s = s + x[i, j]
        for j in range(m):
            y[i, j] = y[i, m - 1 - j] / s
        total = total + s
    return (total,)
"""
SCATTER = """
def f(x, at, n):
    for i in range(n):
        x[at[i]] += 1.0
    return ()
"""
TYPES = {"x": "float64[:, :]", "y": "float64[:, :]"}


def mutants() -> Iterator[tuple[str, str, str]]:
    """The name of each program and mutation, with the text."""
    rows, _ = emitted(ROWS.replace("y[i, m - 1 - j]", "y[i, j]"), **TYPES)
    yield "rows", "none", rows
    lines = rows.splitlines(keepends=True)
    barriers = [k for k, line in enumerate(lines) if line.strip() == "cuda.syncthreads()"]
    for number, k in enumerate(barriers, 1):
        mutant = [*lines[:k], lines[k].replace("cuda.syncthreads()", "pass"), *lines[k + 1 :]]
        yield "rows", f"without barrier {number} of {len(barriers)}", "".join(mutant)
    scatter, _ = emitted(SCATTER, x="float64[:]", at="int64[:]")
    yield "scatter", "none", scatter
    added = "cuda.atomic.add(x, at[i], np.float64(1.0))"
    assert added in scatter
    yield "scatter", "without atomic", scatter.replace(added, "x[at[i]] += 1.0")
    wrong = scatter.replace("range(thread, n,", "range(thread, n + 1,")
    yield "scatter", "one cell too many", wrong
    wrong = scatter.replace("range(thread, n,", "range(cuda.threadIdx.x, n,")
    yield "scatter", "each block does all", wrong


def caught(program: str, text: str) -> str:
    """How a mutant is caught, or ""."""
    entry = simulator.load(text, 4)["f"]
    device = simulator.Device()
    try:
        if program == "rows":
            x, y = np.arange(1.0, 22.0).reshape(3, 7), np.zeros((3, 7))
            (total,) = entry(device, x, y, 3, 7)
            equal = total[0] == x.sum() and np.allclose(y, 2 * x / x.sum(1, keepdims=True))
        else:
            x, at = np.zeros(3), np.array([0, 2, 0, 1, 0, 2])
            entry(device, x, at, 6)
            equal = x.tolist() == [3.0, 1.0, 2.0]
    except AssertionError as error:
        return f"{type(error).__name__}: {error}"
    return "" if equal else "a wrong result"


def main() -> None:
    for program, mutation, text in mutants():
        print(f"{program}, {mutation}: {caught(program, text) or 'not caught'}", flush=True)


if __name__ == "__main__":
    main()
