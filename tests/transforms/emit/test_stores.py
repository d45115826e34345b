"""What a statement in memory form writes in place."""

from __future__ import annotations

from s2s.transforms.emit.stores import written_by
from s2s.transforms.ir.nodes import Array, Assign, ListOf, Op, Push, Scalar, Store, Var
from s2s.transforms.ir.symbolic_dims import Dim

F8 = Scalar("float64")
ARRAY = Var("a", Array("float64", (Dim.of("n"),)))
STACK = Var("s", ListOf(F8))


def test_written_by() -> None:
    x = Var("x", F8)
    assert written_by(Store(ARRAY, x, ())) == "a"
    assert written_by(Push(STACK, x)) == "s"
    assert written_by(Assign(x, Op("pop", (STACK,)))) == "s"
    assert written_by(Assign(x, Op("negative", (x,)))) is None
