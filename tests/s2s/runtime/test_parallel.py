"""Parallel loops, requested or by default: results are equal to the last bit for any number of
threads."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import io
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import s2s
from s2s import kernels
from s2s.runtime import thread_pool
from s2s.transforms.lower.loops import parallelize
from tests import oracle
from tests.corpus import Case, load
from tests.corpus.known import KNOWN


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Every loop that may be split is, however short; nothing of it is kept."""
    monkeypatch.setattr(parallelize, "THREAD_START_COST", 0)
    monkeypatch.setattr(parallelize, "MIN_CHUNK_WORK", 1)
    monkeypatch.setattr(parallelize, "MIN_WORK_PER_PRIVATE_ELEMENT", 0)
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    _forget()
    yield
    _forget()


def _forget() -> None:
    for f in (*PROGRAMS, bounded, clipped, squares):
        vars(f).pop("__s2s__", None)


# ---------------------------------------------------------------- programs


def smooth(x, w):  # type: ignore[no-untyped-def]
    """Maps and sums; a product between them."""
    return np.sum(np.tanh(x @ w) * np.exp(-x[:, :1]))


def scattered(x, k, table):  # type: ignore[no-untyped-def]
    """All iterations add to one array in the adjoint."""
    total = 0.0
    for i in range(x.shape[0]):
        total += table[k[i]] * np.sin(x[i])
    return total


def stencil(u):  # type: ignore[no-untyped-def]
    out = np.zeros_like(u)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            out[i, j] = u[i, j] * (u[i - 1, j] + u[i + 1, j] - u[i, j - 1] * u[i, j + 1])
    return np.sum(out * out)


def rows(x):  # type: ignore[no-untyped-def]
    """Maxima, sums of rows, small arrays that are private to an iteration."""
    total = np.max(x)
    for i in numba.prange(x.shape[0]):
        pair = np.zeros(2)
        for j in range(x.shape[1]):
            pair[j % 2] += x[i, j] ** 2
        row = x[i] * pair[0]
        total += np.log(1.0 + pair[1]) + np.sum(row)
    return total


def recurrence(x):  # type: ignore[no-untyped-def]
    """Only zero fills are parallel."""
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] = y[i] + 0.5 * y[i - 1] * y[i - 1]
    return y[-1]


def arguments(dtype: Any = np.float64, size: int = 40) -> dict[Any, tuple[Any, ...]]:
    rng = np.random.default_rng(0)

    def arr(*shape: int) -> Any:
        return rng.normal(size=shape).astype(dtype)

    return {
        smooth: (arr(size, 5), arr(5, 3)),
        scattered: (arr(size), rng.integers(0, 4, size), arr(4)),
        stencil: (arr(size, size + 1),),
        rows: (arr(size, 7),),
        recurrence: (0.3 * arr(size),),
    }


def wrt_of(f: Any) -> tuple[int, ...]:
    return (0, 2) if f is scattered else tuple(range(f.__code__.co_argcount))


PROGRAMS = [smooth, scattered, stencil, rows, recurrence]


# ---------------------------------------------------------------- the same numbers


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(
    ("f", "dtype"), [*((f, np.float64) for f in PROGRAMS), (scattered, np.float32)]
)
def test_same_numbers(f: Any, dtype: Any) -> None:
    args = arguments(dtype)[f]
    serial = s2s.value_and_grad(f, wrt=wrt_of(f), backend="loops")(*args)
    shared = s2s.value_and_grad(f, wrt=wrt_of(f), parallel=True, backend="numba")
    first = shared(*args)
    assert "rt.prange(" in shared.lowered
    oracle.assert_close(first, serial, 1e-11 if dtype is np.float64 else 2e-5, f.__name__)
    for _ in range(20):
        oracle.assert_close(shared(*args), first, 0.0, f.__name__)
    for size in (0, 1, 2, 3):
        if size == 0 and f in (rows, recurrence):
            continue
        args = arguments(dtype, size)[f]
        serial = s2s.value_and_grad(f, wrt=wrt_of(f), backend="loops")(*args)
        oracle.assert_close(shared(*args), serial, 1e-11 if dtype is np.float64 else 2e-5, "")


