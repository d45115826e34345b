"""Live ranges: straight-line code, branches, loops."""

from __future__ import annotations

from s2s.transforms.bufferize.live_ranges import Liveness, merged, overlap
from s2s.transforms.ir.nodes import Assign, For, Function, If, Module
from tests.transforms.programs import F8, Program, program, vector


def main(module: Module) -> tuple[Function, Liveness]:
    return module.main, Liveness(module.main)


def test_dying_operand_does_not_overlap_the_result() -> None:
    f, live = main(program({"x": F8}, lambda p, x: (x * 2.0) * 3.0))
    first, second = (s.target.name for s in f.body if isinstance(s, Assign))
    assert not overlap(live.ranges["x"], live.ranges[first])
    assert not overlap(live.ranges[first], live.ranges[second])


def test_value_read_later_overlaps() -> None:
    def build(p: Program, x):
        y = x * 2.0
        return y * 3.0 + y

    f, live = main(program({"x": F8}, build))
    y, z = (s.target.name for s in f.body[:2] if isinstance(s, Assign))
    assert overlap(live.ranges[y], live.ranges[z])


def test_branches_do_not_see_each_other() -> None:
    def build(p: Program, x, y):
        def then():
            return [x * 2.0]

        return p.branch(x > 0.0, then, lambda: [y * y])

    f, live = main(program({"x": F8, "y": F8}, build))
    (branch,) = (s for s in f.body if isinstance(s, If))
    then, phi = branch.then[0], branch.phis[0]
    assert isinstance(then, Assign)
    # y is read in the other branch only: it is dead in this one.
    assert not overlap(live.ranges["y"], live.ranges[then.target.name])
    assert not overlap(live.ranges[phi.target.name], live.ranges[then.target.name])


def test_what_a_loop_reads_lives_throughout() -> None:
    def build(p: Program, x, y):
        return p.loop(3, [x], lambda i, s: [s * y])

    f, live = main(program({"x": F8, "y": F8}, build))
    (loop,) = (s for s in f.body if isinstance(s, For))
    (c,) = loop.carried
    assert overlap(live.ranges["y"], live.ranges[c.next.name])
    assert overlap(live.ranges["y"], live.ranges[c.phi.name])
    # The carried value itself may stay in one variable.
    for other in (c.init, c.next, c.result):
        assert not overlap(live.ranges[c.phi.name], live.ranges[other.name])


def test_carried_value_read_after_its_successor_is_made() -> None:
    def build(p: Program, x):
        def body(i, s):
            t = s * 2.0
            return [t + p.emit("sin", s)]

        def late(i, s):
            t = s * 2.0
            p.emit("sin", s)
            return [t]

        return [*p.loop(3, [x], body), *p.loop(3, [x], late)]

    f, live = main(program({"x": F8}, build))
    first, second = (s for s in f.body if isinstance(s, For))
    c = first.carried[0]
    assert not overlap(live.ranges[c.phi.name], live.ranges[c.next.name])
    c = second.carried[0]
    assert overlap(live.ranges[c.phi.name], live.ranges[c.next.name])


def test_an_update_keeps_its_value_until_it_is_done() -> None:
    def build(p: Program, x, v):
        return p.set(x, v * 2.0, 0)

    f, live = main(program({"x": vector("x"), "v": F8}, build))
    value, update = f.body[-2:]
    assert isinstance(value, Assign) and isinstance(update, Assign)
    assert overlap(live.ranges[value.target.name], live.ranges[update.target.name])
    assert not overlap(live.ranges["x"], live.ranges[update.target.name])


def test_merged() -> None:
    assert merged([(5, 6), (0, 1)], [(2, 3), (6, 9)]) == [(0, 3), (5, 9)]
