"""Exit codes, and the errors that carry them."""

from __future__ import annotations

OK = 0
WRONG = 1  # a check failed: a wrong gradient, or something amiss with the installation
USAGE = 2  # the command cannot be understood, or lacks something
PROGRAM = 3  # the user's own program raised an error
REFUSED = 4  # s2s does not support, or refuses, the function
INTERNAL = 5  # s2s itself failed
INTERRUPTED = 130

MEANING = {
    OK: "all went well",
    WRONG: "a check failed: `check` found a wrong gradient, `doctor` found trouble",
    USAGE: "the command line is not understood, or a file, a function or arguments are missing",
    PROGRAM: "your own program raised an error",
    REFUSED: "s2s refuses what was asked, and tells the line and what to write instead",
    INTERNAL: "s2s itself failed: please report it",
    INTERRUPTED: "interrupted",
}


class CommandError(Exception):
    """What ends a command: a message, what to do about it, and the exit code."""

    def __init__(self, message: str, advice: str = "", code: int = USAGE) -> None:
        super().__init__(message)
        self.message, self.advice, self.code = message, advice, code

    def __str__(self) -> str:
        return self.message + (f"\nhelp: {self.advice}" if self.advice else "")
