"""Exit codes: distinct, explained, and returned by commands; errors go to standard error only."""

from __future__ import annotations

import pytest

from s2s.cli import exit_codes
from s2s.cli.exit_codes import MEANING, USAGE, CommandError
from tests.s2s.cli.files import LOSS

CODES = {
    name: value for name, value in vars(exit_codes).items() if name.isupper() and name != "MEANING"
}


def test_every_code_has_a_meaning():
    assert set(CODES.values()) == set(MEANING) and len(set(CODES.values())) == len(CODES)
    assert (CODES["OK"], CODES["INTERRUPTED"]) == (0, 130)  # as shells expect


def test_errors_of_commands():
    error = CommandError("no file", "write its name", 3)
    assert (error.message, error.advice, error.code) == ("no file", "write its name", 3)
    assert str(error) == "no file\nhelp: write its name"
    assert str(CommandError("no file")) == "no file" and CommandError("no file").code == USAGE


FAILING = "def f(x):\n    raise ValueError('mine')\n"
REFUSED = "def f(x):\n    yield x\n"
DYING = "raise RuntimeError('on import')\n"


@pytest.mark.parametrize(
    "text, words, code, message",
    [
        (None, ("show", "{model}:loss", "--args", LOSS), "OK", ""),
        (None, ("check", "{model}:wrong", "--args", "float64[3]", "--backend", "python"),
         "CHECK_FAILED", ""),
        (None, ("show", "{model}:absent"), "USAGE", "absent"),
        (None, ("show", "{model}:loss"), "USAGE", "what are the arguments"),
        (None, ("show", "{model}.absent.py:loss"), "USAGE", "absent.py"),
        (None, ("show",), "USAGE", "required"),
        (None, ("show", "{model}:loss", "--colour", "always"), "USAGE", "--colour"),
        (FAILING, ("check", "{file}:f", "--args", "1.0", "--backend", "python"),
         "USER_ERROR", "mine"),
        (DYING, ("show", "{file}:f", "--args", "1.0"), "USER_ERROR", "on import"),
        (REFUSED, ("show", "{file}:f", "--args", "1.0"), "UNSUPPORTED", "program.py:2"),
    ],
)  # fmt: skip
def test_codes_and_streams(run, model, write, text, words, code, message):
    file = write(text) if text else ""
    done = run(*(word.format(model=model, file=file) for word in words))
    assert done.code == CODES[code], done.err
    if code in ("OK", "CHECK_FAILED"):
        assert done.out and not done.err
    else:
        assert message in done.err and not done.out
        # Only an error of the user's file has a traceback, which ends in that file.
        assert ("Traceback" in done.err) is (text is DYING) and "s2s/cli" not in done.err
