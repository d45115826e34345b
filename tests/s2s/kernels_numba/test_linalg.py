"""Every matrix function of the runtime has a compiled version."""

# ruff: noqa: E402

from __future__ import annotations

import inspect

import pytest

pytest.importorskip("numba")

import s2s.kernels_numba.linalg  # noqa: F401
from s2s.kernels import linalg, registry


def test_all_are_registered() -> None:
    functions = [f for n, f in vars(linalg).items() if inspect.isfunction(f) and n[0] != "_"]
    assert len(functions) > 15
    for function in functions:
        ranks = (2,) * len(inspect.signature(function).parameters)
        assert registry.compiled_form(function, ranks) is not None, function
