"""Products that are zero with a scalar, if some arrays hold no large elements."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.lower.analysis.parameters import Parameters
from s2s.transforms.lower.analysis.zero_product import (
    MAX_FACTORS,
    MAX_MAGNITUDE,
    ScalarDefinitions,
    keeps_zero,
)
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import expr, ir

F = {**dict.fromkeys("stuw", "float64"), "b": "bool"}
S = L.Name("s", "float64")


def numbers(
    source: str = "", changed: str = "", may_alias=lambda a, b: a == b
) -> ScalarDefinitions:
    stores = "".join(f"\n{name}[0] = 1.0" for name in changed)
    sizes: dict[str, tuple[L.Expr, ...]] = {name: (L.Size(name, 0),) for name in "xyzi"}
    dtypes = {"x": "float64", "y": "float32", "z": "float64", "i": "int64"}
    params = Parameters(dtypes, sizes, frozenset(), set())
    return ScalarDefinitions(ir(source + stores, **F), [*"xyzisb"], params, may_alias)


def test_definitions_and_readers():
    found = numbers("t = s * 2.0\nu = t + t\nw = s\nw = t")
    assert found.known == {"t": expr("s * 2.0", **F), "u": expr("t + t", **F)}
    assert found.dtypes == {"t": "float64", "u": "float64"}
    assert found.read["t"] == 2 and found.read["s"] == 2
    assert found.names([L.Name("u", "float64")]) == {"u", "t", "s"}


def test_what_the_previous_iteration_defined_is_not_known():
    found = numbers("for k in range(n):\n    t = u + 1.0\n    u = s * 2.0")
    assert "t" not in found.known and "u" in found.known


def test_parameters_are_not_known():
    assert "s" not in numbers("s = w * 2.0").known


def test_arrays_that_are_only_read():
    assert numbers().ranks == {"x": 1, "y": 1, "z": 1}  # integers have no infinity
    assert numbers(changed="x").ranks == {"y": 1, "z": 1}
    assert numbers(changed="x", may_alias=lambda a, b: {a, b} <= {"x", "z"}).ranks == {"y": 1}
    assert numbers("rt.draws.seed(x[0])").ranks.keys() == {"x", "y", "z"}


@pytest.mark.parametrize(
    ("source", "arrays"),
    [
        ("s", set()),
        ("-s", set()),
        ("s * 2.0", set()),
        ("s * x[0]", {"x"}),
        ("x[0] * s * y[1]", {"x", "y"}),
        ("s * (x[0] + y[0])", {"x", "y"}),
        ("s * x[0] - s * y[0]", {"x", "y"}),
        ("s if b else 0.0", set()),
        ("s * np.float64(b)", set()),
        ("t * x[0]", {"x"}),  # t = s * 2.0
        ("s * -x[0]", {"x"}),
    ],
)
def test_zero_with_the_scalar(source, arrays):
    types = {**F, "y": "float64[:]"}
    assert numbers("t = s * 2.0").arrays_if_zero([expr(source, **types)], S) == arrays


@pytest.mark.parametrize(
    "source",
    [
        "u",
        "s + 1.0",
        "s + x[0]",
        "x[0]",
        "s / x[0]",  # zero by zero
        "x[0] / s",
        "s * u",  # which may be infinite
        "s * np.exp(x[0])",
        "s * (1.0 / x[0])",
        "s if b else 1.0",
        "s * np.float64(np.inf)",
        "s * 1e10",
        "np.sin(s)",
    ],
)
def test_may_be_nonzero(source):
    assert numbers().arrays_if_zero([expr(source, **F)], S) is None


def test_arrays_that_are_written_to():
    assert numbers(changed="x").arrays_if_zero([expr("s * x[0]", **F)], S) is None


def test_the_number_of_factors_is_limited():
    product = " * ".join(["x[0]"] * MAX_FACTORS)
    assert numbers().arrays_if_zero([expr(f"s * ({product})", **F)], S) == {"x"}
    assert numbers().arrays_if_zero([expr(f"s * ({product} * x[0])", **F)], S) is None
    # In a sum the longest term counts.
    assert numbers().arrays_if_zero([expr(f"s * ({product} + x[0])", **F)], S) == {"x"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_the_largest_factors_are_finite(dtype):
    assert MAX_MAGNITUDE[dtype] ** MAX_FACTORS * 1000 < float(np.finfo(dtype).max)


def test_all_expressions_must_be_zero():
    both = [expr("s", **F), expr("s * x[0]", **F)]
    assert numbers().arrays_if_zero(both, S) == {"x"}
    assert numbers().arrays_if_zero([*both, expr("u", **F)], S) is None


def test_given_zeros_and_small_scalars():
    found = numbers()
    assert found.arrays_if_zero([expr("u * x[0]", **F)], lambda e: e == L.Name("u", "float64")) == {
        "x"
    }
    assert found.arrays_if_zero([expr("s * w", **F)], S, frozenset({"w"})) == set()


@pytest.mark.parametrize(
    ("source", "truth"),
    [
        ("np.float64(b)", True),
        ("np.float64(b) + np.float64(b)", True),
        ("2.0 * np.float64(b)", True),
        ("t", True),  # t = np.float64(b)
        ("u", False),
        ("np.float64(b) * np.float64(b)", False),
        ("np.float64(b) - np.float64(b)", False),
        ("np.float64(k)", False),
    ],
)
def test_sums_of_booleans(source, truth):
    assert numbers("t = np.float64(b)").is_boolean_sum(expr(source, **F)) is truth


def test_a_running_sum_of_booleans_is_none():
    found = numbers("for k in range(n):\n    w = w + np.float64(b)")
    assert not found.is_boolean_sum(L.Name("w", "float64"))


@pytest.mark.parametrize(
    ("source", "keeps"),
    [
        ("x[0]", True),
        ("-x[0]", True),
        ("2.0 * x[0]", True),
        ("x[0] / 3.0", True),
        ("x[0] - x[0] * 0.5", True),
        ("3.0 / x[0]", False),
        ("x[0] * 0.0", False),
        ("x[0] / 0.0", False),
        ("x[0] * np.float64(np.inf)", False),
        ("x[0] * s", False),
        ("x[0] + 1.0", False),
        ("x[1]", False),
    ],
)
def test_multiples_of_an_element(source, keeps):
    load = expr("x[0]")
    assert isinstance(load, L.Load)
    assert keeps_zero(expr(source, **F), load) is keeps


def test_integers_are_no_elements_that_keep_zero():
    load = expr("x[0]", x="int64[:]")
    assert isinstance(load, L.Load) and not keeps_zero(load, load)
