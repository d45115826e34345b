"""The names that core syntax reads and binds are those of Python's symbol table."""

from __future__ import annotations

import ast
import symtable

import pytest

from s2s.transforms.frontend.source import parsed
from s2s.transforms.syntax import core as c
from s2s.transforms.syntax.names import (
    imported_as,
    loads,
    local_names,
    names_in,
    stores,
    with_context,
)
from tests.transforms.frontend.sources import only

CASES = [
    ("a[i].b = c", {*"aic"}, set()),
    ("a, [b, *d] = c", {"c"}, {*"abd"}),
    ("a = b = c", {"c"}, {*"ab"}),
    ("a += b", {"b"}, {"a"}),
    ("a[i] += b", {*"aib"}, set()),
    ("del a, b[i], (d, e)", {*"bi"}, {*"ade"}),
    ("for a, b[i] in c: d", {*"bicd"}, {"a"}),
    ("with a as b, c as (d, e.f): g", {*"aceg"}, {*"bd"}),
    ("(a := b)", {"b"}, {"a"}),
    ("[a for a, b in c if d]", {*"acd"}, {*"ab"}),
    ("lambda a, b=c: a + d", {*"acd"}, set()),
    ("f(a, *b, c=d, **e)", {*"fabde"}, set()),
    ("x: int", set(), set()),
    ("f'{a!r:{b}}'", {*"ab"}, set()),
]


@pytest.mark.parametrize("text, read, bound", CASES)
def test_what_is_read_and_bound(text: str, read: set[str], bound: set[str]) -> None:
    block = parsed(text)
    assert {n.id for n in loads(block)} == read
    assert {n.id for n in stores(block)} == bound
    assert {n.id for n in loads(block[0])} == read


def test_each_node_has_a_context() -> None:
    stmt = only("a[i], *b = c")
    found = {n.id: s for n, s in with_context(stmt) if isinstance(n, c.Name)}
    assert found == {"a": False, "i": False, "b": True, "c": False}


def test_all_names_of_a_target() -> None:
    stmt = only("a, (b, *d) = e")
    assert names_in(stmt.targets[0]) == ["a", "b", "d"]


def test_the_name_that_an_import_binds() -> None:
    at = (1, 0, 1, 0)
    assert imported_as(c.Alias(at, "a.b.c", None)) == "a"
    assert imported_as(c.Alias(at, "a.b.c", "d")) == "d"


BODIES = [
    "x = 1; a.b = 2; c[d] = 3", "x, (y, *z) = a", "x += 1", "x: int", "x: int = 1", "a.b: int",
    "del x", "for x, y in a: z = 1", "while (x := a): pass", "with a as x, b as (y, z): w = 1",
    "import x.y, a as z", "from a import x, b as y", "def x(y): z = 1", "x = lambda y: (z := y)",
    "[y for y in a if (x := y)]", "[[(x := z) for z in y] for y in a]", "{y: z for y, z in a}",
    "try: x = 1\nexcept a as y: y; z = 2", "class x: y = 1", "async def x(): y = 1",
    "match a:\n  case [x, *y] | x if (z := y): w = 1\n  case {'k': x, **y}: pass", "f((x := 1))",
    "if a: x = 1\nelse: y = 2", "return f'{(x := a)}'", "assert (x := a), (y := b)",
    "x = [lambda: (z := 1) for y in a]", "f(x := 1, y=(z := 2))", "@(x := a)\ndef y(): pass",
    "def x(y=(z := 1)): pass", "x = lambda y=(z := 1): y", "raise a((x := 1)) from (y := b)",
    "with a as b.c, d as e[f]: pass", "x = {(y := 1), 2}", "x = {(y := z) for z in a}",
    "[lambda y=(x := a): y for a in b]",
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_the_locals_of_a_function(body: str) -> None:
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    text = f"def f(p, /, q=a, *r, s, **t):\n{indented}"
    (table,) = symtable.symtable(text, "f.py", "exec").get_children()[:1]
    expected = {n.get_name() for n in table.get_symbols() if n.is_local() or n.is_parameter()}
    # Python 3.12 and later put the names of comprehensions into the function that contains them.
    clauses = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.comprehension)]
    expected -= {n.id for clause in clauses for n in ast.walk(clause.target) if hasattr(n, "id")}
    define = only(text)
    own = {n for n in expected if not n.startswith(".")}
    assert local_names(define.func) == own
