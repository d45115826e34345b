"""Names, and the run of functions."""

from __future__ import annotations

import pytest

from s2s.transforms.frontend.source import read
from s2s.transforms.specialise.frames import Frames
from s2s.transforms.specialise.outside.objects import Objects
from s2s.transforms.specialise.places import Places
from s2s.transforms.specialise.values import Ended, Maybe, Undefined, constant
from s2s.transforms.syntax import core
from tests.transforms.specialise.bench import Bench

FACTOR = 7


def reads_a_global(x):
    y = x * FACTOR
    return len(y)


def doubled(v):
    return v + v


def test_names_are_found_from_inside_to_outside() -> None:
    here = Bench(reads_a_global)
    frames = here[Frames]
    here.env["x"] = x = here.number()
    assert frames.find("x") is x
    assert isinstance(frames.find("y"), Undefined)  # a local name that is not bound yet
    found = frames.lookup("FACTOR", here.node)
    assert found.known == (7,) or here.session.params[0].path == (("global", "FACTOR"),)
    assert here[Objects].reading is here.node
    assert frames.find("len").value is len
    with pytest.raises(NameError, match="'missing' is not defined"):
        frames.lookup("missing", here.node)


def test_a_name_that_is_not_bound_fails_where_it_is_read() -> None:
    here = Bench(reads_a_global)
    with pytest.raises(Ended):
        here[Frames].lookup("y", here.node)
    assert len(here.block) == 1
    x = here.number()
    here.env["y"] = Maybe(x, here.session.b.emit("less", x.operand, 0.0).operand)
    assert here[Frames].lookup("y", here.node) is x and here.env["y"] is x


def test_a_function_runs_in_a_frame_of_its_own() -> None:
    here = Bench()

    def run(stmts):
        here[Places].frame.result = here.env["v"]
        return False

    here.evaluator.answers["run"] = run
    places, before = here[Places], here[Places].stmt
    given = constant(2)
    at = core.Const(here.node.at, 0)
    result = here[Frames].run_function(read(doubled), doubled, (), {"v": given}, None, doubled, at)
    assert result is given
    assert len(places.stack) == 1 and places.stmt is before and "v" not in here.env


def test_the_frame_is_left_when_the_function_fails() -> None:
    here = Bench(run=lambda stmts: pytest.fail("no"))
    at = core.Const(here.node.at, 0)
    with pytest.raises(pytest.fail.Exception):
        here[Frames].run_function(read(doubled), doubled, (), {"v": 1}, None, doubled, at)
    assert len(here[Places].stack) == 1 and len(here.session.state.envs) == 1


def test_defaults_of_nested_functions_are_evaluated_once() -> None:
    here = Bench()
    at = here.node.at
    params = core.Params(at, plain=(core.Param(at, "v", core.Const(at, 3)),))
    closure = here[Frames].closure(core.Func(at, "<lambda>", params, (), True))
    assert closure.defaults[0].known == (3,) and closure.frame is here[Places].frame
