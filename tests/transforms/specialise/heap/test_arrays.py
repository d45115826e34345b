"""Arrays and containers: versions, views, and what may be reached."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.ir.nodes import Const, Var
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.places import NeedUnroll
from s2s.transforms.specialise.values import Conflict, Maybe, Num, Obj, Ref, TupleVal, constant
from tests.transforms.specialise.bench import Bench


def test_sym_takes_scalars_and_arrays() -> None:
    here = Bench()
    arrays, a, x = here[Arrays], here.array("a"), here.number("x")
    assert arrays.sym(a).operand == here.session.state.heap[a.cell]
    assert arrays.sym(x).operand == x.operand
    with pytest.raises(S2SError, match="a number or an array was expected here"):
        arrays.sym(Obj("text"))


def test_a_basic_slice_is_a_view_and_a_sum_is_not() -> None:
    here = Bench()
    arrays, a = here[Arrays], here.array("a", 2)
    array = arrays.sym(a)
    row = arrays.wrap(here.session.b.emit("index", array, items=(("int", 0), ("all",))), (a,))
    assert isinstance(row, Ref) and row.cell is a.cell and row.path
    fresh = arrays.wrap(array + array, (a,))
    assert isinstance(fresh, Ref) and fresh.cell is not a.cell


def test_tensors() -> None:
    here = Bench()
    arrays, a = here[Arrays], here.array("a")
    tensor = arrays.as_tensor(a)
    assert arrays.is_tensor(tensor) and not arrays.is_tensor(a)
    assert arrays.is_tensor(arrays.tensor_of(here.array("c"), a, tensor))
    with pytest.raises(TypeError, match="a tensor cannot be written to"):
        arrays.refuse_tensor(tensor.cell, here.node)


def test_cells_are_reached_through_containers_and_names() -> None:
    here = Bench()
    arrays, a, b = here[Arrays], here.array("a"), here.array("b")
    outer = arrays.new_list((arrays.new_dict(("k",), (TupleVal((a,)),)),))
    assert {outer.cell, a.cell} <= arrays.cells_in([outer])
    here.env["<held>"] = outer
    assert a.cell in arrays.reachable() and b.cell not in arrays.reachable()


def test_an_element_of_a_list_may_not_be_written_to() -> None:
    here = Bench()
    arrays, a = here[Arrays], here.array("a")
    arrays.refuse_shared(a.cell, here.node)
    mark = arrays.mark()
    arrays.is_element(a)
    with pytest.raises(S2SError, match="also an element of a list"):
        arrays.refuse_shared(a.cell, here.node)
    arrays.undo(mark)
    arrays.refuse_shared(a.cell, here.node)


def test_scalars_fold_and_truth_is_a_python_bool() -> None:
    here = Bench()
    arrays = here[Arrays]
    assert arrays.negated(constant(True)).known == (False,)
    cond = Num(here.session.b.emit("less", here.number("x").operand, 0.0).operand)
    assert arrays.negated(cond).known is None and "logical_not" in here.ops


def test_static_values() -> None:
    here = Bench()
    arrays = here[Arrays]
    assert arrays.static(TupleVal((constant(1), Obj("x"))), here.node, "it") == (1, "x")
    with pytest.raises(NeedUnroll) as caught:
        arrays.static(here.number(), here.node, "the axis")
    assert "the axis must be known" in caught.value.refusal.message


def test_usable_values() -> None:
    here = Bench()
    arrays, x = here[Arrays], here.number()
    assert arrays.usable(Maybe(x, Const(True, x.type)), here.node) is x
    with pytest.raises(NeedUnroll) as caught:
        arrays.usable(Conflict("x is two things"), here.node)
    assert caught.value.peel and caught.value.refusal.message == "x is two things"


def test_first_contents_come_from_outside() -> None:
    here = Bench()
    arrays = here[Arrays]
    made = arrays.new_list((constant(1),))
    arrays.from_outside(made, (("arg", "v"),))
    assert made.cell.path == (("arg", "v"),) and list(arrays.first_contents) == [made.cell]
    assert not arrays.held_instances
    assert arrays.becomes_run_time_list(made.cell) and not arrays.becomes_run_time_list(made.cell)


def test_the_type_of_a_view_leaves_no_operation_behind() -> None:
    here = Bench()
    arrays, a = here[Arrays], here.array("a", 2)
    view = Ref(a.cell, (("index", (("int", 0), ("all",))),))
    assert arrays.ref_type(view).ndim == 1 and not here.block
    assert isinstance(arrays.read(view), Var) and here.ops == ["index"]
