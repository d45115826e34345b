"""Threads that compile concurrently: one lock order, no deadlock, no wrong result."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from s2s.runtime import locks
from tests import scale

pytest.importorskip("numba")
ROOT = Path(__file__).parents[2]
LIMIT = 600  # seconds, after which a hanging process prints its stacks and ends


def run(command: list[str], folder: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "S2S_CACHE_DIR": str(folder / "cache"),
        "S2S_CHECK_LOCKS": "1",
    }
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]


@pytest.mark.parametrize("seed", range(scale.count(1, 5)))
def test_many_threads_from_a_cold_start(tmp_path: Path, seed: int) -> None:
    """Scalars, arrays, linear algebra, FFT and calls inside the user's `@njit` code."""
    functions = scale.count(5, 20)
    options = ["--limit", str(LIMIT), "--seed", str(seed)]
    cold = ["cold", "--threads", "8", "--functions", str(functions), "--seconds", "0"]
    run(["-m", "tests.attack.soak", *options, *cold], tmp_path)


FORK = """
import faulthandler, os, random, signal, sys, threading
faulthandler.register(signal.SIGALRM, chain=True)
signal.alarm(%d)  # ends a process that hangs
delays = random.Random(%d)
import numpy as np
import s2s

def parent(x): return np.sum(np.linalg.solve(x, np.ones(x.shape[0])))
def child(x): return np.sum(np.sin(x) * x)

x = np.eye(30) * 2.0
compiling = threading.Thread(target=lambda: s2s.grad(parent)(x))
compiling.start()
ended = []
for _ in range(6):  # at several points of the compilation
    compiling.join(delays.uniform(0.0, 0.9))
    pid = os.fork()
    if pid == 0:
        signal.alarm(%d)
        gradient = s2s.grad(child)(np.ones(3))
        os._exit(0 if np.allclose(gradient, np.sin(1.0) + np.cos(1.0)) else 1)
    ended.append(os.waitpid(pid, 0)[1])
compiling.join()
sys.exit(any(ended))
"""


FORK_DURING_IMPORT = """
import faulthandler, os, signal, sys, threading, time
faulthandler.register(signal.SIGALRM, chain=True)
signal.alarm(%d)  # ends a process that hangs
import numpy as np
import s2s

class Slow:
    def find_spec(self, name, path, target=None):
        if name == %r:
            reached.set()
            time.sleep(0.3)

def parent(x): return np.sum(np.linalg.solve(x, np.ones(x.shape[0])))
def child(x): return np.sum(np.sin(x) * x)

reached = threading.Event()
sys.meta_path.insert(0, Slow())
compiling = threading.Thread(target=lambda: s2s.grad(parent)(np.eye(3) * 2.0))
compiling.start()
reached.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(%d)
    gradient = s2s.grad(child)(np.ones(3))
    os._exit(0 if np.allclose(gradient, np.sin(1.0) + np.cos(1.0)) else 1)
compiling.join()
sys.exit(os.waitpid(pid, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("seed", range(scale.count(1, 20)))
def test_a_child_that_is_forked_while_a_thread_compiles_can_compile(
    tmp_path: Path, seed: int
) -> None:
    program = tmp_path / "program.py"
    program.write_text(FORK % (LIMIT, seed, LIMIT))
    run(["-W", "ignore::DeprecationWarning", str(program)], tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("module", ["numba", "numba.core.registry", "llvmlite", "libcst"])
def test_a_child_that_is_forked_while_a_thread_imports_can_compile(
    tmp_path: Path, module: str
) -> None:
    """The lock of a module is no lock of s2s, and its owner does not exist in the child."""
    program = tmp_path / "program.py"
    program.write_text(FORK_DURING_IMPORT % (LIMIT, module, LIMIT))
    run(["-W", "ignore::DeprecationWarning", str(program)], tmp_path)


# ---------------------------------------------------------------- the order


def test_a_lock_out_of_order_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "CHECKED", True)
    with (
        locks.translation_lock,
        locks.codegen_lock,
        locks.compiler_lock(),
        locks.translation_lock,
        locks.codegen_lock,
    ):
        pass  # taking again what is held already is in order
    with locks.codegen_lock, pytest.raises(AssertionError, match="out of order"):
        locks.translation_lock.acquire()
    for one in (locks.translation_lock, locks.codegen_lock):
        with locks.compiler_lock(), pytest.raises(AssertionError, match="out of order"):
            one.acquire()


def test_numba_compiles_inside_of_the_other_locks() -> None:
    with locks.kernel_locks("numba"):
        assert locks.codegen_lock.is_held() and locks.is_compiling()
    assert not locks.codegen_lock.is_held() and not locks.is_compiling()
    with locks.compiler_lock(), locks.kernel_locks("numba"):
        assert not locks.codegen_lock.is_held()


def names(tree: ast.AST) -> set[str]:
    found = {
        alias.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for alias in n.names
    }
    return found | {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}


@pytest.mark.parametrize("name", ["cached_property", "global_compiler_lock"])
def test_locks_are_taken_in_one_place(name: str) -> None:
    """`functools.cached_property` is a lock, too, in Python 3.10 and 3.11."""
    paths = [p for folder in ("s2s", "transforms") for p in (ROOT / folder).rglob("*.py")]
    found = [p.name for p in paths if name in names(ast.parse(p.read_text()))]
    assert {*found} <= {"locks.py"}
