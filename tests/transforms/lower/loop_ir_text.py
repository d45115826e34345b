"""Loop IR as text: tests of analyses and loop passes write and compare bodies in printed form."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from tests.transforms.lower.loop_ir_parser import parse


def ir(source: str, **types: str) -> list[L.Stmt]:
    """The statements of a text, with types as in `parser.parse`: x="float32[:, :]".

    Names without a type: buffers are of float64, scalars that are not set in the text of int64.
    """
    lines = textwrap.indent(textwrap.dedent(source).strip("\n"), "    ")
    return parse(f"def f():\n{lines}\n    pass\n", {"f": types})[0].body


def expr(source: str, **types: str) -> L.Expr:
    """The expression of a text."""
    (let,) = ir(f"value_ = {source}", **types)
    assert isinstance(let, L.Let)
    return let.expr


def routine(body: list[L.Stmt], *params: str) -> L.Routine:
    """A routine `f` with these parameters, whose types do not matter."""
    return L.Routine("f", [L.Param(name, "float64") for name in params], body)


def text(body: list[L.Stmt]) -> str:
    """The printed form of statements."""
    (_, lines) = print_module([routine(body)]).split("def f():\n")
    return textwrap.dedent(lines).strip("\n")


def dedented(source: str) -> str:
    return textwrap.dedent(source).strip("\n")


def run_body(body: list[L.Stmt], **arguments: Any) -> dict[str, Any]:
    """The values of all names after a body has run under CPython, with copies of the arguments."""
    module = print_module([routine(body, *arguments)])
    space: dict[str, Any] = {}
    exec(compile(f"{module}    return locals()\n", "<loop IR>", "exec"), space)
    copies = (a.copy() if isinstance(a, np.ndarray) else a for a in arguments.values())
    return space["f"](*copies)


def loops_of(body: list[L.Stmt]) -> list[L.Loop]:
    """All loops, in the order of the text."""
    return [s for s in L.walk(body) if isinstance(s, L.Loop)]


def routine_text(body: list[L.Stmt]) -> str:
    """The printed form of statements as in a routine, indented, without a final `return`."""
    lines = print_module([routine([*body, L.Return(())])]).split("def f():\n")[-1].splitlines()
    while lines and lines[-1].startswith("    return "):
        lines.pop()
    return "\n".join(lines)


def at(buffer: str, *index: L.Expr, dtype: str = "float64") -> L.Load:
    """One element."""
    return L.Load(buffer, index, dtype)


def drawn(buffer: str) -> L.Call:
    """A call that writes a whole buffer and may not be moved."""
    return L.Call("rt.draws.legacy_fill_random_sample", (L.Subview(buffer),))


def loop(
    *body: L.Stmt,
    var: str = "i",
    start: L.Expr = L.ZERO,
    stop: L.Expr = L.Name("n"),  # noqa: B008
    step: int = 1,
    parallel: bool = False,
) -> L.Loop:
    """for i in range(n)"""
    return L.Loop(var, start, stop, L.lit(step), list(body), parallel)
