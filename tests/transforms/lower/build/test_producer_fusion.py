"""Readers of definitions in memory form, and whether what a definition depends on may change."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir import nodes
from s2s.transforms.ir.builder import const
from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.lower.build.producer_fusion import Usage, accumulate_to_value, reads, writes
from tests.transforms.lower.harness import check, lowered

VECTOR = nodes.Array("float64", (Dim.of("x.0"),))
FLOAT, INT, BOOL = (nodes.Scalar(dtype) for dtype in ("float64", "int64", "bool"))
X, Y, Z, T = (nodes.Var(name, VECTOR) for name in "xyzt")
S = nodes.Var("s", FLOAT)
P, INDEX = nodes.Var("p", BOOL), nodes.Var("i", INT)
ALL = (("index", (("all",),)),)


def assign(target: nodes.Var, name: str, *args: nodes.Operand, **attrs) -> nodes.Assign:
    return nodes.Assign(target, nodes.Op(name, args, attrs))


def store(array: nodes.Var, value: nodes.Operand, add: bool = False, path=ALL) -> nodes.Store:
    return nodes.Store(array, value, path, (), add)


def loop(*body: nodes.Stmt) -> nodes.For:
    return nodes.For(INDEX, const(0), const(3), const(1), list(body), [])


def function(*body: nodes.Stmt, results=(S,), **notes) -> nodes.Function:
    return nodes.Function("f", [X, P], list(body), [*results], notes=notes)


MAKE = assign(T, "exp", X)
READ = assign(S, "sum", T, axis=None, keepdims=False)


def test_names_that_statements_read_and_write():
    stack = nodes.Var("stack", nodes.ListOf(FLOAT))
    branch = nodes.If(P, [store(Y, X)], [assign(Z, "exp", T)], [])
    assert list(writes(branch)) == [("y", True), ("z", False)]
    assert sorted(reads(branch)) == ["p", "t", "x", "y"]
    assert list(writes(loop(nodes.Push(stack, S)))) == [("i", False), ("stack", True)]
    assert list(writes(assign(S, "pop", stack))) == [("s", False), ("stack", False)]
    assert list(reads(assign(Y, "multiply", X, X))) == ["x", "x"]


def uses(*body: nodes.Stmt, elements: bool = False, **options):
    f = function(*body, **options)
    return Usage(f, elements).uses(f.body, 0)


def test_readers_of_a_definition():
    found = uses(MAKE, assign(Y, "add", T, T), loop(assign(Z, "exp", T)), READ)
    assert found is not None
    assert (found.direct, found.nested, found.first, found.last) == (3, 1, 0, 3)
    assert found.compound == (2,)


def test_a_definition_ends_where_its_variable_is_bound_again():
    found = uses(MAKE, READ, assign(T, "exp", Y), assign(Z, "exp", T))
    assert found is not None and (found.direct, found.last) == (1, 1)


def test_definitions_that_must_be_in_memory():
    assert uses(MAKE, READ, results=(T,)) is None  # live at the end
    carried = nodes.If(P, [assign(T, "exp", Y)], [], [])
    assert uses(MAKE, carried, READ) is None  # bound by a branch
    f = function(loop(READ, MAKE))  # live in the next iteration
    (again,) = f.body
    assert isinstance(again, nodes.For) and Usage(f).uses(again.body, 1) is None


@pytest.mark.parametrize(
    ("between", "changed"),
    [
        ([], False),
        ([store(Y, const(1.0))], False),
        ([store(X, const(1.0))], True),
        ([assign(X, "exp", Y)], True),
        ([nodes.If(P, [store(X, const(1.0))], [], [])], True),
        ([loop(store(X, const(1.0)))], True),
    ],
)
def test_operands_that_change_before_the_reader(between, changed):
    found = uses(MAKE, *between, READ)
    assert found is not None and found.is_clobbered_by({"x"}) is changed
    assert not found.is_clobbered_by({"p"})


def test_operands_that_change_with_or_after_the_reader():
    later = uses(MAKE, READ, store(X, const(1.0)))
    assert later is not None and not later.is_clobbered_by({"x"})
    # The reader computes its right-hand side before it writes.
    same = uses(MAKE, store(X, T))
    assert same is not None and not same.is_clobbered_by({"x"})
    # A loop writes before it reads again.
    around = uses(MAKE, loop(store(X, T)))
    assert around is not None and around.is_clobbered_by({"x"})


def test_aliases_change_together():
    found = uses(MAKE, assign(Z, "alias", X), store(Z, const(1.0)), READ)
    assert found is not None and found.is_clobbered_by({"x"})
    shared = uses(MAKE, store(Y, const(1.0)), READ, buffers={"x": 0, "y": 0})
    assert shared is not None and shared.is_clobbered_by({"x"})
    # Binding a name leaves the memory of the other alone.
    bound = uses(MAKE, assign(Y, "exp", Z), READ, buffers={"x": 0, "y": 0})
    assert bound is not None and not bound.is_clobbered_by({"x"})


def test_live_variables():
    f = function(MAKE, store(X, T), READ)
    usage = Usage(f)
    assert usage.alive_after(f.body, 0) >= {"t", "x"}
    assert usage.alive_after(f.body, 1) == {"t"}
    assert usage.alive_after(f.body, 2) == {"s"}
    # What is stored to x is never read.
    assert Usage(f, elements=True).alive_after(f.body, 0) == {"t"}


def test_reads_of_elements_alone():
    """A size is no element, and a whole store leaves no old one."""
    shape = assign(nodes.Var("n", INT), "shape", Y, axis=0)
    f = function(MAKE, shape, store(Y, T, path=()), READ)
    assert "y" in Usage(f).alive_after(f.body, 0)
    assert "y" not in Usage(f, elements=True).alive_after(f.body, 0)


def accumulated(*body: nodes.Stmt, facts: Facts | None = None, **options) -> list[nodes.Stmt]:
    return accumulate_to_value(function(*body, **options), facts or Facts()).body


ADD = nodes.Store(T, Y, (), (), True)
AS_VALUE = assign(T, "add", T, Y)


def test_a_sum_into_a_whole_array_becomes_a_value():
    assert accumulated(MAKE, ADD, READ)[1] == AS_VALUE
    (again,) = accumulated(loop(ADD))
    assert isinstance(again, nodes.For) and again.body == [AS_VALUE]
    branch = nodes.If(P, [ADD], [ADD], [])
    (both,) = accumulated(branch)
    assert isinstance(both, nodes.If) and both.then == both.orelse == [AS_VALUE]
    number = nodes.Store(T, S, (), (), True)
    assert accumulated(MAKE, number)[1] == assign(T, "add", T, S)


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ([nodes.Store(X, Y, (), (), True)], {}),  # an argument
        ([MAKE, store(T, Y, add=True)], {}),  # a region
        ([MAKE, nodes.Store(T, Y, (), (), False)], {}),
        ([MAKE, assign(Z, "alias", T), ADD], {}),
        ([MAKE, assign(Y, "matmul", X, X), ADD], {}),  # added in place by gemm
        (
            [
                MAKE,
                nodes.Store(
                    T, nodes.Var("y", nodes.Array("float64", (Dim.of("m"),))), (), (), True
                ),
            ],
            {},
        ),
        ([MAKE, nodes.Store(T, nodes.Var("z", nodes.Scalar("complex128")), (), (), True)], {}),
        ([MAKE, ADD], {"results": (T,), "out_like": {0: 0}}),
    ],
    ids=[
        "argument",
        "region",
        "overwrites",
        "alias",
        "product",
        "other size",
        "other dtype",
        "out",
    ],
)
def test_sums_that_stay_in_place(body, options):
    assert accumulated(*body, **options) == body


def test_a_product_that_was_bound_again():
    body = [MAKE, assign(Y, "matmul", X, X), assign(Y, "exp", X), ADD]
    assert accumulated(*body)[-1] == AS_VALUE


def test_values():
    """An operand that changes is read before it does."""

    def f(b, x):
        y = np.exp(x)
        z = b.emit("update", x * 1.0, 5.0, 0, path=(("index", (("int", 2),)),))
        return y + z, z

    def reference(x):
        z = x * 1.0
        z[0] = 5.0
        return np.exp(x) + z, z

    for n in (1, 4):
        check(f, reference, np.arange(float(n)))
    assert lowered(f, np.arange(4.0)).text.count("np.exp") == 1
