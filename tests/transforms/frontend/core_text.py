"""Functions in core syntax from and to text, for tests of rewrites: before and after."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import libcst as cst

from s2s.transforms.frontend.cst_to_core import Translator
from s2s.transforms.syntax import core as c
from s2s.transforms.syntax.printer import show_function
from s2s.transforms.syntax.verifier import problems


def parse(text: str) -> c.Func:
    module = cst.parse_module(textwrap.dedent(text).lstrip())
    (node,) = module.body
    assert isinstance(node, cst.FunctionDef)
    return Translator(module).function(node)


def check(change: Callable[[c.Func], c.Func], before: str, after: str) -> None:
    """Asserts that a rewrite gives well-formed core syntax that prints as `after`."""
    made = change(parse(before))
    assert show_function(made) == textwrap.dedent(after).lstrip()
    assert not list(problems(made))


def refusals(func: c.Func) -> list[str]:
    """The messages of what is refused in a function."""
    from s2s.transforms.syntax.traverse import walk

    return [n.message for n in walk(func) if isinstance(n, c.Refused)]
