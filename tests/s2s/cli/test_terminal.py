"""Terminal output: when there are colours and columns, and what plain output looks like."""

from __future__ import annotations

import argparse
import io
import sys
from typing import Any

import pytest

from s2s.cli import terminal
from s2s.cli.terminal import Page
from s2s.inspect.side_by_side import Emitted, Listing, Sides


class Terminal(io.StringIO):
    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    terminal.add_options(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    "words, is_terminal, no_color, coloured",
    [
        ((), True, None, True), ((), False, None, False), ((), True, "1", False),
        (("--color", "always"), False, "1", True), (("--color", "never"), True, None, False),
    ],
)  # fmt: skip
def test_colours(
    words: Any, is_terminal: bool, no_color: str | None, coloured: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal(is_terminal))
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    pytest.importorskip("rich")
    page = terminal.page(options(*words))
    assert (page.console is not None) is coloured
    assert page.is_terminal is (is_terminal or "always" in words)
    monkeypatch.setattr(terminal, "_has_rich", lambda: False)
    assert terminal.page(options(*words)).console is None


def test_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    assert terminal.page(options()).width == 77
    assert terminal.page(options("--width", "140")).width == 140


def test_wrong_options(capsys: Any) -> None:
    for words in (("--color", "blue"), ("--width", "wide")):
        with pytest.raises(SystemExit) as info:
            options(*words)
        assert info.value.code == 2


def test_plain_output(capsys: Any) -> None:
    page = Page(80, False, False)
    page.title("reverse \x1b[31m")
    page.code("x = 1\ny = '\x1b]0;title\x07'\n\n", "python")
    page.raw("as it is")
    out = capsys.readouterr().out
    assert out.startswith("# ---- reverse ") and "x = 1\n" in out and out.endswith("as it is\n")
    assert "\x1b" not in out and "\x07" not in out  # a file cannot control the terminal


FILE = "/home/user/a model.py"
BOTH = Sides(
    [Listing("f", FILE, 10, ("def f(x):", "    return x * x"))],
    [Emitted(1, "def f_vjp(x):"), Emitted(2, "    out = x * x", ((FILE, 11),))],
    {(FILE, 11): [2]},
)


@pytest.mark.parametrize("width, columns", [(119, 1), (120, 2)])
def test_columns(width: int, columns: int, capsys: Any) -> None:
    Page(width, False, False).sides(BOTH)
    lines = capsys.readouterr().out.splitlines()
    assert all(("│" in line) == (columns == 2) for line in lines)
    assert max(map(len, lines)) <= width and all(line == line.rstrip() for line in lines)
    assert any("L11" in line and "out = x * x" in line for line in lines)


def test_coloured_output_links_to_the_file(capsys: Any) -> None:
    pytest.importorskip("rich")
    page = Page(120, True, True)
    page.sides(BOTH)
    page.code("def f(x):\n    return 1\n", "python")
    out = capsys.readouterr().out
    assert "file:///home/user/a%20model.py#L11" in out and "\x1b[" in out
