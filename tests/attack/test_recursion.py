"""Infinite recursion raises RecursionError for any stack size and frame size; a stack overflow in
machine code would end the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import scale

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys, threading
import numpy as np
import s2s

size = int(sys.argv[1])

def small(x, n):
    return x if n <= 0 else np.sin(small(x, n - 1)) * 1.5

def large(x, n):
    if n <= 0:
        return x
    terms = {terms}
    y = large(x + 1e-3, n - 1)
    return {total}

def arrays(x, n):
    return x if n <= 0 else np.sin(arrays(x * 1.5, n - 1))

def outcome(f, x, n):
    try:
        s2s.grad(lambda x, n: np.sum(f(x, n)))(x, n)
        return "done"
    except RecursionError as error:
        return "deep" if "{name}:" in str(error) else str(error)

cases = [(small, 0.3), (large, 0.3), (arrays, np.ones(3))]

def work():
    found.extend(outcome(f, x, n) for f, x in cases for n in (3, 10**6))

found = []
if size:
    threading.stack_size(size)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
else:
    work()
print(*found)
"""
TERMS = 60
SOURCE = PROGRAM.format(
    name="program.py",
    terms=", ".join(f"x * {k}.5" for k in range(TERMS)),
    total=" + ".join(f"terms[{k}] * y" for k in range(TERMS)),
)


def outcomes(folder: Path, *command: str) -> list[str]:
    (folder / "program.py").write_text(SOURCE)
    done = subprocess.run(
        [*command], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-3000:]}"
    return done.stdout.split()


@pytest.mark.parametrize("size", [192 << 10, *((0, 1 << 20, 16 << 20) if scale.ALL else ())])
def test_stacks_of_threads(tmp_path: Path, size: int) -> None:
    """Size 0 stands for the main thread."""
    found = outcomes(tmp_path, sys.executable, "program.py", str(size))
    assert found == ["done", "deep"] * 3


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="how a shell limits the stack")
def test_small_stack_of_the_process(tmp_path: Path) -> None:
    command = f"ulimit -s 1024 && exec '{sys.executable}' program.py 0"
    assert outcomes(tmp_path, "sh", "-c", command) == ["done", "deep"] * 3
