import numpy as np
import pytest

pytest.importorskip("numba_cuda")

import s2s
from s2s.cuda import cublas
from tests.s2s.cuda.fake_core import Machine


@pytest.mark.parametrize("dtype", (np.float64, np.float32))
@pytest.mark.parametrize("swap_b", (False, True))
@pytest.mark.parametrize("swap_a", (False, True))
def test_products(monkeypatch, rng, swap_a, swap_b, dtype):
    machine = Machine(monkeypatch)
    machine.with_cublas(monkeypatch)
    m, n, k, batch = 3, 4, 5, 2
    a = rng.random((batch, k, m) if swap_a else (batch, m, k)).astype(dtype)
    b = rng.random((batch, n, k) if swap_b else (batch, k, n)).astype(dtype)
    c = rng.random((1 + batch * m * n,)).astype(dtype)
    on_device = [s2s.to_device(x) for x in (a, b, c)]
    gemm = cublas.Gemm(4096)
    assert gemm(swap_a, swap_b, m, n, k, 2.0, on_device[0], 0, on_device[1], 0, 0.5, on_device[2],
                1, batch, m * k, k * n, m * n)  # fmt: skip
    left = a.transpose(0, 2, 1) if swap_a else a
    right = b.transpose(0, 2, 1) if swap_b else b
    expected = 2.0 * (left @ right) + 0.5 * c[1:].reshape(batch, m, n)
    found = on_device[2].numpy()
    np.testing.assert_allclose(found[1:].reshape(batch, m, n), expected, rtol=1e-5)
    assert found[0] == c[0]


def test_without_the_library_a_kernel_is_used(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(cublas, "import_module", missing)
    gemm = cublas.Gemm(0)
    assert not gemm(False, False, 1, 1, 1, 1.0, None, 0, None, 0, 0.0, None, 0, 1, 0, 0, 0)
    assert not cublas.Gemm(0)(
        False, False, 1, 1, 0, 1.0, None, 0, None, 0, 0.0, None, 0, 1, 0, 0, 0
    )
