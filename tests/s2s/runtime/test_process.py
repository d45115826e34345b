"""Threads, forks, interrupts, processes and errors around kernels."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import s2s
from s2s.errors import InternalCompilerError

ROOT = Path(__file__).parents[3]


@s2s.grad
def gradient(x):
    return (np.sin(x) * x).sum()


def expected(x):
    return np.sin(x) + x * np.cos(x)


def test_threads_share_one_specialisation():
    f = s2s.grad(lambda x: (np.exp(x) * x).sum(), backend="loops")
    results, failures = [], []
    start = threading.Barrier(8)

    def work(k):
        try:
            start.wait()
            for _ in range(20):
                x = np.full(4, 0.1 * k)
                results.append(np.allclose(f(x), np.exp(x) * (1 + x)))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures and all(results) and len(results) == 160
    assert sum(map(len, f._specialiser("vjp").entries.values())) == 1


def test_compiled_code_releases_the_gil():
    pytest.importorskip("numba")

    @s2s.function(backend="numba")
    def slow(x, n):
        s = 0.0
        for _ in range(n):
            s = np.sin(s) + x
        return s

    slow(1.0, 1)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    n = 100_000
    while True:
        start = time.perf_counter()
        slow(1.0, n)
        end = time.perf_counter()
        if end - start > 0.1 or time.perf_counter() - begin > 10:
            break
        n *= 2
    done.set()
    thread.join()
    assert sum(start < t < end for t in ticks) > 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("backend", ["numba", "loops"])
def test_survives_fork(backend, monkeypatch):
    monkeypatch.setenv("S2S_BACKEND", backend)
    x = np.array([0.5, 1.0])
    np.testing.assert_allclose(gradient(x), expected(x))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for out in pool.map(gradient, [x, x.astype(np.float32)]):
            np.testing.assert_allclose(out, expected(x), rtol=1e-5)


def test_an_interrupted_compilation_leaves_things_in_order(monkeypatch):
    from s2s.transforms import pipeline

    f = s2s.grad(lambda x: x * x * 2.0, backend="loops")
    real = pipeline.compile_request

    def interrupted(request):
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "compile_request", interrupted)
    with pytest.raises(KeyboardInterrupt):
        f(1.0)
    monkeypatch.setattr(pipeline, "compile_request", real)
    assert f(1.0) == 4.0


def test_a_crash_of_the_compiler_is_owned_up_to(monkeypatch):
    from s2s.transforms import pipeline

    def crash(request):
        raise KeyError("t_1")

    monkeypatch.setattr(pipeline, "compile_request", crash)
    with pytest.raises(InternalCompilerError, match="bug in s2s") as info:
        s2s.grad(lambda x: x * 3.5, backend="loops")(1.0)
    assert isinstance(info.value.__cause__, KeyError)


@pytest.mark.parametrize("backend", ["numba", "loops", "python"])
def test_errors_have_the_users_type_and_line(backend):
    def f(x, i):
        if x[0] > 5.0:
            raise ValueError(f"x is {x[0]}, too large")
        return x[i] * x[i]

    g = s2s.grad(f, backend=backend)
    np.testing.assert_array_equal(g(np.array([1.0, 2.0]), -1), [0.0, 4.0])
    with pytest.raises(IndexError, match="out of bounds") as info:
        g(np.array([1.0, 2.0]), 2)
    assert info.value.__cause__ is None
    if backend != "python":
        assert info.value.line == f.__code__.co_firstlineno + 3
    with pytest.raises(ValueError, match=r"x is 6\.0, too large"):
        g(np.array([6.0]), 0)


def test_the_python_backend_can_be_debugged():
    import linecache

    f = s2s.grad(lambda x: np.log(x) * x, backend="python")
    f(2.0)
    files = [name for name in linecache.cache if name.startswith("<s2s")]
    assert any("".join(linecache.getlines(name)) == f.source for name in files)


def run(code: str, cache: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "S2S_CACHE_DIR": str(cache), **env},
        text=True,
        capture_output=True,
    )


PROGRAM = """
import sys
import numpy as np
sys.path.insert(0, {folder!r})
import model
print(model.loss(np.array([1.0, 2.0])))
"""
MODEL = """
import numpy as np, s2s
@s2s.grad
def loss(x):
    return (x ** 2).sum()
"""


def test_a_second_process_starts_warm(tmp_path):
    pytest.importorskip("numba")
    (tmp_path / "model.py").write_text(MODEL)
    program = PROGRAM.format(folder=str(tmp_path))
    first = run(program, tmp_path / "cache", S2S_BACKEND="numba")
    assert first.stdout.split() == ["[2.", "4.]"], first.stderr
    before = {f: f.stat().st_mtime_ns for f in (tmp_path / "cache").glob("numba_*")}
    second = run(program, tmp_path / "cache", S2S_BACKEND="numba")
    assert second.stdout == first.stdout, second.stderr
    after = {f: f.stat().st_mtime_ns for f in (tmp_path / "cache").glob("numba_*")}
    assert before == after and before


def test_adjoint_code_is_compiled_only_when_asked_for():
    f = s2s.grad(lambda x: x * x * 5.0, backend="loops")
    assert f.primal(2.0) == 20.0
    assert f._specialiser("vjp").latest is None
    f.source_for(2.0)
    assert f._specialiser("vjp").latest.kernels == {}


def test_import_is_light():
    code = "import sys, s2s; print(sorted({'numba', 'llvmlite', 'scipy'} & set(sys.modules)))"
    done = run(code, Path("unused"))
    assert done.stdout.strip() == "[]", done.stderr
