"""Every supported function and method, as a program: value and dtype against NumPy, gradient
against finite differences.  A supported function without a line in `spellings.py` fails the
test."""

from __future__ import annotations

import ast
import functools
import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.diagnostics.interpreter import evaluate
from s2s.transforms.frontend.pytree import describe, rebuild
from s2s.transforms.ir.builder import Builder, NameSupply
from s2s.transforms.ir.nodes import Function, Module, is_float
from s2s.transforms.ir.scopes import names_of
from s2s.transforms.rules import SURFACES
from s2s.transforms.rules.docs_table import differentiable_in
from s2s.transforms.rules.library import LIBRARY
from s2s.transforms.specialise import NeedStaticArgument, specialise

from .spellings import ELSEWHERE, GROUPS, HEADER, VALUES

LINES = [(group, line) for group, lines in GROUPS.items() for line in lines]


def arguments(line: str) -> list[str]:
    names = {n.id for n in ast.walk(ast.parse(line)) if isinstance(n, ast.Name)}
    return [name for name in VALUES if name in names]


def text(k: int, line: str) -> str:
    """The source of a function of the names that the line reads; the text before a semicolon is a
    statement."""
    *statements, result = (part.strip() for part in line.split(";"))
    body = "".join(f"    {s}\n" for s in [*statements, f"return {result}"])
    return f"def spelling_{k}({', '.join(arguments(line))}):\n{body}\n\n"


@functools.cache
def functions() -> Any:
    """The spellings as functions of a module, whose source the compiler can read."""
    file = Path(tempfile.mkdtemp()) / "spellings_as_functions.py"
    file.write_text(HEADER + "".join(text(k, line) for k, (_, line) in enumerate(LINES)))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def copies(values: dict[str, Any]) -> dict[str, Any]:
    return {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in values.items()}


def leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in leaves(v)]
    return [value]


def compiled(f: Any, values: dict[str, Any]) -> Any:
    """The program in value form; integers that determine its structure are constants."""
    static: frozenset[Any] = frozenset()
    while True:
        specs = {n: describe(v, (("arg", n),) in static) for n, v in values.items()}
        try:
            return specialise(f, specs, values, static)
        except NeedStaticArgument as need:
            static |= {need.path}


def same(got: Any, want: Any, rtol: float) -> None:
    for g, w in zip(leaves(got), leaves(want), strict=True):
        assert np.shape(g) == np.shape(w), (np.shape(g), np.shape(w))
        assert np.asarray(g).dtype == np.asarray(w).dtype, (np.asarray(g).dtype, "not numpy's")
        if np.asarray(w).dtype.kind in "fiubc":
            np.testing.assert_allclose(g, w, rtol, rtol)


def check(f: Any, values: dict[str, Any]) -> bool:
    """Check value and gradient; returns True if a derivative flows through the function."""
    want = f(**copies(values))
    spec = compiled(f, values)
    given = [values[p.path[0][1]] for p in spec.params]
    results, _ = evaluate(spec.module, *given)
    same(rebuild(spec.out, lambda i: results[i], lambda path: values[path[0][1]]), want, 1e-10)
    single = [np.asarray(v).dtype == np.float32 for v in values.values()]
    if any(single) or not any(is_float(r.type) for r in spec.module.main.results):
        return False
    return check_gradient(f, spec, values, given)


