"""Arguments of builtins."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.specialise.signatures import misfit


@pytest.mark.parametrize(
    "function, args, kwargs",
    [(len, ("a",), {}), (range, (1, 2, 3), {}), (zip, (), {"strict": True}),
     (max, (1,), {"key": len}),
     (getattr, ("a", "b", None), {}), (np.arange, (0, 3, 1, float), {})],
)  # fmt: skip
def test_what_fits(function, args, kwargs) -> None:
    assert misfit(function, args, kwargs) == ""


@pytest.mark.parametrize(
    "function, args, kwargs",
    [(len, (), {}), (range, (1, 2, 3, 4), {}), (zip, (), {"loose": True}), (sum, (), {})],
)
def test_what_does_not_fit(function, args, kwargs) -> None:
    assert misfit(function, args, kwargs).startswith(f"{function.__name__}(): ")
