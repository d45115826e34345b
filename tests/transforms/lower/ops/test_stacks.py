"""Stacks of the adjoint sweep: what is pushed comes back in the opposite order."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir import nodes
from s2s.transforms.ir.builder import const
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.lower.lower import lower
from tests.transforms.lower.harness import execute

F = nodes.Scalar("float64")
X = nodes.Var("x", nodes.Array("float64", (Dim.of("x.0"),)))


def vector(name: str) -> nodes.Var:
    return nodes.Var(name, nodes.Array("float64", (Dim.of(f"{name}.0"),)))


def new(var: nodes.Var) -> nodes.Assign:
    return nodes.Assign(var, nodes.Op("list_new", (), {"type": var.type}))


def pop(target: nodes.Var, stack: nodes.Var) -> nodes.Assign:
    return nodes.Assign(target, nodes.Op("pop", (stack,)))


def run(params, body, results, *args):
    function = nodes.Function("f", [*params], body, [*results])
    return execute(lower(nodes.Module({"f": function}, "f")).text)["f"](*args)


def test_scalars():
    stack = nodes.Var("stack", nodes.ListOf(F))
    got = [nodes.Var(f"got_{k}", F) for k in range(3)]
    body: nodes.Block = [new(stack), *(nodes.Push(stack, const(k + 0.5)) for k in range(3))]
    body += [pop(v, stack) for v in got]
    assert run([], body, got) == (2.5, 1.5, 0.5)


def test_a_popped_scalar_is_read_before_the_next_push():
    stack = nodes.Var("stack", nodes.ListOf(F))
    got = [nodes.Var(f"got_{k}", F) for k in range(2)]
    body: nodes.Block = [
        new(stack), nodes.Push(stack, const(1.5)), pop(got[0], stack),
        nodes.Push(stack, const(2.5)), pop(got[1], stack),
    ]  # fmt: skip
    assert run([], body, got) == (1.5, 2.5)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_arrays(n):
    """The buffer is used again after a pop."""
    stack = nodes.Var("stack", nodes.ListOf(nodes.Array("float64", (Dim.of("?n"),))))
    got = [vector(f"got_{k}") for k in range(3)]
    cut = vector("cut")
    body: nodes.Block = [
        nodes.Assign(cut, nodes.Op("index", (X, const(1)), {"items": (("slice", None, 1, None),)})),
        new(stack), nodes.Push(stack, X), nodes.Push(stack, cut), pop(got[0], stack),
        nodes.Push(stack, X), pop(got[1], stack), pop(got[2], stack),
    ]  # fmt: skip
    x = np.arange(float(n))
    for out, want in zip(run([X], body, got, x), (x[:1], x, x), strict=True):
        np.testing.assert_array_equal(out, want)


def lists(elem: nodes.Scalar | nodes.Array) -> tuple[nodes.Var, nodes.Var, nodes.Var]:
    """A stack of lists, a list that is pushed, and one that is popped."""
    return (
        nodes.Var("stack", nodes.ListOf(nodes.ListOf(elem))),
        nodes.Var("items", nodes.ListOf(elem)),
        nodes.Var("back", nodes.ListOf(elem)),
    )


def test_lists_of_numbers_are_copied():
    stack, items, back = lists(F)
    first = nodes.Var("first", nodes.Array("float64", (Dim.of("?k"),)))
    body: nodes.Block = [
        new(stack), new(items), nodes.Push(stack, items),
        nodes.Push(items, const(1.5)), nodes.Push(stack, items), nodes.Push(items, const(2.5)),
        pop(back, stack), nodes.Assign(first, nodes.Op("list_stack", (back,))), pop(back, stack),
    ]  # fmt: skip
    one, none = run([], body, [first, back])
    assert one.tolist() == [1.5] and none.tolist() == []


def test_lists_of_arrays_keep_their_shapes():
    elem = nodes.Array("float64", (Dim.of("?n"),))
    stack, items, back = lists(elem)
    cut, got = vector("cut"), [vector(f"got_{k}") for k in range(3)]
    body: nodes.Block = [
        nodes.Assign(cut, nodes.Op("index", (X, const(1)), {"items": (("slice", 1, None, None),)})),
        new(stack), new(items), nodes.Push(items, X), nodes.Push(items, cut),
        nodes.Push(stack, items), nodes.Push(items, cut), nodes.Push(stack, items),
        pop(back, stack), nodes.Assign(got[0], nodes.Op("list_get", (back, const(2)))),
        pop(back, stack), nodes.Assign(got[1], nodes.Op("list_get", (back, const(0)))),
        nodes.Assign(got[2], nodes.Op("list_get", (back, const(1)))),
    ]  # fmt: skip
    x = np.arange(3.0)
    for out, want in zip(run([X], body, got, x), (x[1:], x, x[1:]), strict=True):
        np.testing.assert_array_equal(out, want)


def test_deeper_lists_are_refused():
    deep = nodes.Var("deep", nodes.ListOf(nodes.ListOf(nodes.ListOf(F))))
    with pytest.raises(UnsupportedError, match="lists of lists of lists"):
        run([], [new(deep)], [])
