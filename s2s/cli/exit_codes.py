"""Exit codes, and the exception that carries one."""

from __future__ import annotations

OK = 0
WRONG = 1  # a check failed: a wrong gradient, or a problem with the installation
USAGE = 2  # the command line is invalid or incomplete
PROGRAM = 3  # the user's own program raised an error
REFUSED = 4  # s2s does not support, or refuses, the function
INTERNAL = 5  # s2s itself failed
INTERRUPTED = 130

MEANING = {
    OK: "success",
    WRONG: "a check failed: `check` found a wrong gradient, `doctor` found a problem",
    USAGE: "the command line is invalid, or a file, a function or arguments are missing",
    PROGRAM: "your own program raised an error",
    REFUSED: "s2s refuses the program; the message has the line and advice",
    INTERNAL: "s2s itself failed: please report it",
    INTERRUPTED: "interrupted",
}


class CommandError(Exception):
    """An error that ends a command: a message, advice, and the exit code."""

    def __init__(self, message: str, advice: str = "", code: int = USAGE) -> None:
        super().__init__(message)
        self.message, self.advice, self.code = message, advice, code

    def __str__(self) -> str:
        return self.message + (f"\nhelp: {self.advice}" if self.advice else "")
