"""Variables of comprehensions."""

from __future__ import annotations

from s2s.transforms.frontend.source import read
from s2s.transforms.specialise.scopes import makes_functions, renamed, targets_of
from s2s.transforms.syntax import core
from s2s.transforms.syntax.printer import show


def nested(v):
    return [[v + w for w in v] + [lambda: v] for v in v]


def plain(xs):
    return [x for x, y in xs if y]


def comprehension(function) -> core.Comp:
    (stmt,) = read(function).node.body
    assert isinstance(stmt, core.Return) and isinstance(stmt.value, core.Comp)
    return stmt.value


def test_targets_and_functions() -> None:
    assert targets_of(comprehension(plain)) == {"x", "y"}
    assert makes_functions(comprehension(nested)) and not makes_functions(comprehension(plain))


def test_the_first_iterable_keeps_its_names() -> None:
    made = renamed(comprehension(nested), {"v": "<v 1>"})
    assert isinstance(made.clauses[0].over, core.Name) and made.clauses[0].over.id == "v"
    assert targets_of(made) == {"<v 1>"} and "<v 1> + w" in show(made)
