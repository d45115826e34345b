"""Truth values."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.ir.nodes import If
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.operations.truth import Truth
from s2s.transforms.specialise.values import Num, Obj, RangeVal, TupleVal, constant
from tests.transforms.specialise.bench import Bench


@pytest.mark.parametrize(
    "value, truth",
    [(constant(0), False), (constant(2.5), True), (Obj(""), False), (TupleVal(()), False),
     (TupleVal((Obj(None),)), True), (RangeVal(constant(0), constant(0), constant(1)), False)],
)  # fmt: skip
def test_known_truth(value, truth) -> None:
    here = Bench()
    assert here[Truth].truth(value, here.node).known == (truth,)
    assert here[Truth].not_(value, here.node).known == (not truth,)


def test_truth_of_the_run() -> None:
    here = Bench()
    assert here[Truth].truth(here.number(), here.node).known is None and here.ops == ["not_equal"]
    with pytest.raises(S2SError, match="truth value of an array is ambiguous"):
        here[Truth].truth(here.array(), here.node)
    assert here[Truth].truth(here[Arrays].new_list((constant(1),)), here.node).known == (True,)


def test_a_known_side_decides() -> None:
    here = Bench()
    one, two = constant(1), constant(2)
    assert here[Truth].lazy_and(one, lambda: two, here.node) is two
    assert here[Truth].lazy_or(one, lambda: two, here.node) is one
    never = lambda: pytest.fail("evaluated")  # noqa: E731
    assert here[Truth].lazy_and(constant(0), never, here.node).known == (0,)


def test_a_harmless_side_is_evaluated_and_another_runs_in_a_branch() -> None:
    here = Bench()
    b, x = here.session.b, here.number().operand
    left = Num(b.emit("less", x, 0.0).operand)
    here[Truth].lazy_and(left, lambda: Num(b.emit("less", x, 5.0).operand), here.node)
    assert here.ops == ["less", "less", "logical_and"]

    def writes() -> Num:
        here.env["seen"] = constant(1)
        return Num(b.emit("less", x, 7.0).operand)

    here[Truth].lazy_or(left, writes, here.node)
    assert isinstance(here.block[-1], If) and here[Truth].joins.runtime_depth == 0


def test_the_class_of_the_user_answers() -> None:
    here = Bench(call_special=lambda owner, name, args: constant(name == "__bool__"))
    assert here[Truth].truth(Obj(object(), (("global", "o"),)), here.node).known == (True,)
