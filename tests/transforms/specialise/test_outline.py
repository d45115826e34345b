"""Calls that stay calls."""

from __future__ import annotations

from s2s.transforms.frontend.source import read
from s2s.transforms.ir.nodes import Call
from s2s.transforms.specialise.driver import Specialiser
from s2s.transforms.specialise.outline import Outlines
from s2s.transforms.specialise.shared import Callee, Shared
from s2s.transforms.specialise.values import Num
from tests.transforms.specialise.bench import Bench, program


def test_a_function_is_specialised_once_for_a_pattern_of_arguments() -> None:
    shared = Shared(program, recursive=frozenset((program,)))
    here = Bench()
    here.session.shared = shared
    here.session.nested = Specialiser(program, None, frozenset(), frozenset(), shared).nested
    callee = Callee(program, program, read(program), program, (), None)
    outline = here[Outlines]
    first = outline.call_outlined(callee, {"x": here.number("p")}, here.node)
    second = outline.call_outlined(callee, {"x": here.number("q")}, here.node)
    calls = [s for s in here.block if isinstance(s, Call)]
    assert len(calls) == 2 and calls[0].function == calls[1].function and len(shared.made) == 1
    results = [v[0] if isinstance(v, tuple) else v for v in (first, second)]
    assert all(isinstance(v, Num) for v in results) and results[0] != results[1]
    outline.call_outlined(callee, {"x": here.array("a")}, here.node)
    assert len(shared.made) == 2