def sample(stride: int) -> list[Any]:
    cases = [c for name, c in load().items() if name not in KNOWN]
    return [pytest.param(c, id=c.name) for c in cases[::stride]]


def compiled(case: Case, **options: Any) -> Any:
    if case.static:
        options["static_argnames"] = case.static
    if not case.gradient:
        return s2s.function(case.function, **options)
    wrt = case.wrt[0] if case.single else case.wrt
    return s2s.value_and_grad(case.function, wrt=wrt, has_aux=case.has_aux, **options)


def agrees(case: Case, backend: str) -> None:
    plain, shared = (
        case.arguments(case.trips[-1], np.float64),
        case.arguments(case.trips[-1], np.float64),
    )
    with contextlib.redirect_stdout(io.StringIO()):
        want = compiled(case, backend="loops")(*plain[0], **plain[1])
        got = compiled(case, backend=backend, parallel=True)(*shared[0], **shared[1])
    oracle.assert_close(got, want, 1e-11, case.name)
    oracle.assert_close(shared, plain, 1e-11, case.name)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("case", sample(23))
def test_corpus_backwards(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of one iteration each, the last one first, so that dependences between iterations
    change the result."""
    monkeypatch.setattr(kernels, "prange", lambda n: reversed(range(n)))
    agrees(case, "loops")


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("case", sample(151))
def test_corpus_on_threads(case: Case) -> None:
    agrees(case, "numba")


def digest() -> str:
    """A hash of all bits of all results, at sizes for which loops are parallel."""
    found = hashlib.sha256()
    for f, args in arguments(size=600).items():
        if f not in (stencil, rows):
            continue
        value, gradients = s2s.value_and_grad(f, wrt=wrt_of(f), parallel=True)(*args)
        for part in (value, *gradients):
            found.update(np.asarray(part).tobytes())
    return found.hexdigest()


def test_any_number_of_threads() -> None:
    """The second process also loads the machine code of the first."""
    found = {digest()}
    for number in ("1", "3"):
        run = "from tests.s2s.runtime.test_parallel import digest; print(digest())"
        out = subprocess.run(
            [sys.executable, "-c", run], env={**os.environ, "NUMBA_NUM_THREADS": number},
            capture_output=True, text=True, check=True, timeout=300,
        )  # fmt: skip
        found.add(out.stdout.strip())
    assert len(found) == 1


# ---------------------------------------------------------------- callers, errors, options


@pytest.mark.usefixtures("forced")
def test_two_callers_at_once() -> None:
    f = s2s.value_and_grad(stencil, parallel=True)
    inputs = [np.random.default_rng(k).normal(size=(30, 31)) for k in range(4)]
    wanted = [f(u) for u in inputs]
    wrong: list[int] = []

    def caller(k: int) -> None:
        for _ in range(200):
            value, gradient = f(inputs[k])
            if value != wanted[k][0] or not np.array_equal(gradient, wanted[k][1]):
                wrong.append(k)

    callers = [threading.Thread(target=caller, args=(k,)) for k in range(4)]
    for c in callers:
        c.start()
    for c in callers:
        c.join()
    assert not wrong


def bounded(x, k):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(k.shape[0]):
        total += x[k[i]] ** 2
    return total


@pytest.mark.usefixtures("forced")
def test_errors() -> None:
    """The error of the first iteration in order is raised, whichever occurs first in time."""
    f = s2s.value_and_grad(bounded, parallel=True)
    x, k = np.ones(5), np.zeros(300, np.int64)
    assert f(x, k)[0] == 300.0
    assert "rt.prange(" in f.lowered
    for bad in ([7], [3, 290], [299], list(range(300))):
        wrong = k.copy()
        wrong[bad] = 5 + np.arange(len(bad))
        plain = s2s.value_and_grad(bounded, backend="loops")
        with pytest.raises(IndexError) as expected:
            plain(x, wrong)
        with pytest.raises(IndexError) as error:
            f(x, wrong)
        assert str(error.value) == str(expected.value)
    assert f(x, k)[0] == 300.0


def clipped(x, low):  # type: ignore[no-untyped-def]
    """Writes to its argument, and may raise midway."""
    for i in range(x.shape[0]):
        if x[i] < low:
            raise ValueError("too low")
        x[i] = 2.0 * x[i]
    return x[0]


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("backend", ["loops", "numba"])
def test_what_an_error_leaves_behind(backend: str) -> None:
    plain, shared = (np.linspace(3.0, -1.0, 50) for _ in range(2))
    with pytest.raises(ValueError, match="too low"):
        clipped(plain, 0.0)
    with pytest.raises(ValueError, match="too low"):
        s2s.function(clipped, parallel=True, backend=backend)(shared, 0.0)
    np.testing.assert_array_equal(shared, plain)


def squares(x):  # type: ignore[no-untyped-def]
    return np.sum(x * x)


@pytest.mark.usefixtures("forced")
def test_inside_njit() -> None:
    """Inside `@njit` code chunks run sequentially."""
    value = s2s.function(squares, parallel=True)
    each = numba.njit(lambda x: value(x))
    x = np.linspace(0.0, 1.0, 9)
    assert each(x) == pytest.approx(np.sum(x * x), rel=1e-14)


def test_an_option_of_every_transform() -> None:
    for name in ("grad", "value_and_grad", "function", "jvp", "vjp", "hvp", "jacobian", "hessian",
                 "vmap"):  # fmt: skip
        assert inspect.signature(getattr(s2s, name)).parameters["parallel"].default is None
    x = np.linspace(0.0, 1.0, 7)
    plain = s2s.grad(recurrence, backend="loops")
    shared = s2s.grad(parallel=True, backend="loops")(recurrence)
    assert np.array_equal(plain(x), shared(x))
    assert "rt.prange" not in plain.lowered
    assert "rt.prange" in shared.lowered
    assert pickle.loads(pickle.dumps(shared))._shared.options.parallel


def test_short_loops_run_as_they_are() -> None:
    assert parallelize.MAX_CHUNKS == kernels.MAX_CHUNKS
    assert kernels.chunks(1000, 16383, 1 << 14, 0) == 1
    assert kernels.chunks(1000, 1 << 16, 1 << 14, 0) == 4
    assert kernels.chunks(3, 1 << 30, 1 << 14, 0) == 3
    assert kernels.chunks(1 << 20, 1 << 40, 1 << 14, 5) == kernels.MAX_CHUNKS
    assert kernels.chunks(1 << 20, 1 << 40, 1 << 14, kernels.MAX_PRIVATE_ELEMENTS // 3) == 3
    assert kernels.chunks(1 << 20, 1 << 40, 1 << 14, 10 * kernels.MAX_PRIVATE_ELEMENTS) == 2
    assert kernels.chunks(-5, -5, 1 << 14, 0) == 1
    assert kernels.chunks(0, 0, 1, 0) == 1


def test_few_long_rows() -> None:
    """Rows are cut only where each is a chunk already, and there is work for more."""
    assert kernels.across(1, 1000, 1, 1 << 20, 1 << 14, 0) == kernels.MAX_CHUNKS
    assert kernels.across(3, 1000, 3, 1 << 20, 1 << 14, 0) == kernels.MAX_CHUNKS // 3
    assert kernels.across(3, 5, 3, 1 << 20, 1 << 14, 0) == 5
    assert kernels.across(3, 1000, 3, 1 << 16, 1 << 14, 0) == 1
    assert kernels.across(3, 1000, 4, 1 << 20, 1 << 14, 0) == 1
    assert kernels.across(16, 1000, 16, 1 << 30, 1 << 14, 0) == 1
    assert kernels.across(1, 0, 0, 0, 1 << 14, 0) == 1
    x = np.random.default_rng(0).normal(size=(2, 30_000))
    serial, shared = (s2s.value_and_grad(waves, parallel=p)(x) for p in (False, True))
    oracle.assert_close(shared, serial, 1e-11, "")
    again = s2s.value_and_grad(waves, parallel=True, backend="loops")(x[:, :9000])
    oracle.assert_close(again, s2s.value_and_grad(waves)(x[:, :9000]), 1e-11, "")


def waves(x):  # type: ignore[no-untyped-def]
    return np.sum(np.sin(x) * x)


# ---------------------------------------------------------------- by themselves

SMALL, LARGE = np.linspace(-1.0, 1.0, 1000), np.linspace(-1.0, 1.0, 300_000)


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s2s.runtime.thread_pool.thread_count", lambda: 2)


def ripples(x):  # type: ignore[no-untyped-def]
    return np.sum(np.sin(x) * np.exp(x))


def afresh(**options: Any) -> Any:
    vars(ripples).pop("__s2s__", None)
    return s2s.value_and_grad(ripples, **options)


@pytest.mark.usefixtures("several")
def test_where_it_pays() -> None:
    f = afresh()
    for x, shared in ((SMALL, False), (LARGE, True), (SMALL, False), (LARGE, True)):
        value, gradient = f(x)
        assert ("rt.prange(" in f.lowered) == shared
        assert value == pytest.approx(ripples(x), rel=1e-12)
        np.testing.assert_allclose(gradient, np.exp(x) * (np.sin(x) + np.cos(x)), 1e-12, 1e-14)
    assert f._specialiser("vjp").compilations == 1
    assert "rt.prange(" not in (g := afresh(parallel=False), g(LARGE))[0].lowered


@pytest.mark.usefixtures("several")
def test_what_was_called_before_does_not_matter() -> None:
    """Sizes alone decide which code runs, so results are equal to the last bit."""
    found = []
    for order in ((SMALL, LARGE, SMALL), (LARGE, SMALL, LARGE)):
        f = afresh()
        found.append({x.size: [part.tobytes() for part in map(np.asarray, f(x))] for x in order})
    assert found[0] == found[1]


@pytest.mark.usefixtures("several")
def test_both_are_found_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    f = afresh()
    wanted = [f(x)[0] for x in (SMALL, LARGE)]
    f = afresh()
    monkeypatch.setattr(f._specialiser("vjp"), "translate", None)
    assert [f(x)[0] for x in (SMALL, LARGE)] == wanted
    assert "rt.prange(" in f.lowered


@pytest.mark.parametrize("variable", ["NUMBA_NUM_THREADS", "OMP_NUM_THREADS"])
def test_how_many_threads(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.setenv(variable, "5")
    assert thread_pool.thread_count() == 5


def test_one_thread_is_enough_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("s2s.runtime.thread_pool.thread_count", lambda: 1)
    f = afresh()
    f(LARGE)
    assert "rt.prange(" not in f.lowered
    assert f._specialiser("vjp").latest.compiled.guards == []
    assert f(SMALL) and f._specialiser("vjp").compilations == 0
    vars(ripples).pop("__s2s__", None)


@pytest.mark.usefixtures("several")
def test_types_alone_are_compiled_once() -> None:
    f = afresh().compile("float64[:]")
    f(LARGE)
    assert f._specialiser("vjp").compilations == 0
    assert "rt.prange(" not in f.lowered


def test_a_child_after_a_fork(tmp_path: Path) -> None:
    """A forked child has no pool threads, and runs parallel loops sequentially."""
    script = tmp_path / "forks.py"
    script.write_text(FORKS)
    out = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)], capture_output=True, text=True, check=True,
        timeout=300, env={**os.environ, "NUMBA_NUM_THREADS": "2", "PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert out.stdout.strip() == "same same same True"


FORKS = """
import multiprocessing
import numpy as np
import s2s

@s2s.value_and_grad
def f(x):
    return np.sum(np.sin(x) * np.exp(x))

x = np.linspace(-1.0, 1.0, 300_000)
wanted = f(x)

def same(_):
    value, gradient = f(x)
    return "same" if value == wanted[0] and np.array_equal(gradient, wanted[1]) else "other"

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(*pool.map(same, range(3)), "rt.prange(" in f.lowered)
"""


def gathered(x, k, table):  # type: ignore[no-untyped-def]
    return np.sum(np.exp(np.sin(table[k]) * x) * np.cos(x))


@pytest.mark.usefixtures("several")
def test_memory_is_bounded() -> None:
    """Large private arrays of chunks are not allocated."""
    rng = np.random.default_rng(0)
    x, k = rng.normal(size=200_000), rng.integers(0, 100, 200_000)
    f = s2s.value_and_grad(gathered, wrt=(0, 2))
    f(x, k, rng.normal(size=100))
    assert f"<= {parallelize.MAX_PRIVATE_ELEMENTS}" in f.lowered
