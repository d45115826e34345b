"""The documentation builds into a site without a warning; the site needs nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# What a browser would fetch by itself; links are for readers.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(\w+:)?//
    | <link\b[^>]*\brel=["']?(?:stylesheet|preconnect|preload|icon)\b[^>]*\bhref=["']?(\w+:)?//
    | url\(["']?(?:https?:)?// | @import""",
    re.VERBOSE,
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_there(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        name = "index.html" if page.name == "README.md" else f"{page.stem}.html"
        built = site / page.parent.relative_to(ROOT / "docs") / name
        assert "<h1" in built.read_text(encoding="utf-8"), built


def test_every_page_is_listed_once() -> None:
    listed = re.findall(r"^ +- .*?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = [p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")]
    # Benchmarks are written when they are measured.
    assert sorted(listed) == sorted({*pages, "benchmarks.md", "CONTRIBUTING.md", "CHANGELOG.md"})


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        found = FETCHED.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path.relative_to(site)}: {found}"


def test_words_for_the_tests_are_not_shown(site: Path) -> None:
    """Fences that the site does not understand would stand in the page as text."""
    for path in site.rglob("*.html"):
        assert "```" not in path.read_text(encoding="utf-8").replace("<code>```", ""), path


@pytest.mark.parametrize(
    "text, fetched",
    [
        ('<script src="https://unpkg.com/x.js">', True),
        ('<link rel="stylesheet" href="//fonts.example/css">', True),
        ("@font-face { src: url(https://fonts.example/a) }", True),
        ('<a href="https://example.org">, <script src="assets/a.js">', False),
    ],
)
def test_what_counts_as_fetched(text: str, fetched: bool) -> None:
    assert bool(FETCHED.search(text)) == fetched
