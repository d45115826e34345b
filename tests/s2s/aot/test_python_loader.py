"""The text of the loader module: it compiles, and has the names and defaults of the user."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.aot import python_loader
from s2s.aot.export_spec import describe
from s2s.aot.library_state import State
from s2s.aot.type_signature import parse_signature
from s2s.errors import S2SValueError
from tests.s2s.aot.programs import Counter


def text(functions: dict[str, tuple[Any, Any]], **options: Any) -> str:
    state = State()
    groups = {
        name: [describe(f"lib_{name}", function, parse_signature(signature), state)]
        for name, (function, signature) in functions.items()
    }
    return python_loader.text("lib", "f.py:1", groups, state, options.get("grows", set()))


def functions_of(source: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(source)
    return {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def test_functions_have_the_signature_of_the_original() -> None:
    def f(x, scale=2.5, *, power=1.0):
        return np.sum(x) * scale**power

    made = functions_of(text({"f": (s2s.function(f), ("float64[n]", 2.0))}))
    assert ast.unparse(made["f"].args).replace(" ", "").startswith("x,scale=2.5")
    assert set(inspect.signature(f).parameters) >= {a.arg for a in made["f"].args.args}


def test_only_what_is_used_is_imported() -> None:
    source = text({"f": (s2s.function(lambda x: np.sum(x)), "float64[n]")})
    assert "namedtuple" not in source and "SimpleNamespace" not in source
    names = {a.name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import)
             for a in n.names}  # fmt: skip
    assert names == {"ctypes", "os", "numpy"}


def test_state_makes_methods() -> None:
    source = text({"step": (s2s.function(Counter().step), "float64[3]")}, grows={"lib_step"})
    compile(source, "lib.py", "exec")
    (made,) = [n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == "Lib"]
    assert "__call__ = step" in ast.unparse(made) and "grows=True" in source
    assert "('self/last', 'float32', (3,), 128)" in source


def test_parameters_may_have_any_names_but_those_of_the_loader() -> None:
    def f(values, found, self, value):
        return {"values": values * found, "found": self + value}

    signature = ", ".join(["float64"] * 4)
    source = text({"f": (s2s.function(f), signature)})
    body = functions_of(source)["f"]
    assert [a.arg for a in body.args.args] == ["values", "found", "self", "value"]
    assigned = {n.id for n in ast.walk(body) if isinstance(n, ast.Name)
                and isinstance(n.ctx, ast.Store)}  # fmt: skip
    assert not assigned & {"values", "found", "self", "value"}

    def g(_lib_g):
        return _lib_g * 2.0

    def h(getattr):
        return getattr * 2.0

    for key, function in (("g", g), ("h", h)):
        with pytest.raises(S2SValueError, match="rename|has a parameter"):
            text({key: (s2s.function(function), "float64")})


def test_quotes_in_names_do_not_end_texts() -> None:
    state = State()
    export = describe("lib_f", s2s.function(lambda x: x * 2.0), parse_signature("float64"), state)
    source = python_loader.text("lib", 'f"""\\.py:1', {"f": [export]}, state, set())
    assert ast.get_docstring(ast.parse(source)) is not None
