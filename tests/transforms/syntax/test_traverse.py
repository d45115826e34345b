"""Walking sees each node once; rewriting shares what does not change."""

from __future__ import annotations

from typing import Any

from s2s.transforms.frontend.source import parsed
from s2s.transforms.syntax import core as c
from s2s.transforms.syntax.printer import show_block
from s2s.transforms.syntax.traverse import (
    children,
    map_children,
    parts_of,
    returns_of,
    rewrite,
    walk,
)
from tests.transforms.frontend.sources import only

TEXT = """\
@d
def f(a, /, b=x1, *c, e=x2, **g):
    for i, j in x3:
        y[x4] += {**x5, x6: x7}
    with x8 as z, x9:
        return f'{x10!r:{x11}}' if x12 else (lambda q=x13: x14)
"""


def loose(text: str) -> c.Node:
    return parsed(text)[0]


def test_all_nodes_are_walked_breadth_first() -> None:
    found = [n.id for n in walk(parsed(TEXT)) if isinstance(n, c.Name)]
    assert {f"x{i}" for i in range(1, 15)} <= {*found}
    assert len(found) == len({*found}) and {"d", "i", "j", "y", "z"} <= {*found}
    kinds = [type(n).__name__ for n in walk(loose("a + b * c"))]
    assert kinds == ["Eval", "Binary", "Name", "Binary", "Name", "Name"]
    assert [*walk(())] == []


def test_children_in_the_order_of_the_grammar() -> None:
    stmt = only("a[b] = c")
    assert [type(n).__name__ for n in children(stmt)] == ["Item", "Name"]
    stmt = only("{**a, b: c}")
    keys_and_values = [*children(next(children(stmt)))]
    assert [n.id for n in keys_and_values if isinstance(n, c.Name)] == ["b", "a", "c"]
    assert [*children(c.Const((1, 0, 1, 1), 3))] == []
    # A constant may be a tuple, after folding; it is no child.
    assert [*children(c.Const((1, 0, 1, 1), (1, 2)))] == []


def test_every_field_that_may_hold_nodes_is_a_part() -> None:
    assert parts_of(c.For) == ("target", "over", "body", "orelse")
    assert parts_of(c.ImportFrom) == ("names",) and parts_of(c.Name) == ()
    assert parts_of(c.Format) == ("parts",) and parts_of(c.Field) == ("value", "spec")
    assert parts_of(c.Result) == () and parts_of(c.Func) == ("params", "body")


def test_rewriting_nothing_gives_the_same_tree() -> None:
    for stmt in parsed(TEXT):
        assert rewrite(stmt, lambda node: node) is stmt
        assert map_children(stmt, lambda node: node) is stmt


def renamed(node: Any) -> Any:
    return c.Name(node.at, "new") if isinstance(node, c.Name) and node.id == "a" else node


def test_a_change_shares_the_rest() -> None:
    stmt = only("if a: f(b)\nelse: g(b)")
    new = rewrite(stmt, renamed)
    assert show_block((new,)) == "if new:\n    f(b)\nelse:\n    g(b)\n"
    assert new is not stmt and new.body is stmt.body and new.orelse is stmt.orelse
    assert new.at == stmt.at and show_block((stmt,)).startswith("if a:")


def test_children_are_rewritten_first() -> None:
    seen: list[str] = []

    def change(node: Any) -> Any:
        seen.append(type(node).__name__)
        return node

    rewrite(loose("-a"), change)
    assert seen == ["Name", "Unary", "Eval"]


def test_a_statement_may_become_none_or_several() -> None:
    stmt = only("while a:\n  pass\n  b\n  if c: pass")

    def change(node: Any) -> Any:
        if isinstance(node, c.Pass):
            return ()
        return (node, node) if isinstance(node, c.Eval) else node

    assert show_block((rewrite(stmt, change),)) == (
        "while a:\n    b\n    b\n    if c:\n        pass\n"
    )


def test_a_result_stays_a_result() -> None:
    at = (1, 0, 1, 0)
    stmt = c.Return(at, c.Unary(at, "-", c.Result(at, "out", True)))
    assert rewrite(stmt, renamed) is stmt


def test_returns_of_a_function_itself() -> None:
    block = parsed("""\
def f():
    if a:
        return 1
    for b in c:
        while d:
            return 2
        else:
            return 3
    else:
        return 4
    with e:
        return 5
    def g():
        return 6
    h = lambda: 7
    return 8
""")
    define: Any = block[0]
    found = [r.value for r in returns_of(define.func.body)]
    assert [v.value for v in found if isinstance(v, c.Const)] == [1, 2, 3, 4, 5, 8]
