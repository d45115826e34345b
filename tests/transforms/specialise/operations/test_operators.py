"""Operators by the kinds of their operands."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.operations.operators import Operators, is_count
from s2s.transforms.specialise.values import ListVal, Num, Obj, Ref, TupleVal, constant
from tests.transforms.specialise.bench import Bench


class Money:
    def __add__(self, other):
        return other

    def __radd__(self, other):
        return NotImplemented


@pytest.mark.parametrize(
    "name, x, y, value", [("add", 2, 3, 5), ("power", 2.0, 3, 8.0), ("floor_divide", 7, 2, 3)]
)
def test_known_scalars_fold(name: str, x: float, y: float, value: float) -> None:
    here = Bench()
    made = here[Operators].binary(name, constant(x), constant(y), here.node)
    assert made.known == (value,) and type(made.known[0]) is type(value)


def test_errors_of_python_have_their_place() -> None:
    here = Bench()
    with pytest.raises(TypeError, match=r"y = x \* 2.0"):
        here[Operators].dict_key(here[Arrays].new_dict((), ()), here.node)
    made = here[Operators].binary("floor_divide", constant(1), constant(0), here.node)
    assert made.known is None and here.block  # raised if the run comes there


def test_operations_on_run_time_scalars_are_emitted() -> None:
    here = Bench()
    made = here[Operators].binary("multiply", here.number(), constant(2.0), here.node)
    assert isinstance(made, Num) and made.known is None and here.ops == ["multiply"]
    assert isinstance(here[Operators].binary("add", here.array(), made, here.node), Ref)


def test_sequences_are_joined_and_repeated() -> None:
    here = Bench()
    operators = here[Operators]
    pair = TupleVal((constant(1), constant(2)))
    assert len(operators.binary("add", pair, pair, here.node).values) == 4
    items = here[Arrays].new_list((constant(0.0),))
    made = operators.binary("multiply", items, constant(3), here.node)
    assert isinstance(made, ListVal) and made.cell is not items.cell
    assert len(here.session.state.heap[made.cell].values) == 3
    with pytest.raises(S2SError):
        operators.must_not_be_long(10**9, here.node)


def test_users_operators_are_calls() -> None:
    here = Bench(call_function=lambda callee, args: (callee.value, args))
    owner = Obj(Money(), (("global", "m"),))
    made = here[Operators].special_binary("add", owner, constant(1), here.node)
    assert made == (Money.__add__, (owner, constant(1)))


def test_not_implemented_leaves_it_to_the_other_operand() -> None:
    here = Bench(call_function=lambda callee, args: Obj(NotImplemented))
    owner = Obj(Money(), (("global", "m"),))
    assert here[Operators].call_special(owner, "__radd__", (constant(1),), here.node) is None
    assert here[Operators].call_special(owner, "__sub__", (constant(1),), here.node) is None


def test_keys_of_dicts() -> None:
    here = Bench()
    assert here[Operators].dict_key(Obj("k"), here.node) == "k"
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        here[Operators].dict_key(here[Arrays].new_list(()), here.node)
    assert is_count(constant(3)) and not is_count(constant(3.0))
