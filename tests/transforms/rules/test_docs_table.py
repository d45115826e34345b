"""docs/rules.md is up to date with the rules."""

from __future__ import annotations

from pathlib import Path

from s2s.transforms.rules import RULES, SURFACES
from s2s.transforms.rules.docs_table import render_page
from s2s.transforms.rules.library import LIBRARY

PAGE = Path(__file__).resolve().parents[3] / "docs" / "rules.md"


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), "run `make rules`"


def test_the_page_names_everything() -> None:
    text = render_page()
    assert all(f"| `{name}` |" in text for name in RULES)
    for path in {p for p in {**SURFACES, **LIBRARY} if "eig" not in p}:
        assert (
            path.startswith("s2s.")
            or f".{path.rpartition('.')[2]}`" in text
            or (f"`{path.rpartition('.')[2]}`" in text)
        ), path
