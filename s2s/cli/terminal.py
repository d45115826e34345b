"""Terminal output of code: highlighted if `rich` is installed, else plain text."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import Any

from ..inspect.side_by_side import Sides
from ..transforms.ir.quote import printable, printable_lines
from . import side_by_side_columns

TWO_COLUMN_WIDTH = 120  # minimum terminal width for the two-column layout


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    parser.add_argument("--width", type=int, metavar="N", help="columns, instead of the terminal's")


def page(options: argparse.Namespace) -> Page:
    """The output page of a command, from its options and the terminal."""
    terminal = sys.stdout.isatty()
    coloured = options.color == "always" or (
        options.color == "auto" and terminal and not os.environ.get("NO_COLOR")
    )
    width = options.width or shutil.get_terminal_size((100, 24)).columns
    return Page(width, terminal or options.color == "always", coloured and _has_rich())


def _has_rich() -> bool:
    import importlib.util

    return importlib.util.find_spec("rich") is not None


class Page:
    """Prints code and tables, in colour or plain."""

    def __init__(self, width: int, is_terminal: bool, coloured: bool) -> None:
        self.width = width
        self.is_terminal = is_terminal
        self.console: Any = None
        if coloured:
            from rich.console import Console

            self.console = Console(
                file=sys.stdout, force_terminal=True, width=width, highlight=False
            )

    def raw(self, text: str) -> None:
        print(text)

    def title(self, text: str) -> None:
        text = printable(text)
        if self.console is not None:
            from rich.text import Text

            self.console.rule(Text(text, "bold"), align="left")
        else:
            print(f"# ---- {text}")

    def code(self, text: str, language: str) -> None:
        text = printable_lines(text)
        if self.console is None:
            print(text.rstrip("\n"))
        else:
            self.console.print(highlighted(text.rstrip("\n"), language), soft_wrap=True)

    def sides(self, both: Sides) -> None:
        wide = self.width >= TWO_COLUMN_WIDTH and bool(both.listings)
        rows = side_by_side_columns.paired(both) if wide else side_by_side_columns.single(both)
        width = (self.width - 3) // 2 if wide else self.width
        for row in rows:
            if self.console is None:
                print(side_by_side_columns.plain(row, width).rstrip())
            else:
                self.console.print(_coloured(row, width), soft_wrap=True)


def highlighted(text: str, language: str) -> Any:
    """The highlighted text, as a `rich.text.Text`."""
    from rich.syntax import Syntax

    made = Syntax("", language, theme="ansi_dark", background_color="default").highlight(text)
    made.rstrip()
    return made


# Colours of the user's lines, assigned cyclically; emitted lines have the colour of their origin.
_PALETTE = ("cyan", "magenta", "yellow", "green", "blue", "red")


def _coloured(row: side_by_side_columns.Row, width: int) -> Any:
    from urllib.parse import quote

    from rich.text import Text

    out = Text()
    for k, cell in enumerate(row):
        if k:
            out.append(" │ ", "dim")
        if cell is None:
            out.append(" " * width)
            continue
        gutter = side_by_side_columns.gutter(cell)
        text = Text(gutter, "dim")
        if cell.mark is not None and cell.place is not None:
            # The label of the user's line has its colour and links to the file.  The path is
            # percent-encoded, because a space would end the style.
            path = quote(os.fsencode(os.path.abspath(cell.place[0])))
            link = f"link file://{path}#L{cell.place[1]}"
            label = gutter.split()[-1]
            start = gutter.rindex(label)
            style = f"not dim {_PALETTE[cell.mark % len(_PALETTE)]} {link}"
            text.stylize(style, start, start + len(label))
        code = highlighted(
            side_by_side_columns.fitted(cell.text, width - len(gutter), len(row) > 1), "python"
        )
        if cell.faint:
            code.stylize("dim")
        text = Text().append_text(text).append_text(code)
        if len(row) > 1 and k == 0:
            text.pad_right(max(0, width - text.cell_len))
        out.append_text(text)
    return out
