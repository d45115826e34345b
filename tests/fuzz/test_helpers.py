"""Random programs of helpers in three modes; all of them with `S2S_TEST_ALL`."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fuzz import helpers
from tests.oracle import finite_differences
from tests.scale import count


@pytest.mark.parametrize("seed", range(count(12, 1000)))
def test_modes_agree(seed: int) -> None:
    helpers.check(seed)


def test_programs_are_varied_and_reproducible() -> None:
    texts = [helpers.made(seed)[0] for seed in range(80)]
    assert texts == [helpers.made(seed)[0] for seed in range(80)]
    assert len({*texts}) == 80
    together = "\n".join(texts)
    for part in ("return a * 1.0, b", "if np.sum(x)", "x[1:] +=", "def inner", "deep", "for i in",
                 "while ", "x[i:]", "n - 1"):  # fmt: skip
        assert part in together, part


def test_the_gradient_of_inlining_is_that_of_differences() -> None:
    """The expected gradients of the other modes."""
    import s2s

    _, f = helpers.made(3)
    args = np.array([0.31, 0.52, 0.73, 0.14]), np.array([0.2, -0.4, 0.6, 0.9]), 3
    want = finite_differences(f, args, {}, ("a", "b"))
    got = s2s.grad(f, wrt=(0, 1), backend="loops")(*args)
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
