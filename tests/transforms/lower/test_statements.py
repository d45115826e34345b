"""Loops, branches, lists, errors, prints and out-buffers, from value form to lowered code."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir import nodes
from s2s.transforms.ir.builder import const
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.lower.lower import lower

from .harness import execute, lowered, run


def index_var(b):
    name = b.names.fresh("i")
    return nodes.Var(name, nodes.Scalar("int64", value=Dim.of(name)), "i")


def collect(b, index, start, stop, step, **options):
    """A list of the values that the loop's index takes."""
    type_ = nodes.ListOf(nodes.Scalar("int64"))
    init = b.emit("list_new", type=type_)
    phi, out = b.var(type_, "seen"), b.var(type_, "seen")
    block: nodes.Block = []
    with b.into(block):
        longer = b.emit("list_append", b.sym(phi), b.sym(index))
        until = options.pop("until", lambda i: None)(b.sym(index))
    carried = [nodes.Carried(phi, init.operand, longer.operand, out)]
    operands = [b.sym(v).operand for v in (start, stop, step)]
    options = {k: b.sym(v).operand if k == "count" else v for k, v in options.items()}
    if until is not None:
        options["until"] = until.operand
    b.block.append(nodes.For(index, *operands, block, carried, **options))
    return b.emit("list_stack", b.sym(out))


RANGES = [(0, 4, 1), (4, 0, -1), (1, 9, 3), (9, 1, -3), (3, 3, 1), (5, 2, 1), (2, 5, -1), (0, 1, 5)]


@pytest.mark.parametrize("bounds", RANGES)
def test_loops_run_as_range_does(bounds):
    for reverse in (False, True):
        want = list(range(*bounds))[:: -1 if reverse else 1]

        def fixed(b):
            return collect(b, index_var(b), *bounds, reverse=reverse)

        def given(b, start, stop, step):
            return collect(b, index_var(b), start, stop, step, reverse=reverse)

        assert run(fixed).tolist() == want
        assert run(given, *bounds).tolist() == want


@pytest.mark.parametrize("count", [0, 1, 3])
def test_counted_loops(count):
    for reverse in (False, True):

        def f(b, start, step, count):
            return collect(b, index_var(b), start, 0, step, count=count, reverse=reverse)

        want = [5 + 2 * k for k in range(count)][:: -1 if reverse else 1]
        assert run(f, 5, 2, count).tolist() == want


def test_until_ends_after_the_iteration():
    def f(b, n, last):
        return collect(b, index_var(b), 0, n, 1, until=lambda i: b.emit("equal", i, last))

    assert run(f, 9, 3).tolist() == [0, 1, 2, 3]
    assert run(f, 2, 3).tolist() == [0, 1]


def test_zero_step_raises():
    with pytest.raises(ValueError, match="range"):
        run(lambda b, s: collect(b, index_var(b), 0, 5, s), 0)


def test_while_loop():
    def f(b, x):
        phi, out = b.var(nodes.Scalar("float64"), "x"), b.var(nodes.Scalar("float64"), "x")
        test: nodes.Block = []
        body: nodes.Block = []
        with b.into(test):
            cond = b.sym(phi) < 10.0
        with b.into(body):
            new = b.sym(phi) * 2.0
        carried = [nodes.Carried(phi, x.operand, new.operand, out)]
        b.block.append(nodes.While(test, cond.operand, body, carried))
        return b.sym(out)

    assert run(f, 1.5) == 12.0
    assert run(f, 20.0) == 20.0


# ---------------------------------------------------------------- lists


def test_lists_of_arrays_may_be_ragged():
    def f(b, x):
        items = b.emit("list_new", type=nodes.ListOf(nodes.Array("float64", (Dim.of("?r"),))))
        for stop in (1, 3, 2):
            part = b.emit("index", x, stop, items=(("slice", None, 1, None),))
            items = b.emit("list_append", items, part * 2.0)
        last = b.emit("list_get", items, -1)
        items = b.emit("list_set", items, 0, x + 1.0)
        first = b.emit("list_get", items, 0)
        return last, first, b.emit("list_get", items, 1), b.emit("list_len", items)

    x = np.arange(4.0)
    last, first, second, n = run(f, x)
    np.testing.assert_array_equal(last, x[:2] * 2)
    np.testing.assert_array_equal(first, x + 1)
    np.testing.assert_array_equal(second, x[:3] * 2)
    assert n == 3


def test_stacking_a_list():
    def f(b, x, y):
        items = b.emit("list_new", type=nodes.ListOf(nodes.Array("float64", (Dim.of("?r"),))))
        for v in (x, y, x - y):
            items = b.emit("list_append", items, v)
        return b.emit("list_stack", items)

    x, y = np.arange(3.0), np.ones(3)
    np.testing.assert_array_equal(run(f, x, y), [x, y, x - y])
    with pytest.raises(ValueError, match="shapes differ"):
        run(lambda b, x, y: f(b, x, y), x, np.ones(1), asked=False)


