"""Expressions of core syntax."""

from __future__ import annotations

import pytest

from s2s.transforms.specialise.interpreter.expressions import Expressions
from s2s.transforms.specialise.values import SliceVal, TupleVal
from s2s.transforms.syntax import core
from s2s.transforms.syntax.core import Const, Name
from tests.transforms.specialise.bench import Bench


def test_every_expression_has_a_method() -> None:
    table = Bench()[Expressions].evaluators
    assert {Const, Name, core.Call, core.Attr, core.Item, core.Compare, core.Comp} <= set(table)


def test_atoms_and_displays() -> None:
    here = Bench()
    at, eval = here.node.at, here[Expressions].eval
    here.env["x"] = x = here.number()
    assert eval(Const(at, 2)).known == (2,) and eval(Name(at, "x")) is x
    pair = eval(core.Seq(at, "tuple", (Const(at, 1), Name(at, "x"))))
    assert isinstance(pair, TupleVal) and pair.values[1] is x
    made = eval(core.Seq(at, "list", (Const(at, 1),)))
    assert made.cell in here.session.state.heap
    part = eval(core.Slice(at, None, Const(at, 2), None))
    assert isinstance(part, SliceVal) and part.stop.known == (2,)


def test_operators() -> None:
    here = Bench()
    at, eval = here.node.at, here[Expressions].eval
    assert eval(core.Unary(at, "-", Const(at, 2))).known == (-2,)
    assert eval(core.Unary(at, "not", Const(at, 0))).known == (True,)
    assert eval(core.Binary(at, Const(at, 2), "+", Const(at, 3))).known == (5,)
    chosen = core.Choose(at, Const(at, True), Const(at, "yes"), Name(at, "missing"))
    assert eval(chosen).value == "yes"
    assert eval(core.Bool(at, "and", (Const(at, 0), Name(at, "missing")))).known == (0,)


def test_a_name_is_bound_in_an_expression() -> None:
    here = Bench()
    node = core.Bind(here.node.at, Name(here.node.at, "z"), Const(here.node.at, 4))
    assert here[Expressions].eval(node).known == (4,) and here.env["z"].known == (4,)


def test_unknown_syntax_is_refused_where_it_stands() -> None:
    here = Bench()
    node = core.Refused(here.node.at, "no such thing", "write something else")
    with pytest.raises(Exception, match="no such thing"):
        here[Expressions].eval(node)
