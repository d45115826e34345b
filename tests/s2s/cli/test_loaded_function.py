"""The subject of a command: its arguments, fresh copies of them, its specialisation."""

from __future__ import annotations

import argparse
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.cli.exit_codes import CommandError
from s2s.cli.loaded_function import Subject, add_arguments, add_mode, subject, type_text

Pair = namedtuple("Pair", "a b")


@dataclass
class Data:
    w: Any


def made(*words: str) -> Subject:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    add_mode(parser)
    return subject(parser.parse_args(words))


@pytest.mark.parametrize(
    "value, text",
    [
        (np.ones((2, 3), np.float32), "float32[2, 3]"), (np.ones(4), "float64[4]"),
        (np.array(1.0), "float64[()]"), (1.5, "1.5"), (3, "3"), (True, "True"),
        (np.float32(0.5), "0.5"), ((1.0, np.ones(2)), "tuple(1.0, float64[2])"),
        ([1, [2]], "list(1, list(2))"), ({"w": np.ones(1), "b": 2}, "dict(float64[1], 2)"),
        (Pair(1, 2.0), "namedtuple(1, 2.0)"), (Data(np.ones(3)), "dataclass(float64[3])"),
        ("adam", "'adam'"), (None, "None"), (np.random.default_rng(0), "Generator"),
        (np.sin, "ufunc"),
    ],
    ids=str,
)  # fmt: skip
def test_types_of_arguments(value: Any, text: str) -> None:
    assert type_text(value) == text


PROGRAM = """
import numpy as np
import s2s


def f(x, y, k=2.0):
    x += y * k
    return np.sum(x * x)


@s2s.grad(wrt=("x", "y"))
def g(x, y):
    return np.sum(x * y)
"""


@pytest.fixture
def file(write: Any, run: Any) -> str:
    return write(PROGRAM)


ARGS = ("--args", "float64[3], float64[3]")


def test_names_and_types(file: str) -> None:
    about = made(f"{file}:f", *ARGS)
    assert about.name == "program.py:f" and about.wrt == ("x",)
    assert about.given() == {"x": "float64[3]", "y": "float64[3]", "k": "2.0"}
    assert about.written.__name__ == "f"
    assert made(f"{file}:g", *ARGS).wrt == ("x", "y")
    assert made(f"{file}:f", *ARGS, "--mode", "jvp", "--wrt", "y").wrt == ("y",)


def test_the_same_words_give_the_same_arguments(file: str) -> None:
    one, other = made(f"{file}:f", *ARGS), made(f"{file}:f", *ARGS)
    for a, b in zip(one.args, other.args):
        np.testing.assert_array_equal(a, b)


def test_copies_of_the_arguments(file: str) -> None:
    about = made(f"{file}:f", *ARGS)
    before = [a.copy() for a in about.args]
    args, kwargs = about.fresh()
    args[0][:] = 9.0
    for a, b in zip(about.args, before):
        np.testing.assert_array_equal(a, b)
    assert kwargs == {}


def test_calls_that_write_into_their_arguments(file: str) -> None:
    about = made(f"{file}:f", *ARGS)
    call, restore = about.call(about.written)
    first, second = call(), call()
    assert first != second
    restore()
    assert call() == first
    restore()
    assert call() == first


def test_the_specialisation_has_all_passes(file: str) -> None:
    about = made(f"{file}:g", *ARGS)
    entry, params = about.entry()
    assert [name for name, _ in entry.compiled.passes()][0] == "desugar" and len(params) == 2
    assert entry.specs.keys() == {"x", "y"}


def test_arguments_are_exclusive(file: str, capfd: Any) -> None:
    with pytest.raises(SystemExit) as info:
        made(f"{file}:f", *ARGS, "--example", "make")
    assert info.value.code == 2 and "not allowed with" in capfd.readouterr().err
    with pytest.raises(CommandError, match="there is no file|absent"):
        made("absent.py:f")


def test_notes_go_to_standard_error(write: Any, run: Any, capfd: Any) -> None:
    text = PROGRAM + "\n\ng(np.ones(2), np.ones(2))\n"
    about = made(f"{write(text)}:g")
    assert isinstance(about.compiled, s2s.api.functions.Function)
    out, err = capfd.readouterr()
    assert out == "" and "arguments like those of the call in the file: x: float64[2]" in err
