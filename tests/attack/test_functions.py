"""Every function of NumPy and SciPy that is supported agrees with them; all others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..scale import sample
from . import functions as f

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"
SUPPORTED = [p for p in f.paths() if f.is_supported(p)]
REFUSED = [p for p in f.paths() if not f.is_supported(p)]


def groups(cases: list, size: int) -> list:
    """A test each for some of the cases, since a case alone takes less time than a test."""
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
    """A deviation that is gone loses its excuse."""
    assert f.deviations(path)


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