def check_gradient(f: Any, spec: Any, values: dict[str, Any], given: list[Any]) -> bool:
    main = spec.module.main
    wrt = tuple(p.name for p in main.params if is_float(p.type))
    if not wrt:
        return False
    b = Builder(NameSupply(names_of(main)), spec.facts, list(main.body))
    b.checks = False
    total: Any = 0.0
    for r in main.results:
        if is_float(r.type):
            part = np.sin(b.sym(r))
            total = total + (b.emit("sum", part, axis=None, keepdims=False) if part.ndim else part)
    scalar = Function("f", main.params, b.block, [b.sym(total).operand])
    module = Module({**spec.module.functions, "f": scalar}, "f")
    (_, *bars), _ = evaluate(reverse(module, wrt, 0, spec.facts), *given, 1.0)
    rng = np.random.default_rng(1)
    names = {p.name: q.path[0][1] for p, q in zip(main.params, spec.params)}
    dots = {names[n]: np.asarray(rng.normal(size=np.shape(values[names[n]])))[()] for n in wrt}

    def at(h: float) -> Any:
        moved = {n: v + h * dots[n] if n in dots else v for n, v in copies(values).items()}
        found = [v for v in leaves(f(**moved)) if np.asarray(v).dtype.kind == "f"]
        return sum(np.sum(np.sin(v)) for v in found)

    slope = (at(1e-6) - at(-1e-6)) / 2e-6
    gradient = sum(np.sum(bar * dots[names[n]]) for n, bar in zip(wrt, bars))
    if np.isfinite(slope):
        assert abs(gradient - slope) <= 2e-5 * (1 + abs(slope)), f"{gradient} is not {slope}"
    return any(np.any(bar != 0) for bar in bars)


def in_single(values: dict[str, Any]) -> dict[str, Any]:
    return {
        n: v.astype(np.float32) if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v
        for n, v in values.items()
    }


@pytest.mark.parametrize("group", GROUPS)
def test_spellings(group: str) -> None:
    wrong = []
    for k, (name, line) in enumerate(LINES):
        if name != group:
            continue
        f = getattr(functions(), f"spelling_{k}")
        values = {n: VALUES[n] for n in arguments(line)}
        with np.errstate(all="ignore"):
            try:
                check_claim(line, check(f, values))
            except Exception as error:
                wrong.append(f"{line}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def check_claim(line: str, flows: bool) -> None:
    """Check the claim of docs/rules.md about a function that is called alone."""
    node = ast.parse(line.split(";")[-1].strip()).body[0]
    call = node.value if isinstance(node, ast.Expr) and ";" not in line else None
    if not isinstance(call, ast.Call) or any(isinstance(a, ast.Compare) for a in call.args):
        return
    own = mentioned(ast.unparse(call.func)) & {*SURFACES, *LIBRARY}
    for path in own if len(own) == 1 else ():
        if flows:
            assert differentiable_in(path), f"a derivative flows through {path}"


# ---------------------------------------------------------------- completeness

MODULES = {"np": "numpy", "math": "math", "special": "scipy.special", "scipy": "scipy",
           "functools": "functools", "itertools": "itertools", "operator": "operator",
           "statistics": "statistics"}  # fmt: skip


def mentioned(line: str) -> set[str]:
    """The paths of the functions that a line calls: `numpy.sum`, `numpy.ndarray.sum`,
    `builtins.abs`."""
    found = set()
    for node in ast.walk(ast.parse(line)):
        if isinstance(node, ast.Name):
            found.add(f"builtins.{node.id}")
        chain: list[str] = []
        part: Any = node
        while isinstance(part, ast.Attribute):
            chain.insert(0, part.attr)
            part = part.value
        if chain and isinstance(part, ast.Name) and part.id in MODULES:
            found.add(".".join([MODULES[part.id], *chain]))
        elif chain:
            found.add(f"numpy.ndarray.{chain[-1]}")
    return found


def exists(path: str) -> bool:
    """True if this version of NumPy has the function."""
    parts = path.split(".")
    return parts[0] != "numpy" or bool(functools.reduce(_attribute, parts[1:], np))


def _attribute(owner: Any, name: str) -> Any:
    return getattr(owner, name, None)


def test_every_function_is_spelled_out() -> None:
    spelled = set().union(*(mentioned(line) for _, line in LINES))
    known = {p for p in {**SURFACES, **LIBRARY} if not p.startswith(ELSEWHERE) and exists(p)}
    assert not known - spelled, f"add to spellings.py: {sorted(known - spelled)}"
