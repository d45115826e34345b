"""README, docs, `s2s doctor`, the package and the progress line say the same about what runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from s2s.cli import doctor

ROOT = Path(__file__).resolve().parents[2]
WHAT = "a Numba dispatcher whose loop nests s2s writes"
SENTENCE = f'What runs is {WHAT}; `backend="native"` enters the same nests without Numba'
PAGES = (
    "README.md", "docs/index.md", "docs/backends.md", "docs/how-it-works.md",
    "docs/for-numba-users.md",
)  # fmt: skip


def text(name: str) -> str:
    return re.sub(r"\s+", " ", (ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PAGES)
def test_pages(name: str) -> None:
    assert SENTENCE in text(name)


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_the_first_lines_name_the_compiler(name: str) -> None:
    assert "compiles both with Numba" in text(name)[:500]


def test_the_package_and_the_progress_line() -> None:
    for name in ("pyproject.toml", "CITATION.cff", "s2s/backends/backends.py"):
        assert re.search("compil(ed|ing) with Numba", text(name)), name


def test_doctor() -> None:
    found = doctor._backends(doctor.Findings())
    assert found["numba"] == WHAT
    assert (
        found["native"] == "the same loop nests, entered without Numba" or "off:" in found["native"]
    )
