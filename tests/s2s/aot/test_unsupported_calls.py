"""Calls that need Python: their names as the user wrote them, and the line."""

from __future__ import annotations

from s2s import kernels
from s2s.aot import unsupported_calls
from s2s.kernels import linalg, random
from s2s.transforms.rules.random_draws import LEGACY_METHODS


def test_names_are_those_of_the_user() -> None:
    name_of = unsupported_calls.name_of
    assert name_of(kernels.show) == "print"
    assert name_of(random.default_rng) == "np.random.default_rng"
    assert name_of(random.seed) == "np.random.seed"
    for method in ("gumbel", "choice", "integers"):
        for kind in ("one", "fill"):
            assert name_of(getattr(random, f"{kind}_{method}")) == f"Generator.{method}"
    for method in LEGACY_METHODS:
        assert name_of(getattr(random, f"legacy_fill_{method}")) == f"np.random.{method}"


def test_others_are_available() -> None:
    drawn = random.one_standard_normal
    for function in (drawn, linalg.solve, kernels.erf, print, None):
        assert unsupported_calls.name_of(function) is None


class Kind:
    """A Numba function type."""

    typing_key = linalg.eigh_vectors


def test_errors_name_the_function_and_the_line() -> None:
    error = unsupported_calls.error(Kind(), " (line 7: w = eigh(a))")
    assert str(error).startswith("linalg.eigh_vectors is not available ahead of time (line 7:")
    assert unsupported_calls.ADVICE in str(error)
    assert str(unsupported_calls.error(kernels.show, "")).startswith("print is not available")