def test_list_index_out_of_range():
    def f(b, i):
        items = b.emit("list_new", type=nodes.ListOf(nodes.Scalar("float64")))
        items = b.emit("list_append", items, 1.5)
        return b.emit("list_get", items, i)

    assert run(f, -1) == 1.5
    for i in (1, -2):
        with pytest.raises(IndexError, match="list index out of range"):
            run(f, i)


def test_stacks_of_ragged_arrays_and_lists():
    """Hand-written memory form: pushed values are popped in the opposite order."""
    x = nodes.Var("x", nodes.Array("float64", (Dim.of("x.0"),)))
    stack = nodes.Var("stack", nodes.ListOf(nodes.Array("float64", (Dim.of("?r"),))))
    got = [nodes.Var(f"got_{k}", nodes.Array("float64", (Dim.of(f"got_{k}.0"),))) for k in range(2)]
    part = nodes.Var("part", nodes.Array("float64", (Dim.of("part.0"),)))
    cut = nodes.Op("index", (x, const(1)), {"items": (("slice", 1, None, None),)})
    lists = nodes.Var("lists", nodes.ListOf(nodes.ListOf(nodes.Scalar("float64"))))
    items = nodes.Var("items", nodes.ListOf(nodes.Scalar("float64")))
    back = nodes.Var("back", nodes.ListOf(nodes.Scalar("float64")))
    body: nodes.Block = [
        nodes.Assign(stack, nodes.Op("list_new", (), {"type": stack.type})),
        nodes.Push(stack, x),
        nodes.Assign(part, cut),
        nodes.Push(stack, part),
        nodes.Assign(got[0], nodes.Op("pop", (stack,))),
        nodes.Assign(got[1], nodes.Op("pop", (stack,))),
        nodes.Assign(lists, nodes.Op("list_new", (), {"type": lists.type})),
        nodes.Assign(items, nodes.Op("list_new", (), {"type": items.type})),
        nodes.Push(items, const(1.5)),
        nodes.Push(lists, items),
        nodes.Push(items, const(2.5)),
        nodes.Push(lists, items),
        nodes.Assign(back, nodes.Op("pop", (lists,))),
        nodes.Assign(back, nodes.Op("pop", (lists,))),
    ]
    function = nodes.Function("f", [x], body, [*got, back])
    text = lower(nodes.Module({"f": function}, "f")).text
    first, second, third = execute(text)["f"](np.arange(3.0))
    np.testing.assert_array_equal(first, [1.0, 2.0])
    np.testing.assert_array_equal(second, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(third, [1.5])


# ---------------------------------------------------------------- errors and prints


def test_messages_with_values():
    def f(b, x, n):
        b.check(n > 0, "ValueError", "n is ", n, ", x is ", (x.operand, ".2f"))
        return x

    assert run(f, 1.0, 1) == 1.0
    kernel = lowered(f, 1.0, 1)
    assert kernel.failures == [("ValueError", ("n is ", None, ", x is ", (".2f",), ""))]


def test_print(capsys):
    def f(b, x, n):
        fstring = ("x={", (x.operand, ".2f"), "}")
        b.block.append(nodes.Print(("n is", n.operand, fstring), sep="; ", end="!\n"))
        return x

    run(f, 1.5, 3)
    assert capsys.readouterr().out == "n is; 3; x={1.50}!\n"


# ---------------------------------------------------------------- results


def test_out_buffers_are_written_directly():
    def f(b, x):
        g = b.emit("zeros_like", x, dtype="float64", hint="x_bar")
        g = b.emit("update", g, 2.0, 0, path=(("index", (("int", 2),)),))
        return g, b.emit("sum", x, axis=None, keepdims=False)

    x = np.arange(3.0)
    kernel = lowered(f, x, out_like={0: 0})
    assert kernel.out_params == [0] and "np.empty" not in kernel.text
    out = np.full(3, np.nan)
    (total,) = execute(kernel.text)["f"](x, out)
    np.testing.assert_array_equal(out, [2.0, 0.0, 0.0])
    assert total == 3.0


def test_out_buffer_of_a_variable_with_several_lives():
    def f(b, x, n):
        phi, last = b.var(x.type, "w"), b.var(x.type, "w")
        block: nodes.Block = []
        with b.into(block):
            new = b.sym(phi) * 2.0
        carried = [nodes.Carried(phi, x.operand, new.operand, last)]
        b.block.append(nodes.For(index_var(b), const(0), n.operand, const(1), block, carried))
        return b.sym(last)

    x = np.arange(3.0)
    kernel = lowered(f, x, 2, out_like={0: 0})
    for n in (0, 1, 3):
        out = np.full(3, np.nan)
        assert execute(kernel.text)["f"](x, np.int64(n), out) == ()
        np.testing.assert_array_equal(out, x * 2.0**n)
    np.testing.assert_array_equal(x, np.arange(3.0))


def test_same_text_every_time():
    def f(b, x):
        return np.tanh(x) * 2.0, b.emit("sum", x, axis=(0,), keepdims=True)

    x = np.ones((2, 3))
    assert len({lowered(f, x).text for _ in range(3)}) == 1
