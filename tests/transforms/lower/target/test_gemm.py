"""The kernel of matrix products on the simulator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from s2s.transforms.lower.target.gemm import gemm_kernel, gemm_kernel_params

SCRIPT = """
import numpy as np
from numba import cuda
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray as F

{text}

rng = np.random.default_rng(0)
err = F(np.zeros(5, np.int64))
for m, n, k, batch in ((17, 3, 20, 1), (1, 1, 1, 2), (2, 3, 0, 1)):
    for swap_a in (False, True):
        for swap_b in (False, True):
            for beta in (0.0, 0.5):
                a = rng.normal(size=(batch, k, m) if swap_a else (batch, m, k))
                b = rng.normal(size=(batch, n, k) if swap_b else (batch, k, n))
                c = rng.normal(size=(batch, m, n)) if beta else np.full((batch, m, n), np.nan)
                x = a.swapaxes(1, 2) if swap_a else a
                y = b.swapaxes(1, 2) if swap_b else b
                want = 2.0 * (x @ y) + (beta * c if beta else 0.0)
                pad = np.full(3, np.nan)
                flat = [np.concatenate([pad, v.ravel()]) for v in (a, b, c)]
                gemm_float64[2, 256](
                    err, swap_a, swap_b, m, n, k, 2.0, F(flat[0]), 3, F(flat[1]), 3, beta,
                    F(flat[2]), 3, batch, m * k, k * n, m * n,
                )
                np.testing.assert_allclose(flat[2][3:].reshape(c.shape), want, rtol=1e-12)
print("equal")
"""


def test_transposes_steps_and_edges():
    script = SCRIPT.format(text=gemm_kernel("float64"))
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True,
        cwd=Path(__file__).parents[4],
    )  # fmt: skip
    assert done.stdout == "equal\n", done.stderr


def test_the_text_has_the_parameters_of_the_contract():
    names = ", ".join(["err", *(name for name, _ in gemm_kernel_params("float32"))])
    page = (Path(__file__).parents[4] / "docs" / "design" / "cuda.md").read_text()
    assert f"({names})" in " ".join(page.split())
    assert "np.float64" not in gemm_kernel("float32")
