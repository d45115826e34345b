"""Which values are active: on a path from `wrt` to the result."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2s.transforms.autodiff.activity import activity
from s2s.transforms.autodiff.reverse import reverse
from s2s.transforms.ir.nodes import Module, Type, targets_of, walk
from tests.transforms.programs import F8, Program, int_scalar, program, vector


def active(module: Module, *wrt: str, result: int = 0) -> set[str]:
    main = module.main
    return set(activity(main, wrt, [main.results[result]]).values)


def names(module: Module) -> dict[str, str]:
    """The target of each operation that occurs once, by operation name."""
    return {
        s.op.name: s.target.name  # type: ignore[union-attr]
        for s in walk(module.main.body)
        if any(True for _ in targets_of(s)) and hasattr(s, "op")
    }


XY: dict[str, Type] = {"x": F8, "y": F8}


def test_varied_and_useful() -> None:
    def build(p: Program, x: Any, y: Any) -> Any:
        np.cos(x)  # not useful
        return np.sin(y) * x + np.exp(y)

    module = program(XY, build)
    at = names(module)
    got = active(module, "x")
    assert got == {"x", at["multiply"], at["add"]}
    assert at["cos"] not in got and at["sin"] not in got


def test_integers_and_comparisons_are_inactive() -> None:
    def build(p: Program, x: Any, n: Any) -> Any:
        rounded = p.emit("cast", p.emit("cast", x, dtype="int64"), dtype="float64")
        (y,) = p.branch(x > 0.0, lambda: [rounded], lambda: [rounded * 2.0])
        return y + np.floor(x)

    module = program({"x": F8, "n": int_scalar("n")}, build)
    assert active(module, "x") == set()


def test_around_a_loop() -> None:
    """A value becomes active in a later iteration: a <- b <- x."""

    def build(p: Program, x: Any, y: Any) -> Any:
        a, b, c = p.loop(3, [y, y, y], lambda i, a, b, c: [b, b * x, c * c])
        return a

    module = program(XY, build)
    loop = module.main.body[-1]
    carried = loop.carried  # type: ignore[union-attr]
    got = active(module, "x")
    assert {carried[0].result.name, carried[1].phi.name} <= got
    assert carried[2].phi.name not in got and carried[2].result.name not in got


def test_slots_carry_activity() -> None:
    def build(p: Program, x: Any) -> Any:
        (s,) = p.loop(x.shape[0], [1.0], lambda i, s: [np.sin(s) * p.get(x, i)])
        return s

    vjp = reverse(program({"x": vector("x")}, build), ("x",))
    main = vjp.main
    found = activity(main, ("x",), [main.results[1]])
    assert found.slots and "x" in found.values
    assert not activity(main, ("x",), [main.results[0]]).slots
