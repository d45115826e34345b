"""Parts get the parts below them."""

from __future__ import annotations

from s2s.transforms.specialise.frames import Frames
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.heap.lists import Lists
from s2s.transforms.specialise.interpreter.statements import Statements
from s2s.transforms.specialise.places import Places
from s2s.transforms.specialise.wiring import parts_below
from tests.transforms.specialise.bench import Bench


def test_a_part_is_made_once_after_those_below_it() -> None:
    here = Bench()
    lists, arrays = here[Lists], here[Arrays]
    assert lists.arrays is arrays and arrays.places is here[Places]
    assert here[Lists] is lists
    assert list(here.parts.made).index(Arrays) < list(here.parts.made).index(Lists)


def test_the_parts_below() -> None:
    assert set(parts_below(Lists)) == {Places, Arrays}
    assert Frames in parts_below(Statements) and Statements not in parts_below(Frames)


def test_all_parts_can_be_made_under_a_fake_evaluator() -> None:
    here = Bench()
    assert here[Statements].runners and len(here.parts.made) > 40
