"""Messages of errors: location, cause, the line with a caret, advice; and what they derive from."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir.errors import (
    S2SError,
    S2SLinAlgError,
    S2STypeError,
    S2SValueError,
    SourceError,
    UnsupportedError,
)
from s2s.transforms.ir.nodes import Span

SPAN = Span("model.py", 12, 4, 12, 9)


def test_a_message_alone() -> None:
    error = S2SError("no luck")
    assert str(error) == error.message == "no luck"
    assert error.file is error.line is error.column is None and error.advice == ""


def test_a_message_with_location_line_and_advice() -> None:
    error = S2SError("no luck", span=SPAN, source_line="    set(x)[0]\n", advice="use a list")
    assert str(error).splitlines() == [
        "model.py:12:5: no luck",
        "        set(x)[0]",
        "        ^^^^^",
        "help: use a list",
    ]
    assert (error.file, error.line, error.column) == ("model.py", 12, 4)


@pytest.mark.parametrize(
    ("span", "carets"),
    [
        (Span("m.py", 1, 2, 1, 2), 1),  # an empty span has one caret
        (Span("m.py", 1, 2, 3, 1), 4),  # a span of several lines: to the end of the first
        (Span("m.py", 1, 6, 2, 1), 1),
    ],
)
def test_the_length_of_the_caret(span: Span, carets: int) -> None:
    last = str(S2SError("no", span=span, source_line="x = {1\n")).splitlines()[-1]
    assert last == " " * (4 + span.col) + "^" * carets


def test_without_a_span_the_line_is_not_shown() -> None:
    assert str(S2SError("no", source_line="x = 1")) == "no"


def test_control_characters_of_names_are_escaped() -> None:
    """A file name or a line may hold terminal escapes and marks of bidirectional text."""
    span = Span("a\x1b[31m\u202e.py", 1, 0, 1, 1)
    text = str(S2SError("bad \x07", span=span, source_line="x\x1b[0m"))
    assert "\x1b" not in text and "\u202e" not in text and "\x07" not in text
    assert r"a\x1b[31m\u202e.py:1:1: bad \x07" in text
    assert len(text.splitlines()) == 3


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (UnsupportedError, NotImplementedError),
        (S2STypeError, TypeError),
        (S2SValueError, ValueError),
        (S2SLinAlgError, np.linalg.LinAlgError),
        (S2SLinAlgError, S2SValueError),
        (SourceError, OSError),
    ],
)
def test_errors_are_caught_as_those_of_python(error: type[S2SError], base: type[Exception]) -> None:
    with pytest.raises(base) as caught:
        raise error("no", span=SPAN)
    assert isinstance(caught.value, S2SError)
    assert str(caught.value) == "model.py:12:5: no" and caught.value.line == 12
