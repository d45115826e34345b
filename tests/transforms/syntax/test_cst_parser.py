"""Text that is nested deeply does not end the process."""

from __future__ import annotations

import subprocess
import sys

import libcst as cst
import pytest

from s2s.transforms.syntax.cst_parser import parse_module

# Each form with a depth that Python accepts: small threads end at 190, the main thread at none.
FORMS = {
    "parentheses": ("(" * 190 + "a" + ")" * 190),
    "calls": ("f(" * 190 + "a" + ")" * 190),
    "items": ("a[" * 90 + "f(" * 90 + "a" + ")" * 90 + "]" * 90),
    "conditions": "a if b else " * 1500 + "a",
    "signs": "-" * 1500 + "a",
    "not": "not " * 1500 + "a",
    "functions": "lambda: " * 1500 + "a",
    "powers": "a ** " * 1500 + "a",
    "attributes": "a" + ".b" * 1500,
    "results": "a" + "()" * 1500,
    "sums": "a + " * 1500 + "a",
}
PROGRAM = """
import threading
from s2s.transforms.syntax.cst_parser import parse_module

def parse():
    for text in {texts!r}:
        print(len(parse_module("x = " + text + "\\n").body))

threading.stack_size(512 << 10)
thread = threading.Thread(target=parse)
thread.start()
thread.join()
"""


def test_small_stacks() -> None:
    program = PROGRAM.format(texts=list(FORMS.values()))
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stderr[-2000:]
    assert found.stdout.split() == ["1"] * len(FORMS)


def test_text_for_which_every_stack_is_too_small() -> None:
    for text in ("a" + "()" * 100_000, "(" * 100_000):
        with pytest.raises(RecursionError):
            parse_module(text)


def test_trees_and_errors_are_those_of_libcst() -> None:
    for text in ("x = a < b  # a comment\n", "x = " + "a < " * 450 + "a  # a comment\n"):
        assert parse_module(text).code == text
    for wrong in ("x = (\n", "x = " + "-" * 600 + "\n"):
        with pytest.raises(cst.ParserSyntaxError):
            parse_module(wrong)
