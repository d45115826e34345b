"""Names in C: what is reserved, and that a compiler takes the others."""

from __future__ import annotations

import keyword
import subprocess

import pytest

from s2s.aot import c_names
from s2s.errors import S2SValueError
from tests.s2s.aot.programs import needs_compiler

ODD = [
    "x", "W", "W1", "WB", "I", "int", "errno", "_X", "__x", "_x", "Δt", "a b", "1st", "", "NAN",
    "state", "auto", "x.y", "PRIu64", "complex", "lambda_", "x" * 200, "é", "int64_t", "EOF",
]  # fmt: skip


def test_parameters_are_identifiers_that_are_not_reserved() -> None:
    for name in ODD:
        made = c_names.parameter(name)
        assert made.isascii() and made.isidentifier() and made not in c_names.RESERVED
        assert not c_names._LIKE_MACRO.fullmatch(made), made
        assert c_names.parameter(made) == made
    assert [c_names.parameter(n) for n in ("x", "W", "W1", "int")] == ["x", "W", "W1", "int_"]


@needs_compiler
@pytest.mark.parametrize("compiler", ["cc", "c++"])
def test_compilers_take_them(compiler, tmp_path) -> None:
    """Behind the standard headers, which define macros."""
    if subprocess.run(["which", compiler], capture_output=True).returncode:
        return
    names = sorted({c_names.parameter(n) for n in (*ODD, *c_names.RESERVED, *keyword.kwlist)})
    headers = "math stdio stdlib errno signal setjmp stdarg assert limits stddef stdint string time"
    text = "".join(f"#include <{h}.h>\n" for h in headers.split())
    text += "".join(f"int f{k}(double {n});\n" for k, n in enumerate(names))
    file = tmp_path / ("t.c" if compiler == "cc" else "t.cpp")
    file.write_text(text)
    done = subprocess.run(
        [compiler, "-fsyntax-only", "-D_GNU_SOURCE", str(file)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_sizes() -> None:
    assert all(map(c_names.is_size, ("n", "d", "batch", "n_1", "N")))
    assert not any(map(c_names.is_size, ("_n", "int", "for", "state", "ñ", "None", "errno")))


@pytest.mark.parametrize(
    "name, text",
    [
        ("my-lib", "no name"), ("1a", "no name"), ("", "no name"), ("é", "no name"),
        ("_A", "no name"), ("__a", "no name"), ("_", "no name"), ("a\n", "no name"),
        ("malloc", "in C"), ("int", "in C"), ("STEP", "in C"), ("linux", "in C"), ("read", "in C"),
        ("main", "in C"), ("lambda", "in Python"), ("np", "in Python"), ("len", "in Python"),
        ("_State", "no name"), ("_fixed", "in Python"), ("LibraryError", "in Python"),
    ],
)  # fmt: skip
def test_symbols_that_mean_something_else_are_refused(name, text) -> None:
    with pytest.raises(S2SValueError, match=text):
        c_names.check_symbol(name, "library")


def test_symbols() -> None:
    for name in ("step", "my_lib", "W", "f2", "_s2s", "Net"):
        assert c_names.check_symbol(name, "function") == name


def test_names_of_the_loader_are_those_that_it_uses() -> None:
    names = c_names.loader_globals()
    assert {"np", "ctypes", "os", "isinstance", "_Library", "_State", "LibraryError"} <= names
    assert "step" not in names


def test_unique_names() -> None:
    unique = c_names.Unique()
    assert [unique(n) for n in ("A", "A", "A_2", "A", "B")] == ["A", "A_2", "A_2_2", "A_3", "B"]
    assert len(unique.taken) == 5
