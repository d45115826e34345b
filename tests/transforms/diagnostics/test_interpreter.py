"""The reference interpreter: control flow, slots, errors and its checks of types."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.diagnostics.interpreter import conform, evaluate
from s2s.transforms.ir.builder import Builder, NameSupply, const
from s2s.transforms.ir.nodes import (
    Array,
    Assign,
    Carried,
    Const,
    For,
    Function,
    If,
    ListOf,
    Op,
    Phi,
    Print,
    Raise,
    Save,
    Scalar,
    Slot,
    Var,
    While,
)
from s2s.transforms.ir.symbolic_dims import Dim, Facts

FLOAT = Scalar("float64")
INT = Scalar("int64")
BOOL = Scalar("bool")


def f64(name: str) -> Var:
    return Var(name, FLOAT)


def builder() -> Builder:
    return Builder(NameSupply(), Facts())


def summing_loop(**options) -> Function:
    """s = 0; for i in range(2, stop, 3): s += i, with the trip count"""
    b = builder()
    i, s, stop = Var("i", INT), f64("s"), Var("stop", INT)
    with b.into([]) as body:
        new = b.emit("add", s, i)
    carried = [Carried(s, const(np.float64(0)), new.operand, f64("total"))]
    trips = Var("trips", INT)
    loop = For(i, const(2), stop, const(3), body, carried, trips=trips, **options)
    return Function("f", [stop], [loop], [f64("total"), trips])


@pytest.mark.parametrize("stop", [0, 2, 3, 5, 9])
def test_for(stop):
    numbers = range(2, stop, 3)
    assert evaluate(summing_loop(), stop)[0] == [sum(numbers), len(numbers)]
    assert evaluate(summing_loop(reverse=True), stop)[0] == [sum(numbers), len(numbers)]


def test_count_replaces_stop():
    assert evaluate(summing_loop(count=const(2)), 100)[0] == [2 + 5, 2]


def test_until_ends_after_its_iteration():
    function = summing_loop()
    loop = function.body[0]
    stop = Var("done", BOOL)
    loop.body.append(Assign(stop, Op("greater", (Var("i", INT), const(3)))))
    loop.until = stop
    assert evaluate(function, 100)[0] == [2 + 5, 2]


def test_while_runs_its_test_once_more_than_its_body():
    b = builder()
    x = f64("x")
    with b.into([]) as test:
        cond = b.emit("less", x, 10.0)
    with b.into([]) as body:
        new = b.emit("multiply", x, 2.0)
    trips = Var("trips", INT)
    carried = [Carried(x, f64("start"), new.operand, f64("end"))]
    loop = While(test, cond.operand, body, carried, trips=trips)
    function = Function("f", [f64("start")], [loop], [f64("end"), trips])
    assert evaluate(function, 3.0)[0] == [12.0, 2]
    assert evaluate(function, 30.0)[0] == [30.0, 0]


def test_if_runs_one_branch():
    b = builder()
    x = f64("x")
    with b.into([]) as then:
        big = b.emit("negative", x)
    cond = Var("c", BOOL)
    branch = If(cond, then, [Raise("KeyError", ("no ", x))], [Phi(f64("y"), big.operand, x)])
    function = Function("f", [x, cond], [branch], [f64("y")])
    assert evaluate(function, 2.0, True)[0] == [-2.0]
    with pytest.raises(KeyError, match="no 2.0"):
        evaluate(function, 2.0, False)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_slots_pair_with_the_mirrored_loop(n):
    """The squares that a loop saved are restored in the opposite order."""
    slot = Slot("keep", INT)
    i, j, size = Var("i", INT), Var("j", INT), Var("n", INT)
    b = builder()
    with b.into([]) as forward:
        square = b.emit("multiply", i, i)
        forward.append(Save(slot, square.operand))
    h = Var("h", Array("float64", (Dim.of("n"),)))
    kept = Var("kept", INT)
    with b.into([]) as backward:
        backward.append(Assign(kept, Op("restore", (), {"slot": slot})))
        new = b.emit("update", h, kept, j, path=(("index", (("int", 2),)),))
    carried = [Carried(h, Var("h0", h.type), new.operand, Var("out", h.type))]
    loops = [
        For(i, const(0), size, const(1), forward, label="L"),
        For(j, const(0), size, const(1), backward, carried, reverse=True, mirror="L"),
    ]
    function = Function("f", [Var("h0", h.type), size], loops, [Var("out", h.type)])
    (result,), _ = evaluate(function, np.zeros(n), n)
    np.testing.assert_array_equal(result, np.arange(n) ** 2)


def test_effects_leave_arguments_alone():
    b = builder()
    x = Var("x", Array("float64", (Dim.of("x.0"),)))
    new = b.emit("update", x, 5.0, 0, path=(("index", (("int", 2),)),))
    function = Function("f", [x], b.block, [], [(x, new.operand)])
    given = np.zeros(2)
    assert evaluate(function, given)[1]["x"].tolist() == [5.0, 0.0]
    assert given.tolist() == [0.0, 0.0]


def test_print(capsys):
    x = f64("x")
    evaluate(Function("f", [x], [Print(("x is", x, ("<", x, ">")), sep="|")], []), 1.5)
    assert capsys.readouterr().out == "x is|1.5|<1.5>\n"


def test_weak_scalars_are_python_numbers():
    assert type(conform(np.float64(2), Scalar("float64", weak=True))) is float
    assert type(conform(2, Scalar("int64"))) is np.int64
    assert conform([1.0], ListOf(FLOAT)) == [1.0]


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (np.float32(1), FLOAT),
        (1.5, INT),
        (np.ones(2), FLOAT),
        (np.ones(2), Array("float32", (Dim.of("n"),))),
        (np.ones(2), Array("float64", (Dim.of(3),))),
        (np.ones((2, 2)), Array("float64", (Dim.of("n"),))),
    ],
)
def test_wrong_types_are_found(value, type_):
    with pytest.raises(AssertionError, match="promised|is not"):
        conform(value, type_)


def test_constants():
    function = Function("f", [], [], [Const(2.0, Scalar("float32"))])
    assert evaluate(function)[0][0].dtype == np.float32
