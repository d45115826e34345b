"""The driver: parameters, results and new starts."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.frontend.pytree import Out, Tree, describe
from s2s.transforms.frontend.source import read
from s2s.transforms.ir.errors import S2SError
from s2s.transforms.specialise import NeedStaticArgument
from s2s.transforms.specialise.driver import Specialiser, specialise
from s2s.transforms.specialise.shared import Callee, Shared
from tests.transforms.specialise.bench import program


def scaled(x, n):
    return {"sum": np.sum(x) * n, "x": x}


def by_count(x, n):
    return x.reshape((n, -1)) if n else np.zeros((2,) * n)


def nothing(x):
    x[0] = 1.0


def test_results_have_a_structure() -> None:
    args = {"x": np.ones(3), "n": 2.0}
    done = specialise(scaled, {k: describe(v) for k, v in args.items()}, args)
    assert isinstance(done.out, Tree) and done.out.kind == "dict"
    assert [p.name for p in done.params] == ["x", "n"] and done.written == []
    assert isinstance(done.out.children[0], Out) and done.module.main.notes["facts"] is done.facts


def test_a_function_without_a_result_is_refused_with_what_it_writes() -> None:
    args = {"x": np.ones(3)}
    with pytest.raises(S2SError, match="returns None") as caught:
        specialise(nothing, {"x": describe(args["x"])}, args)
    assert "return x" in caught.value.advice


def test_a_number_that_must_be_known_is_named() -> None:
    args = {"x": np.ones(4), "n": 2}
    with pytest.raises(NeedStaticArgument) as caught:
        specialise(by_count, {k: describe(v) for k, v in args.items()}, args)
    assert caught.value.path == (("arg", "n"),)


def test_the_evaluator_of_a_call_shares_with_its_caller() -> None:
    shared = Shared(program)
    outer = Specialiser(program, None, frozenset(), frozenset(), shared)
    callee = Callee(program, program, read(program), program, (), None)
    inner = outer.nested(callee)
    assert inner.session.shared is shared and inner.session.outer is outer.frames
    assert inner.places.frame.owner is inner.frames and inner.arrays is not outer.arrays
