"""Loops of the emitted program."""

from __future__ import annotations

from s2s.transforms.ir.nodes import For
from s2s.transforms.specialise.interpreter.run_time_loops import RunTimeLoops
from s2s.transforms.specialise.operations.streams import Streams
from s2s.transforms.specialise.values import Num, RangeVal, constant
from s2s.transforms.syntax import core
from tests.transforms.specialise.bench import Bench


def counted(here: Bench, **options: bool) -> RangeVal:
    return RangeVal(constant(0), here.number("n", "int64"), constant(1), **options)


def run(here: Bench, over: RangeVal, body, until: str | None = None) -> For:
    """The loop over a range with the target `v`."""
    target = core.Name(here.node.at, "v")
    assert not here[RunTimeLoops].range_loop(target, over, body, until, here.node)
    loop = here.block[-1]
    assert isinstance(loop, For)
    return loop


def test_a_loop_binds_its_target_and_carries_what_it_changes() -> None:
    here = Bench()
    here.env["total"] = here.number("x")

    def body() -> bool:
        v = here.env["v"]
        assert isinstance(v, Num) and v.operand.user == "v"
        made = here.session.b.emit("add", here.env["total"].operand, 1.0)
        here.env["total"] = Num(made.operand)
        return False

    loop = run(here, counted(here), body)
    assert (loop.index.user, loop.kind, loop.reverse) == ("v", "sequential", False)
    assert loop.until is None and loop.carried[0].phi.user == "total"
    assert isinstance(here.env["total"], Num)


def test_parallel_and_reversed_loops() -> None:
    here = Bench()
    assert run(here, counted(here, parallel=True), lambda: False).kind == "parallel"
    here = Bench()
    assert run(here, counted(here, reverse=True), lambda: False).reverse


def test_a_flag_that_ends_the_loop() -> None:
    here = Bench()
    here.env["stop"] = constant(False)
    assert run(here, counted(here), lambda: False, "stop").until is None

    here = Bench()
    here.env["stop"] = constant(False)

    def body() -> bool:
        here.env["stop"] = Num(here.session.b.emit("greater", here.number().operand, 0.0).operand)
        return False

    assert run(here, counted(here), body, "stop").until is not None


def test_elements_of_a_stream() -> None:
    here = Bench()
    a = here.array("a", 1)
    stream = here[Streams].stream(a, here.node)
    seen = []

    def body() -> bool:
        seen.append(here.env["v"])
        assert not any(name.startswith("k_L") for name in here.env)
        return False

    target = core.Name(here.node.at, "v")
    assert not here[RunTimeLoops].stream_loop(target, stream, body, None, here.node, 1)
    (loop,) = (s for s in here.block if isinstance(s, For))
    assert loop.start.value == 1 and seen and all(isinstance(v, Num) for v in seen)
