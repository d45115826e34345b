"""The verifier passes what the front end makes, and names each kind of malformation."""

from __future__ import annotations

from typing import Any

import pytest

from s2s.transforms.frontend.check_subset import check_subset
from s2s.transforms.frontend.desugar.expand import expand
from s2s.transforms.frontend.desugar.jumps import remove_jumps
from s2s.transforms.ir.record import replace
from s2s.transforms.syntax import core as c
from s2s.transforms.syntax.names import local_names
from s2s.transforms.syntax.traverse import walk
from s2s.transforms.syntax.verifier import problems
from tests.transforms.frontend.sources import functions, library_files, own_files, text_of

AT = (1, 0, 1, 5)
A, ONE = c.Name(AT, "a"), c.Const(AT, 1)
PASS = c.Pass(AT)


def test_the_output_of_the_front_end_is_well_formed() -> None:
    paths = [p for p in (*own_files()[::2], *library_files()[::2]) if text_of(p) is not None]
    for define in (define for path in paths for define in functions(path)):
        func = check_subset(expand(define.func))
        assert [*problems(func)] == []
        assert not any(isinstance(n, (c.Match, c.Nonlocal)) for n in walk(func))
        if not any(isinstance(n, c.With) for n in func.body):
            taken = {n.id for n in walk(func) if isinstance(n, c.Name)} | local_names(func)
            made = replace(func, body=remove_jumps(func, taken))
            assert [*_outermost(made)] == []


def _outermost(func: c.Func) -> list[str]:
    """The problems of a desugared function; functions inside are desugared when called."""
    body = tuple(_without_functions(stmt) for stmt in func.body)
    return [*problems(replace(func, body=body), desugared=True)]


def _without_functions(node: Any) -> Any:
    from s2s.transforms.syntax.traverse import rewrite

    def change(inner: Any) -> Any:
        if isinstance(inner, c.Func):
            return c.Func(inner.at, inner.name, c.Params(inner.at), (c.Pass(inner.at),))
        return inner

    return rewrite(node, change)


def func(*body: Any) -> c.Func:
    return c.Func(AT, "f", c.Params(AT), body)


MALFORMED: dict[str, tuple[Any, str]] = {
    "an expression as a statement": (A, "Func.body is a Name"),
    "a statement as an expression": (c.Eval(AT, PASS), "Eval.value is a Pass"),  # type: ignore[arg-type]
    "a call as a target": (c.Assign(AT, (c.Call(AT, A),), ONE), "Assign.targets is a Call"),  # type: ignore[arg-type]
    "a constant as a target": (c.Delete(AT, (ONE,)), "Delete.targets is a Const"),  # type: ignore[arg-type]
    "a tuple that is augmented": (
        c.Augment(AT, c.Seq(AT, "tuple", (A,)), "+", ONE), "Augment.target is a Seq",
    ),
    "a loop over a statement": (c.For(AT, A, PASS, ()), "For.over is a Pass"),  # type: ignore[arg-type]
    "an expression in a loop": (c.While(AT, A, (A,)), "While.body is a Name"),  # type: ignore[arg-type]
    "an expression in an else": (c.If(AT, A, (PASS,), (ONE,)), "If.orelse is a Const"),  # type: ignore[arg-type]
    "a bare manager": (c.With(AT, (A,), (PASS,)), "With.items is a Name"),  # type: ignore[arg-type]
    "a target of := with an index": (
        c.Eval(AT, c.Bind(AT, c.Item(AT, A, ONE), ONE)), "Bind.target is a Item",  # type: ignore[arg-type]
    ),
    "a keyword without its node": (
        c.Eval(AT, c.Call(AT, A, (), (A,))), "Call.keywords is a Name",  # type: ignore[arg-type]
    ),
    "a keyword among the arguments": (
        c.Eval(AT, c.Call(AT, A, (c.Keyword(AT, "k", A),))), "Call.args is a Keyword",  # type: ignore[arg-type]
    ),
    "a name imported": (c.Import(AT, (A,)), "Import.names is a Name"),  # type: ignore[arg-type]
    "a lambda that is a Func": (c.Eval(AT, func(PASS)), "Eval.value is a Func"),  # type: ignore[arg-type]
    "a definition without Func": (
        c.Define(AT, c.Lambda(AT, func(PASS))), "Define.func is a Lambda",  # type: ignore[arg-type]
    ),
    "an expression in an f-string": (c.Eval(AT, c.Format(AT, (A,))), "Format.parts is a Name"),  # type: ignore[arg-type]
    "a comprehension over nothing": (
        c.Eval(AT, c.Comp(AT, "list", A, (A,))), "Comp.clauses is a Name",  # type: ignore[arg-type]
    ),
    "a place that ends early": (c.Eval((2, 3, 2, 1), c.Name(AT, "a")), "ends before it begins"),
    "a parameter that is a name": (
        c.Define(AT, c.Func(AT, "g", c.Params(AT, plain=(A,)), (PASS,))), "Params.plain is a Name",  # type: ignore[arg-type]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_each_malformation_is_found(name: str) -> None:
    node, message = MALFORMED[name]
    found = [*problems(func(node))]
    assert len(found) == 1 and message in found[0]


SUGARED = {
    "a break": (c.For(AT, A, A, (c.Break(AT),)), "For.body is a Break"),
    "a continue": (c.While(AT, A, (c.Continue(AT),)), "While.body is a Continue"),
    "a nonlocal": (c.Nonlocal(AT, ("x",)), "Func.body is a Nonlocal"),
    "an else": (c.For(AT, A, A, (PASS,), (PASS,)), "the loop in line 1 has an else clause"),
    "an inner else": (
        c.If(AT, A, (c.While(AT, A, (PASS,), (PASS,)),)), "the loop in line 1 has an else clause",
    ),
    "an early return": (c.If(AT, A, (c.Return(AT, A),)), "f has a return that is not its last"),
}  # fmt: skip


@pytest.mark.parametrize("name", SUGARED)
def test_what_desugar_removes(name: str) -> None:
    node, message = SUGARED[name]
    assert [*problems(func(node, PASS))] == []
    found = [*problems(func(node, PASS), desugared=True)]
    assert len(found) == 1 and message in found[0]


def test_two_returns() -> None:
    both = func(c.Return(AT, A), c.Return(AT, A))
    assert [*problems(both)] == [] and len([*problems(both, desugared=True)]) == 1
    assert [*problems(func(PASS, c.Return(AT, A)), desugared=True)] == []
