"""The evaluator as a whole has the methods of the protocol."""

from __future__ import annotations

import inspect

from s2s.transforms.specialise.driver import Specialiser
from s2s.transforms.specialise.evaluator import Evaluator
from s2s.transforms.specialise.shared import Shared
from tests.transforms.specialise.bench import FakeEvaluator, program

NINE = [n for n in vars(Evaluator) if not n.startswith("_")]


def test_the_real_and_the_fake_evaluator_have_its_methods() -> None:
    made = Specialiser(program, None, frozenset(), frozenset(), Shared(program))
    assert len(NINE) == 9
    for name in NINE:
        wanted = inspect.signature(getattr(Evaluator, name)).parameters
        for evaluator in (made, FakeEvaluator()):
            found = inspect.signature(getattr(evaluator, name)).parameters
            assert "args" in found or [*found] == [*wanted][1:], name
