"""The module of a library: messages, lines, exported symbols, and nothing of Python's."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import llvmlite.binding as llvm
import pytest
from llvmlite import ir

from s2s.aot import object_file
from s2s.aot.library_module import (
    C_LIBRARY_SYMBOLS,
    ErrorMessages,
    Library,
    _define_no_op_refcounts,
)
from s2s.aot.library_state import State
from s2s.errors import S2SValueError
from tests.s2s.aot.programs import needs_compiler, run, small_library

LOWERED = """\
def f(x, n):
    # L12: y = x[n]
    if n > 3:
        raise rt.Failure(0, n)
    # other.py:7
    s = x[0]
    return (s,)
"""


def phrases() -> ErrorMessages:
    failures = [("IndexError", ("index ", 0, " is out of bounds")), ("ValueError", ("plain",))]
    return ErrorMessages(SimpleNamespace(lowered=LOWERED, failures=failures))


def test_values_in_messages_become_dots() -> None:
    assert phrases().failure(0) == ("IndexError", ("index … is out of bounds",))
    assert phrases().failure(1) == ("ValueError", ("plain",))


def test_lines_are_those_of_the_user() -> None:
    function = ast.parse(LOWERED).body[0]
    assert isinstance(function, ast.FunctionDef)
    branch, assignment, done = function.body
    assert phrases().source_line(branch) == " (line 12: y = x[n])"
    assert phrases().source_line(assignment) == phrases().source_line(done) == " (line other.py:7)"
    assert phrases().source_line(function) == ""


def test_messages_without_values_are_spelled_out() -> None:
    text = "def f(n):\n    raise rt.Failure(1)\n    raise rt.Failure(0, n)\n"
    (function,) = ast.parse(text).body
    space: dict[str, Any] = {}
    phrases().substitute_failures(function, space)  # type: ignore[arg-type]
    assert ast.unparse(function).splitlines()[1:] == [
        "    raise ValueError('plain')", "    raise rt.Failure(0, n)",
    ]  # fmt: skip
    assert space == {"ValueError": ValueError}


def test_exported_names_are_unique() -> None:
    library = Library("lib", [], State(), None, None)
    assert library._export("lib_step") == "lib_step"
    for name in ("lib_step", "log", "sinf", "memcpy", "read"):
        with pytest.raises(S2SValueError, match=f"would be called {name} in C"):
            library._export(name)
    assert {"pow", "powf", "memset"} <= C_LIBRARY_SYMBOLS and "malloc" not in C_LIBRARY_SYMBOLS


def test_reference_counts_do_nothing() -> None:
    module = ir.Module()
    _define_no_op_refcounts(module)
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    for name in ("NRT_incref", "NRT_decref"):
        blocks = [*parsed.get_function(name).blocks]
        assert len(blocks) == 1 and [i.opcode for i in blocks[0].instructions] == ["ret"]


@needs_compiler
def test_a_library_exports_its_functions_and_needs_only_the_c_library() -> None:
    file = small_library().files["so"]
    lines = [line.split() for line in run("nm", "-D", file).splitlines()]
    defined = {words[-1] for words in lines if "T" in words}
    names = {"parts_step", "parts_relaxed", "parts_mixed", "parts_growing"}
    assert defined == names | {f"{n}_workspace" for n in names} | {"parts_init", "parts_message"}
    undefined = {words[-1].partition("@")[0] for words in lines if "U" in words}
    assert undefined <= C_LIBRARY_SYMBOLS
    assert object_file.find(None, None).is_native
