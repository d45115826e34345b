"""What the tests of `s2s.tf` share."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2s.objects.tensor import is_immutable


def same(got: Any, want: Any, dtype: Any = None, rtol: float = 1e-12) -> None:
    """Require a tensor of these values and this shape, and of this dtype if one is given."""
    assert is_immutable(got), type(got)
    assert got.shape == np.shape(want)
    assert dtype is None or got.dtype == dtype, got.dtype
    np.testing.assert_allclose(got, want, rtol=rtol)
