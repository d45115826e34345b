"""Every supported function of NumPy and SciPy agrees with the library; all others are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import linalg, special

import s2s

from ..scale import sample
from . import functions as f

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"
SUPPORTED = [p for p in f.paths() if f.is_supported(p)]
REFUSED = [p for p in f.paths() if not f.is_supported(p)]


def groups(cases: list, size: int) -> list:
    """Groups of cases, one test each, because a single case takes less time than the overhead of a
    test."""
    return [cases[i : i + size] for i in range(0, len(cases), size)]


@pytest.mark.parametrize("cases", groups(sample(f.cases(), 240), 20))
def test_values(cases: list) -> None:
    found = {case: f.wrong(*case) for case in cases}
    assert not {k: v for k, v in found.items() if v}


@pytest.mark.parametrize("paths", groups(sample(SUPPORTED, 30), 10))
def test_derivatives(paths: list) -> None:
    found = {p: f.derivatives(p) for p in paths}
    assert not {p: o.detail for p, o in found.items() if o.verdict == "wrong"}


@pytest.mark.parametrize("paths", groups(sample(REFUSED, 40), 10))
def test_refusals(paths: list) -> None:
    found = {p: f.refusal(p) for p in paths}
    assert not {p: v for p, v in found.items() if v}


def test_compiled() -> None:
    cases = [c for c in f.cases() if c[1] == "float64" and c[2] == "special"]
    found = {case: f.wrong(*case, backend="numba") for case in sample(cases, 3, seed=4)}
    assert not {k: v for k, v in found.items() if v}


@pytest.mark.parametrize("path", f.KNOWN)
def test_known_deviations_are_met(path: str) -> None:
    """A deviation that no longer occurs must be removed from the list."""
    assert f.deviations(path)


# ---------------------------------------------------------------- calls that the table lacks


def mean_of_integers(x: Any) -> Any:
    return np.mean(x), np.mean(x, where=x > 0), np.average(x), np.nanmean(x)


def test_means_of_integers_do_not_wrap() -> None:
    for dtype in (np.int64, np.uint64):
        largest = np.iinfo(dtype).max
        x = np.array([largest, largest - 7, largest // 2], dtype)
        got = s2s.function(mean_of_integers, backend="loops")(x)
        np.testing.assert_allclose(got, mean_of_integers(x), rtol=1e-12)


def near(x: Any, y: Any) -> Any:
    return np.isclose(x, y, atol=2)


def test_isclose_of_unsigned_integers() -> None:
    x, y = np.array([1, 0, 255], np.uint8), np.array([2, 255, 254], np.uint8)
    np.testing.assert_array_equal(s2s.function(near, backend="loops")(x, y), near(x, y))


def put_outside(x: Any) -> Any:
    x = x.copy()
    np.put(x, [0, 7], [1.0, 2.0])
    return x


def test_put_outside_is_an_error() -> None:
    with pytest.raises(IndexError):
        s2s.function(put_outside, backend="loops")(np.zeros(3))


MIXED: list[tuple[Any, Any]] = [
    (np.float32(1.5), 2), (2.0, np.float32(1.5)), (np.float32(1.5), np.int8(2)),
    (np.int32(2), np.float32(1.5)), (np.int8(2), 2), (2.0, np.int8(2)), (True, np.float32(1.5)),
    (2, 3), (np.float64(1.5), np.float32(2.5)), (np.bool_(True), 2),
]  # fmt: skip


def two_operands(x: Any, y: Any) -> Any:
    return (
        special.beta(x, y), special.betaln(x, y), special.xlogy(x, y), special.xlog1py(x, y),
        special.huber(x, y), special.pseudo_huber(x, y), special.rel_entr(x, y),
        special.kl_div(x, y),
    )  # fmt: skip


@pytest.mark.parametrize("pair", MIXED)
def test_dtypes_of_two_operands(pair: tuple[Any, Any]) -> None:
    got, want = s2s.function(two_operands, backend="loops")(*pair), two_operands(*pair)
    assert [np.asarray(v).dtype for v in got] == [np.asarray(v).dtype for v in want]
    np.testing.assert_allclose(got, want, rtol=1e-5)


def solved(a: Any, b: Any) -> Any:
    return linalg.solve(a, b, check_finite=False)


def solved_and_checked(a: Any, b: Any) -> Any:
    return linalg.solve(a, b)


def test_linear_algebra_checks_for_infinities() -> None:
    a, b = np.array([[2.0, 1.0], [1.0, np.inf]]), np.ones(2)
    with pytest.raises(ValueError, match="must not contain infs or NaNs"):
        s2s.function(solved_and_checked, backend="loops")(a, b)
    with np.errstate(all="ignore"):
        s2s.function(solved, backend="loops")(a, b)


# ---------------------------------------------------------------- the page


def test_page_has_every_function() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for path in SUPPORTED:
        assert f"| `{path}` |" in text, "run python -m tests.attack.functions > docs/functions.md"
    for path in REFUSED:
        assert f"`{path.rpartition('.')[2]}`" in text, path


@pytest.mark.parametrize("paths", groups(sample(SUPPORTED, 12, seed=2), 6))
def test_page_is_current(paths: list) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for path in paths:
        assert f.row(path) in lines, "run python -m tests.attack.functions > docs/functions.md"


@pytest.mark.parametrize("backend", ["loops", None])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ldexp_of_every_exponent(dtype: str, backend: Any) -> None:
    def scaled(x: Any, n: Any) -> Any:
        return np.ldexp(x, n)

    rng = np.random.default_rng(0)
    kind = np.finfo(dtype)
    x = rng.normal(size=400) * 2.0 ** rng.uniform(kind.minexp - 40, kind.maxexp - 2, size=400)
    x = np.concatenate([x.astype(dtype), np.array([0.0, -0.0, np.inf, np.nan, kind.tiny], dtype)])
    n = np.concatenate([rng.integers(-2300, 2300, 390), [0, 1, 2**31 - 1, -(2**31), 5] * 3])
    n = n.astype(np.int32)
    with np.errstate(all="ignore"):
        expected = np.ldexp(x, n)
    got = s2s.function(scaled, backend=backend)(x, n)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    finite = np.isfinite(x) & (np.abs(n) < 100)
    slopes = s2s.grad(lambda x, n: np.sum(np.ldexp(x, n)), backend=backend)(x[finite], n[finite])
    np.testing.assert_array_equal(slopes, np.ldexp(np.ones_like(x[finite]), n[finite]))
