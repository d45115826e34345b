"""Untrusted text stays inside of the comment, string, name or line that it is written into."""

from __future__ import annotations

import ast
import html.parser
import io
import os
import re
import tokenize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from s2s.transforms.ir.quote import (
    attribute,
    c_comment,
    c_identifier,
    file_name,
    html_text,
    printable,
    printable_lines,
    python_comment,
    python_docstring,
)

HOSTILE = [
    "", "plain", "naïve", "a\nb", "a\r\nb", "\x0c", "\x85", "\u2028", "\x1b[31m", "\u202e",
    "\ud800", "\\", '"""', '\\"', "'", "*/ int x; /*", "/*", "*", "/", "ends in \\", "??/",
    "coding: latin-1", "-*- coding=utf-7 -*-", "<b>&amp;\"'", "\x00", "😀",
]  # fmt: skip
TEXT = st.text(max_size=12) | st.sampled_from(HOSTILE)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("naïve 😀", "naïve 😀"),
        ("a\nb", r"a\nb"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202eabc", r"\u202eabc"),
        ("\ud800", r"\ud800"),
        ("a\tb", r"a\tb"),
    ],
)
def test_control_characters_are_escaped(text: str, quoted: str) -> None:
    assert printable(text) == quoted


def test_of_several_lines_breaks_and_tabs_are_kept() -> None:
    assert printable_lines("a\n\tb\r\x07") == "a\n\tb\\r\\x07"


@given(TEXT)
def test_printable_text_is_one_line(text: str) -> None:
    quoted = printable(text)
    assert quoted.isprintable() and len(quoted.splitlines()) <= 1
    quoted.encode()
    if text.isprintable():
        assert quoted == text


@given(TEXT)
@example("coding: latin-1")
def test_a_python_comment_ends_with_its_line_and_sets_no_encoding(text: str) -> None:
    source = f"# {python_comment(text)}\nx = 1\n".encode()
    assert tokenize.detect_encoding(io.BytesIO(source).readline)[0] == "utf-8"
    assert ast.unparse(ast.parse(source)) == "x = 1"


@given(TEXT)
def test_a_docstring_is_one_string_and_reads_as_the_printable_text(text: str) -> None:
    source = python_docstring(text)
    assert len(source.splitlines()) == 1
    value = ast.literal_eval(source)
    assert printable(value) == printable(text)
    if text.isprintable():
        assert value == text


@given(TEXT.filter(lambda name: name and not name.startswith("__")))
@example("class")
@example("π")
@example("µ")  # as an identifier, Python reads it as another letter
def test_an_attribute_of_any_name_is_read(name: str) -> None:
    class Holder:
        pass

    holder = Holder()
    setattr(holder, name, 7)
    source = attribute("holder", name)
    assert eval(source, {"holder": holder}) == 7


def test_an_attribute_with_a_common_name_is_written_as_usual() -> None:
    assert attribute("self", "weights") == "self.weights"
    assert attribute("self", "None") == "getattr(self, 'None')"


@given(TEXT)
@example("*/")
@example("**//")
@example("/*/")
def test_a_c_comment_is_one_comment(text: str) -> None:
    inner = c_comment(text)
    whole = f"/*{inner}*/"
    assert whole.index("*/", 2) == len(whole) - 2
    assert "/*" not in whole[1:]
    assert not inner.endswith("\\") and len(inner.splitlines()) <= 1


@given(st.text(max_size=12))
@example("naïve.step 2")
def test_a_c_identifier_has_no_other_characters(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_]*", c_identifier(name))


def test_c_identifiers_of_letters_keep_their_code_points() -> None:
    assert c_identifier("h_π") == "h_u03c0"
    assert c_identifier("Dense.call-2") == "Dense_call_2"
    assert c_identifier("ά") != c_identifier("ή")


@given(TEXT)
def test_html_text_is_text(text: str) -> None:
    events: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            events.append(tag)

        def handle_comment(self, data: str) -> None:
            events.append(data)

    Reader().feed(f'<p title="{html_text(text)}">{html_text(text)}</p>')
    assert events == ["p"]
    assert html.unescape(html_text(text)) == printable_lines(text)


def test_a_file_name_has_no_directory() -> None:
    assert file_name(os.path.join("secret", "model\n.py")) == r"model\n.py"
