"""Emitted code as a string: an ordinary string that displays itself highlighted."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from s2s.inspect.code_string import Code

TEXT = "def f(x):\n    return x < 1.5  # <comment>\n"


class Printer:
    def text(self, text: str) -> None:
        self.printed = text


def test_it_is_a_string() -> None:
    code = Code(TEXT)
    assert code == TEXT and hash(code) == hash(TEXT) and str(code) == TEXT and code + "" == TEXT
    assert isinstance(code, str) and repr(code) == repr(TEXT) and not hasattr(code, "__dict__")
    for other in (copy.deepcopy(code), pickle.loads(pickle.dumps(code))):
        assert other == TEXT and type(other) is Code


def test_html() -> None:
    shown = Code(TEXT)._repr_html_()
    assert '<i class="k">def</i> <i class="d">f</i>(x):' in shown
    assert "&lt;comment&gt;" in shown and "<comment>" not in shown and "<script" not in shown


def test_plain_text_is_the_code_and_no_literal() -> None:
    printer: Any = Printer()
    Code(TEXT)._repr_pretty_(printer, False)
    assert "def" in printer.printed and "\\n" not in printer.printed and "'" not in printer.printed
