"""Gradient clipping, as in TensorFlow's functions of the same names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s

A, B = np.array([[3.0, -4.0]], np.float32), np.array([12.0], np.float32)


@pytest.mark.parametrize("backend", [None, "loops", "python"])
def test_clipping(backend: str | None) -> None:
    def run(a: Any, b: Any) -> Any:
        both, norm = s2s.clip_by_global_norm([a, None, b], 6.5)
        kept, _ = s2s.clip_by_global_norm([a, b], 100.0)
        return (
            both[0], both[2], norm, kept[1], s2s.clip_by_norm(a, 1.0), s2s.clip_by_norm(a, 10.0),
            s2s.clip_by_value(a, -2.0, 2.0),
        )  # fmt: skip

    if backend is not None:
        run = s2s.function(run, backend=backend)
    wants = (A / 2, B / 2, 13.0, B, A / 5, A, [[2.0, -2.0]])
    for got, want in zip(run(A, B), wants):
        np.testing.assert_allclose(got, want, rtol=1e-6)
        assert np.asarray(got).dtype == np.float32


def test_of_zero_gradients() -> None:
    np.testing.assert_array_equal(s2s.clip_by_norm(np.zeros(3), 1.0), np.zeros(3))
    (zeros,), norm = s2s.clip_by_global_norm([np.zeros(3)], 1.0)
    assert norm == 0.0 and not zeros.any()


def test_none_passes_only_where_others_count() -> None:
    clipped, norm = s2s.clip_by_global_norm([None, B], 6.0)
    assert clipped[0] is None and norm == 12.0
    with pytest.raises(ValueError, match="no gradient that is not None"):
        s2s.clip_by_global_norm([None], 1.0)
    with pytest.raises(TypeError, match="takes a list of gradients, not a ndarray"):
        s2s.clip_by_global_norm(A, 1.0)
    with pytest.raises(ValueError, match="clip_by_norm was given None"):
        s2s.clip_by_norm(None, 1.0)
