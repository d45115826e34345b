"""Every form of syntax is as in CPython, value and gradient, or refused with its place."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import s2s
from tests import oracle
from tests.attack.beside import compare, load, outcome
from tests.syntax_matrix import Program, read
from tests.syntax_matrix.table import PAGE, page

PROGRAMS = {program.name: program for program in read()}
HERE = [name for name, program in PROGRAMS.items() if program.python <= sys.version_info[:2]]

# Of Python's grammar, what has no program: deprecated classes, modules, and what only `ast` has.
_NOT_SYNTAX = {
    "AugLoad", "AugStore", "Bytes", "Ellipsis", "ExtSlice", "Index", "NameConstant", "Num", "Param",
    "Str", "Suite",
}  # fmt: skip


def test_there_are_many_programs_with_names_of_their_own() -> None:
    assert len(PROGRAMS) == len(read()) > 300


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a coroutine that is never awaited
@pytest.mark.parametrize("name", HERE)
def test_program(name: str) -> None:
    program = PROGRAMS[name]
    function = load(program.source)["f"]
    expected = outcome(function, program.arguments)
    actual = outcome(s2s.value_and_grad(function, backend="loops"), program.arguments)
    if program.refused is not None:
        assert isinstance(actual.error, s2s.UnsupportedError), actual
        assert actual.error.message == program.refused
        assert (actual.error.advice or "") == program.advice
        assert actual.error.line and actual.error.source_line
        return
    assert (type(expected.error).__name__ if expected.error else "") == program.raises
    gradient = None
    if actual.error is None:
        actual.value, gradient = actual.value
    if program.raises and isinstance(actual.error, s2s.errors.S2SError):
        assert isinstance(actual.error, type(expected.error))
        return
    verdict = compare(actual, expected)
    assert verdict.kind == "right", verdict.text
    if not program.raises:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (differences,) = oracle.finite_differences(function, program.arguments)
        np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6)


def test_every_kind_of_syntax_occurs() -> None:
    found = {type(n).__name__ for name in HERE for n in _nodes(PROGRAMS[name])}
    groups = (ast.stmt, ast.expr, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
    if hasattr(ast, "pattern"):
        groups += (ast.pattern,)
    wanted = {cls.__name__ for group in groups for cls in group.__subclasses__()} - _NOT_SYNTAX
    assert wanted <= found, wanted - found


def _nodes(program: Program) -> Iterator[ast.AST]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.walk(ast.parse(program.source))


def test_the_table_is_current(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page(), "utf-8")
    assert PAGE.read_text("utf-8") == page(), "run `make golden`"
