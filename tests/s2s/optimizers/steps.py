"""What the tests of optimizers share: steps of an optimizer beside a formula for one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import s2s

START = [0.5, -1.25, 2.0]
# One row of gradients for each step; the last column is always zero.
GRADIENTS = [[0.3, -2.0, 0.0], [-0.7, 0.25, 0.0], [1.5, 0.5, 0.0]]

# From the value before the first step and the gradients so far, the value after the last step.
Formula = Callable[[float, list[float]], float]


def check_steps(optimizer: Any, formula: Formula, dtype: str = "float64") -> None:
    """Compare each of three steps, for each entry, with the formula in Python's floats."""
    w = s2s.Variable(np.array(START, dtype))
    rtol = 1e-11 if dtype == "float64" else 2e-5
    for t, row in enumerate(GRADIENTS, 1):
        optimizer.apply_gradients([(np.array(row, dtype), w)])
        want = [formula(w0, [g[i] for g in GRADIENTS[:t]]) for i, w0 in enumerate(START)]
        np.testing.assert_allclose(w.numpy(), want, rtol=rtol, atol=1e-12)
        assert optimizer.iterations == t
    assert w.dtype == dtype
    for slots in optimizer.slots.values():
        assert [slot.dtype for slot in slots] == [dtype]
