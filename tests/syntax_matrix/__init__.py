"""Programs for every kind of statement and expression, and the table that is made from them.

`programs/*.txt` holds them as text, since some need a newer Python than the one that runs:

    == `with`                               a kind: one row of the table
    -- `nullcontext`                        a form; its program follows
    -- `yield` | refused: message; advice   or `raises ValueError`, or `python 3.12`

A program defines `f`, whose first argument is differentiated.  Arguments have the values of
`ARGUMENTS`, by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ARGUMENTS = {
    "a": 1.5,
    "b": -0.75,
    "c": True,
    "n": 3,
    "x": np.array([1.0, -2.0, 3.0]),
    "y": np.array([0.5, 1.5, 2.5]),
    "m": np.array([[0.5, 1.0, 1.5], [2.0, -1.0, 3.0]]),
}


@dataclass
class Program:
    kind: str
    form: str
    source: str
    python: tuple[int, int] = (3, 10)
    raises: str = ""
    refused: str | None = None
    advice: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.form}"

    @property
    def arguments(self) -> tuple[object, ...]:
        found = re.search(r"^(?:async )?def f\((.*)\):$", self.source, re.MULTILINE)
        assert found, self.name
        return tuple(ARGUMENTS[name] for name in found[1].split(", "))


def read() -> list[Program]:
    programs: list[Program] = []
    kind = ""
    for file in sorted((Path(__file__).parent / "programs").glob("*.txt")):
        for block in re.split(r"^(?===? |-- )", file.read_text("utf-8"), flags=re.MULTILINE):
            head, _, source = block.partition("\n")
            if head.startswith("== "):
                kind = head[3:]
            elif head.startswith("-- "):
                programs.append(_program(kind, head[3:], source))
    return programs


def _program(kind: str, head: str, source: str) -> Program:
    form, *notes = re.split(r" \| (?=python |raises |refused: )", head)
    program = Program(kind, form, source.strip("\n") + "\n")
    for note in notes:
        if note.startswith("python "):
            major, minor = note.removeprefix("python ").split(".")
            program.python = int(major), int(minor)
        elif note.startswith("raises "):
            program.raises = note.removeprefix("raises ")
        else:
            message, _, advice = f"{note.removeprefix('refused: ')} ".rpartition("; ")
            program.refused, program.advice = message, advice.strip()
    return program
