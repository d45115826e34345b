"""External routines, which many kernels call, are compiled and cached once."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.backends import build_kernel
from s2s.backends.native import native_loader
from s2s.cache import store
from s2s.runtime import jit_link


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(build_kernel, "_built", {})
    monkeypatch.setattr("s2s.call.backend_choice.DEFAULT", "native")


def _routines() -> list[jit_link.Code]:
    codes = [store.read_entry(path) for path in store.directory().glob("runtime_*")]
    return [c for c in codes if isinstance(c, jit_link.Code)]


def _called() -> list[set[str]]:
    codes = [store.read_entry(path) for path in sorted(store.directory().glob("kernel_*"))]
    return [{s for s in code.symbols if s.startswith(jit_link.ROUTINE)} for code in codes]


def total(a, b):
    return np.sum(np.linalg.solve(a, b))


def square(a, b):
    x = np.linalg.solve(a, b)
    return np.sum(x * x)


def test_two_kernels_call_one_routine() -> None:
    a, b = np.array([[2.0, 1.0], [0.5, 3.0]]), np.ones((2, 1))
    np.testing.assert_allclose(s2s.function(total)(a, b), np.linalg.solve(a, b).sum())
    np.testing.assert_allclose(s2s.function(square)(a, b), (np.linalg.solve(a, b) ** 2).sum())
    one, two = _called()
    assert one == two and len(one) == 1
    assert len(_routines()) == 1


def test_a_routine_that_is_gone_does_no_harm() -> None:
    a, b = np.array([[2.0, 1.0], [0.5, 3.0]]), np.ones((2, 1))
    s2s.function(total)(a, b)
    for path in store.directory().glob("runtime_*"):
        path.unlink()
    build_kernel._built.clear()
    jit_link._routines.clear()
    native_loader._routine.kept.clear()
    np.testing.assert_allclose(s2s.function(total)(a, b), np.linalg.solve(a, b).sum())


def test_errors_of_routines_are_the_users() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        s2s.function(total)(np.zeros((2, 2)), np.ones((2, 1)))
