"""Families of tests that run as samples exist under the names that `tests/scale.py` gives them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.scale import FAMILIES

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sampled_family_exists(family: str) -> None:
    path, _, name = family.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE)
