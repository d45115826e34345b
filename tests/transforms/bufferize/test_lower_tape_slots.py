"""Tape slots become arrays that are indexed by iteration numbers, or stacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.bufferize.bufferize import bufferize
from s2s.transforms.bufferize.copy_insertion import stem
from s2s.transforms.bufferize.lower_tape_slots import lower_tape_slots
from s2s.transforms.checkpoint.plan_tape import plan_tape
from s2s.transforms.emit.numpy_writer import write
from s2s.transforms.ir.builder import NameSupply
from s2s.transforms.ir.nodes import Assign, For, Function, ListOf, Module, Push, Save, Store, walk
from s2s.transforms.ir.scopes import names_of
from s2s.transforms.ir.symbolic_dims import Facts
from s2s.transforms.simplify import simplify
from tests.oracle import central_differences
from tests.transforms.programs import F8, Program, int_scalar, program, run, vector
from tests.transforms.running import call_text


def chain(p: Program, x: Any, n: Any) -> Any:
    return p.loop(n, [x], lambda i, s: [s * s * 0.5], names=["s"])


def vectors(p: Program, x: Any, n: Any) -> Any:
    (y,) = p.loop(n, [x], lambda i, s: [s * s * 0.5], names=["s"])
    return p.sum(y)


def squaring(p: Program, x: Any, n: Any) -> Any:
    """The number of iterations is known only when they have run."""
    return p.repeat([x], lambda s: [s < 10.0], lambda s: [s * s + 0.5], names=["s"])


def planned(module: Module) -> Module:
    return plan_tape(simplify(reverse(module, ["x"], 0, Facts())), Facts())


def lowered(params: dict[str, Any], build: Any) -> Function:
    function = planned(program(params, build)).main
    lower_tape_slots(function, NameSupply(names_of(function)))
    return function


def ops(function: Function, name: str) -> list[Assign]:
    return [s for s in walk(function.body) if isinstance(s, Assign) and s.op.name == name]


@pytest.mark.parametrize(("build", "rank"), [(chain, 1), (vectors, 2)])
def test_a_dense_slot(build, rank):
    """Allocated before the loop, one row per iteration."""
    params = {"x": F8 if build is chain else vector("x"), "n": int_scalar("n")}
    function = lowered(params, build)
    (made,) = ops(function, "empty")
    assert made.target.type.ndim == rank
    first = next(k for k, s in enumerate(function.body) if isinstance(s, For))
    assert function.body.index(made) < first
    forward, sweep = (s for s in function.body if isinstance(s, For))
    (store,) = (s for s in walk(forward.body) if isinstance(s, Store))
    assert store.array == made.target
    (read,) = (s for s in ops(function, "index") if s.op.args[0] == made.target)
    assert read in sweep.body and len(read.op.args) == 2
    assert function.notes["slot_variables"] == {made.target.name}
    assert not ops(function, "restore") and not any(
        isinstance(s, Save) for s in walk(function.body)
    )


def test_the_name_tells_the_variable_and_its_line():
    function = lowered({"x": F8, "n": int_scalar("n")}, chain)
    (name,) = function.notes["slot_variables"]
    assert stem(name) == "s_L2"


def test_a_stack():
    function = lowered({"x": F8, "n": int_scalar("n")}, squaring)
    pushes = [s for s in walk(function.body) if isinstance(s, Push)]
    pops = ops(function, "pop")
    assert len(pushes) == len(pops) == 1
    (made,) = ops(function, "list_new")
    assert isinstance(made.target.type, ListOf) and made in function.body
    assert pushes[0].stack == pops[0].op.args[0] == made.target


def test_a_slot_that_is_never_read_is_removed():
    module = planned(program({"x": F8, "n": int_scalar("n")}, chain))
    function = module.main
    (restore,) = ops(function, "restore")
    restore.op = ops(function, "multiply")[0].op
    lower_tape_slots(function, NameSupply(names_of(function)))
    assert not any(isinstance(s, (Save, Store, Push)) for s in walk(function.body))
    assert function.notes["slot_variables"] == frozenset()


def test_nothing_to_lower():
    function = lowered({"x": F8, "n": int_scalar("n")}, lambda p, x, n: x * 2.0)
    assert function.notes["slot_variables"] == frozenset()


@pytest.mark.parametrize("build", [chain, vectors, squaring])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_values(build, n):
    """Oracle: finite differences."""
    x = np.array([0.5, 1.5, 1.1]) if build is vectors else 1.3
    module = program({"x": vector("x") if build is vectors else F8, "n": int_scalar("n")}, build)
    text = write(bufferize(planned(module)))
    value, gradient = call_text(text, planned(module).main.name, [x, n, 1.0])
    np.testing.assert_allclose(value, run(module, x, n)[0], rtol=1e-12)
    want = central_differences(lambda x, n: run(module, x, n)[0], [x, n], 0)
    np.testing.assert_allclose(gradient, want, rtol=1e-6, atol=1e-8)
