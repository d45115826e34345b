"""The pages of the documentation, their fenced blocks and their tables of equivalents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^\| \w+ \| here \|\n\|---\|---\|\n((?:\|.*\n)+)", re.MULTILINE)
ROW = re.compile(r"\| `([^`]+)` \| `([^`]+)`(?:, [^|]*)? \|")


@dataclass
class Fenced:
    """One fenced block; `start` and `end` delimit its text in the page."""

    language: str
    kind: str
    text: str
    start: int
    end: int


def fenced(page: str) -> list[Fenced]:
    found = []
    for match in FENCE.finditer(page):
        language, _, kind = match["info"].strip().partition(" ")
        found.append(Fenced(language, kind, match["text"], match.start("text"), match.end("text")))
    return found


def functions(page: str) -> str:
    """The block of a page that defines the names used in its tables."""
    return next(b.text for b in fenced(page) if b.text.startswith("# functions.py\n"))


def rows(page: str) -> list[tuple[str, str]]:
    """The rows of the tables whose second column is headed "here".  In a cell, prose follows a
    comma."""
    found = []
    for table in TABLE.findall(page):
        for line in table.splitlines():
            row = ROW.fullmatch(line)
            assert row, line
            found.append((row[1], row[2]))
    return found
