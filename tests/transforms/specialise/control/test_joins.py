"""Branches: both sides run, and what differs is merged."""

from __future__ import annotations

import pytest

from s2s.transforms.ir.errors import S2SError
from s2s.transforms.ir.nodes import If, Raise
from s2s.transforms.specialise.control.joins import Joins
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.places import Places
from s2s.transforms.specialise.values import Conflict, Ended, Items, Maybe, Num, Obj, constant
from tests.transforms.specialise.bench import Bench


def condition(here: Bench) -> Num:
    return Num(here.session.b.emit("less", here.number("x").operand, 0.0).operand)


def assign(here: Bench, **values):
    def run() -> bool:
        here.env.update(values)
        return False

    return run


def test_a_number_that_differs_is_a_phi() -> None:
    here = Bench()
    ended = here[Joins].if_(
        condition(here), assign(here, y=constant(1.0)), assign(here, y=constant(2.0))
    )
    branch = here.block[-1]
    assert not ended and isinstance(branch, If) and len(branch.phis) == 1
    assert here.env["y"].known is None


def test_what_agrees_stays_known_and_what_is_bound_once_is_a_maybe() -> None:
    here = Bench()
    both = constant(3)
    run = assign(here, same=both, once=here.number("z"))
    here[Joins].if_(condition(here), run, assign(here, same=both))
    assert here.env["same"].known == (3,) and isinstance(here.env["once"], Maybe)


def test_kinds_that_do_not_go_together_are_a_conflict() -> None:
    here = Bench()
    here[Joins].if_(condition(here), assign(here, y=constant(1.0)), assign(here, y=Obj("text")))
    assert isinstance(here.env["y"], Conflict)


def test_a_side_that_ends_leaves_the_other_one() -> None:
    here = Bench()

    def fails() -> bool:
        here.block.append(Raise("ValueError", ("no",)))
        raise Ended

    assert not here[Joins].if_(condition(here), fails, assign(here, y=constant(2)))
    assert here.env["y"].known == (2,)


def test_a_condition_that_is_known_chooses() -> None:
    here = Bench()
    value = here[Joins].choose(condition(here), lambda: constant(1), lambda: constant(1), here.node)
    assert value.known == (1,) and here[Joins].runtime_depth == 0


def test_element_types() -> None:
    here = Bench()
    joins, state = here[Joins], here.session.state
    type_ = joins.element_type((state, Items((constant(1), here.number()))))
    assert type_ is not None and type_.dtype == "float64"
    assert joins.element_type((state, Items((Obj("text"),)))) is None
    mixed = Items((here.number(), here.array()))
    assert joins.element_type((state, mixed)) is None


def test_a_branch_writes_into_a_list() -> None:
    here = Bench()
    made = here[Arrays].new_list((constant(1.0),))

    def write() -> bool:
        here.session.state.heap[made.cell] = Items((constant(2.0),))
        return False

    here[Joins].if_(condition(here), write, lambda: False)
    (element,) = here.session.state.heap[made.cell].values
    assert isinstance(element, Num) and element.known is None


def test_an_error_of_one_path_is_raised_when_it_is_reached() -> None:
    here = Bench()
    joins = here[Joins]
    error = here[Places].located(ValueError("no"), here.node)
    assert not joins.raised_when_reached(error)
    with joins.at_run_time():
        assert joins.raised_when_reached(error)
        assert not joins.raised_when_reached(S2SError("no"))
    assert here.block
    with pytest.raises(ZeroDivisionError), joins.at_run_time():
        raise ZeroDivisionError
    assert joins.runtime_depth == 0
