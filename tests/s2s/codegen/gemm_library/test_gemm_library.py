"""Each variant of the matrix product is compiled on first use; if that fails, plain loops are
used."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from s2s.codegen.gemm_library import gemm_library
from s2s.runtime import jit_link

ROOT = Path(__file__).resolve().parents[4]


def called(name: str) -> Any:
    number = ctypes.c_float if name.endswith("f32") else ctypes.c_double
    kinds = [ctypes.c_bool, ctypes.c_bool, number, *[ctypes.c_void_p] * 2, number, ctypes.c_void_p]
    return ctypes.CFUNCTYPE(None, *kinds, *[ctypes.c_int64] * 3)(gemm_library.address(name))


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Discard all compiled variants."""
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path))
    gemm_library._library.kept.clear()
    yield
    gemm_library._library.kept.clear()


def check(gemm: Any, m: int, n: int, k: int, beta: float) -> None:
    rng = np.random.default_rng(m * n + k)
    for swap_a in (False, True):
        for swap_b in (False, True):
            a, b, c = (rng.normal(size=s) for s in ((m, k), (k, n), (m, n)))
            expected = -0.5 * a @ b + (beta * c if beta else 0.0)
            if not beta:
                c[...] = np.nan  # must not be read
            a, b = (np.ascontiguousarray(x.T) if s else x for x, s in ((a, swap_a), (b, swap_b)))
            gemm(swap_a, swap_b, -0.5, a.ctypes.data, b.ctypes.data, beta, c.ctypes.data, m, n, k)
            np.testing.assert_allclose(c, expected, rtol=1e-11, atol=1e-11)


def test_only_what_is_called_is_compiled(anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    way = gemm_library._variant_address
    monkeypatch.setattr(
        gemm_library, "_variant_address", lambda kind, bits: asked.append(kind) or way(kind, bits)
    )
    gemm = called("s2s.gemm.f64")
    assert asked == []
    check(gemm, 7, 1, 30, 0.0)
    check(gemm, 1, 9, 5, 2.0)
    assert asked == ["thin"]
    check(gemm, 4, 5, 6, 1.0)
    check(gemm, 20, 30, 40, 0.0)
    check(gemm, 300, 200, 100, 2.0)
    assert asked == ["thin", "little", "blocked", "blas"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, jit_link.Unlinkable])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_plain_loops_where_there_is_no_other_way(
    anew: None, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    interrupted: list[None] = []
    monkeypatch.setattr("_thread.interrupt_main", lambda: interrupted.append(None))

    def fail(kind: str, bits: str) -> int:
        raise error

    monkeypatch.setattr(gemm_library, "_variant_address", fail)
    gemm = called("s2s.gemm.f64")
    for size in ((7, 1, 30), (1, 3, 0), (4, 5, 6), (20, 30, 40), (3, 2, 0), (0, 2, 3)):
        for beta in (0.0, 1.0, 2.0):
            check(gemm, *size, beta)
    assert bool(interrupted) == (error is KeyboardInterrupt)


def test_without_a_library_large_products_are_ours(
    anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> int:
        raise jit_link.Unlinkable("no BLAS")

    monkeypatch.setattr(jit_link, "blas", none)
    check(called("s2s.gemm.f64"), 300, 200, 100, 2.0)


THREADS = """
import threading
import numpy as np, s2s

@s2s.function
def f(x, w):
    return (x @ w).sum()

x, w = np.ones((40, 50)), np.ones((50, 60))
found = []
threads = [threading.Thread(target=lambda: found.append(f(x, w))) for _ in range(6)]
for t in threads: t.start()
for t in threads: t.join()
assert found == [40 * 50 * 60.0] * 6, found
"""


def test_threads_that_come_to_the_first_product_at_once(tmp_path: Path) -> None:
    env = {**os.environ, "S2S_CACHE_DIR": str(tmp_path), "S2S_BACKEND": "numba"}
    (tmp_path / "program.py").write_text(THREADS)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        env={**env, "PYTHONPATH": str(ROOT)}, text=True, capture_output=True,
    )  # fmt: skip
    assert not done.returncode, done.stderr
