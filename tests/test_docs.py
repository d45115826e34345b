"""The documentation is true: every Python block runs, and what it shows is what it prints.

In README.md and docs/, a fenced block that opens with

    ```python             runs, together with the other blocks of its page, in order
    ```python no-run      is only shown
    ```text output        is exactly what the block before it printed (`python output` too)

A block is a file of its own; a first line like `# model.py` names it.  After a change of the
emitted code, `make golden` rewrites the output blocks.
"""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"# (\w+\.py)\n")


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


def run_page(page: str, folder: Path) -> tuple[str, list[tuple[str, str]]]:
    """The page with true output blocks, and the (shown, printed) pairs."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    pieces, pairs, done, printed = [], [], 0, ""
    for number, block in enumerate(fenced(page)):
        if block.kind == "output":
            pieces += [page[done : block.start], printed]
            pairs.append((block.text, printed))
            done = block.end
        elif block.language == "python" and block.kind == "":
            name = NAME.match(block.text)
            path = folder / str(number) / (name[1] if name else "example.py")
            path.parent.mkdir()
            path.write_text(block.text, encoding="utf-8")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block.text, str(path), "exec"), namespace)
            lines = out.getvalue().replace(f"{path.parent}/", "").rstrip().splitlines()
            printed = "".join(f"{line.rstrip()}\n" for line in lines)
    return "".join(pieces) + page[done:], pairs


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_page(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    page = path.read_text(encoding="utf-8")
    true_page, pairs = run_page(page, tmp_path)
    if update_golden:
        path.write_text(true_page, encoding="utf-8")
        return
    for shown, printed in pairs:
        assert shown == printed


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links(path: Path) -> None:
    """Links between the pages lead somewhere."""
    prose = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_page_runner(tmp_path: Path) -> None:
    page = "```python\n# a.py\nx = 1\nprint(x)\n```\n```text output\nold\n```\n"
    page += "```python no-run\nraise OSError\n```\n"
    true_page, pairs = run_page(page, tmp_path)
    assert pairs == [("old\n", "1\n")]
    assert true_page == page.replace("old", "1")
