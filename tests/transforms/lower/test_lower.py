"""Modules of several functions, out-buffers, loops near the limits of int64, and options."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.transforms.ir import nodes
from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.op_registry import RULES
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.lower.build.context import HANDLERS
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.lower import lower
from tests.transforms.lower.harness import execute, lowered, run

LEAST, MOST = -(2**63), 2**63 - 1


def test_the_module():
    kernel = lowered(lambda b, x: x * 2.0, np.ones(3))
    assert kernel.entry == "f" and [r.name for r in kernel.routines] == ["f"]
    assert kernel.routines[0].params == [L.Param("a", "float64", 1, "C")]
    assert isinstance(kernel.routines[0].body[-1], L.Return)
    assert kernel.failures == [] and kernel.out_params == []
    space = execute(kernel.text)
    np.testing.assert_array_equal(space["f"](np.ones(3))[0], [2.0] * 3)


def test_results_of_all_kinds():
    def f(b, x, s):
        return x, s, x * s, b.emit("sum", x, axis=None, keepdims=False), 1.5

    x = np.arange(3.0)
    got = run(f, x, 2.0)
    np.testing.assert_array_equal(got[0], x)
    np.testing.assert_array_equal(got[2], x * 2.0)
    assert (got[1], got[3], got[4]) == (2.0, 3.0, 1.5)
    assert isinstance(got[4], np.float64)


def test_out_buffers():
    """The i-th out-buffer follows the parameters; its result is not returned."""

    def f(b, x, y):
        return x * 2.0, b.emit("sum", y, axis=None, keepdims=False), y + 1.0

    x, y = np.arange(3.0), np.arange(2.0)
    kernel = lowered(f, x, y, out_like={0: 0, 2: 1})
    assert kernel.out_params == [0, 2] and len(kernel.routines[0].params) == 4
    first, second = np.full(3, np.nan), np.full(2, np.nan)
    (total,) = execute(kernel.text)["f"](x, y, first, second)
    np.testing.assert_array_equal(first, x * 2.0)
    np.testing.assert_array_equal(second, y + 1.0)
    assert total == 1.0 and "np.empty" not in kernel.text


def test_parameters_are_typed():
    """Arguments, then the buffers for results; a 0-d array is a buffer."""
    x = np.zeros((2, 4), np.float32)
    args = x[:1, 0], x[:, ::2], np.zeros(()), np.int64(3)
    kernel = lowered(lambda b, *args: args[0] * 2.0, *args, out_like={0: 0})
    assert [(p.dtype, p.rank, p.layout) for p in kernel.routines[0].params] == [
        ("float32", 1, "C"),
        ("float32", 2, "A"),
        ("float64", 0, "C"),
        ("int64", None, "C"),
        ("float32", 1, "C"),
    ]


def test_out_buffer_of_an_argument_is_a_copy():
    kernel = lowered(lambda b, x: x, np.ones(3), out_like={0: 0})
    out = np.full(3, np.nan)
    assert execute(kernel.text)["f"](np.arange(3.0), out) == ()
    np.testing.assert_array_equal(out, np.arange(3.0))


def test_out_buffer_that_two_results_share():
    def f(b, x):
        y = x * 2.0
        return y, y

    kernel = lowered(f, np.ones(3), out_like={0: 0, 1: 0})
    outs = [np.full(3, np.nan) for _ in range(2)]
    assert execute(kernel.text)["f"](np.arange(3.0), *outs) == ()
    for out in outs:
        np.testing.assert_array_equal(out, np.arange(3.0) * 2.0)


def test_bounds_checks_are_an_option():
    def f(b, x, i):
        return b.emit("index", x, i, items=(("int", 1),))

    assert "IndexError" in lowered(f, np.ones(3), 1).text
    assert "IndexError" not in lowered(f, np.ones(3), 1, boundscheck=False).text


# ---------------------------------------------------------------- loops


def visited(start, stop, step):
    seen = np.zeros(8, np.int64)
    n = 0
    for i in range(start, stop, step):
        if n == 8:
            break
        seen[n] = i
        n += 1
    return seen, n


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [
        (0, 5, 1), (5, 0, -1), (0, 7, 3), (3, 3, 1), (5, 3, 1), (3, 5, -1),
        (MOST - 3, MOST, 1), (MOST - 3, MOST, 2), (LEAST + 3, LEAST, -1), (LEAST + 3, LEAST, -2),
        (LEAST, MOST, 2**62), (MOST, LEAST, -(2**62)), (0, MOST, MOST), (LEAST, LEAST + 2, 1),
    ],
)  # fmt: skip
def test_ranges_are_pythons(start, stop, step):
    """Oracle: Python's `range`, whose integers have no size."""
    want = list(range(start, stop, step))
    seen, n = s2s.function(visited, backend="loops")(start, stop, step)
    assert n == len(want) and seen[:n].tolist() == want

    def fixed(start, stop):
        seen = np.zeros(8, np.int64)
        n = 0
        for i in range(start, stop, step):
            seen[n] = i
            n += 1
        return seen[:n]

    if abs(step) < 2**62:
        assert s2s.function(fixed, backend="loops")(start, stop).tolist() == want


@pytest.mark.parametrize("n", [0, 1, 4])
def test_adjoint_loops_run_backwards(n):
    """Oracle: the derivative by hand."""

    def f(x, n):
        s = 1.0
        for i in range(n):
            s = s * x[i] + x[0]
        return s

    x = np.arange(1.0, 5.0)
    got = s2s.grad(f, backend="loops")(x, n)
    want = np.zeros(4)
    values = [1.0]
    for i in range(n):
        values.append(values[-1] * x[i] + x[0])
    bar = 1.0
    for i in range(n - 1, -1, -1):
        want[0] += bar
        want[i] += bar * values[i]
        bar *= x[i]
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_adjoint_of_a_loop_whose_ends_are_far_out():
    def f(x, start, stop):
        s = x * 1.0
        for _ in range(start, stop):
            s = s * x
        return s

    g = s2s.grad(f, backend="loops")
    for start, stop in ((LEAST, LEAST), (LEAST, LEAST + 2), (MOST - 2, MOST), (5, -5)):
        n = max(stop - start, 0) + 1
        assert g(2.0, start, stop) == pytest.approx(n * 2.0 ** (n - 1), rel=1e-14)


def test_a_while_loop_that_ends_in_the_middle():
    def f(x, limit):
        n = 0
        while True:
            x = x * 2.0
            if x > limit:
                break
            n += 1
        return x, n

    for x, limit in ((1.0, 10.0), (100.0, 10.0)):
        assert s2s.function(f, backend="loops")(x, limit) == f(x, limit)


# ---------------------------------------------------------------- branches, calls, errors


def test_branches_without_statements():
    def f(x, p):
        y = 1.0
        if p:
            pass
        else:
            y = x
        return y

    g = s2s.function(f, backend="loops")
    assert g(3.0, 1) == 1.0 and g(3.0, 0) == 3.0
    assert "else" not in g.lowered  # the condition is negated instead


def power(x, n):
    if n == 0:
        return x * 0.0 + 1.0
    return x * power(x, n - 1)


def test_recursion():
    g = s2s.function(power, backend="loops")
    assert g(1.5, 5) == pytest.approx(1.5**5)
    assert "rt.stack_is_low(" in g.lowered
    with pytest.raises(RecursionError):
        g(1.0, 10**7)


def test_messages_of_the_program():
    def f(x, n):
        if n < 0:
            raise ValueError(f"n is {n}, not {x:.1f}")
        if n == 0:
            raise KeyError("none")
        return x * n

    g = s2s.function(f, backend="loops")
    assert g(2.0, 3) == 6.0
    with pytest.raises(ValueError, match="n is -2, not 1.5"):
        g(1.5, -2)
    with pytest.raises(KeyError, match="none"):
        g(1.5, 0)


def test_prints(capsys):
    def f(x, n):
        print("x", x, "{n}", f"{n:3d}|", sep="-", end=";")
        return x

    s2s.function(f, backend="loops")(np.arange(2.0), 5)
    ours = capsys.readouterr().out
    f(np.arange(2.0), 5)
    assert ours == capsys.readouterr().out


def test_every_operation_has_a_lowering():
    """All but the elementwise ones, which share one, and those that became stores before."""
    updates = {"update", "update_add", "restore", "list_append", "list_drop", "list_set"}
    text = {"tuple", "tuple_part"}  # of readable text only
    named = {name for name, rule in RULES.items() if rule.kind != "elementwise"}
    assert named - HANDLERS.keys() == updates | text


def test_an_operation_without_a_lowering_is_refused():
    x = nodes.Var("x", nodes.Array("float64", (Dim.of("x.0"),)))
    with pytest.raises(UnsupportedError, match="update_add cannot be compiled yet"):
        function = nodes.Function("f", [x], [nodes.Assign(x, nodes.Op("update_add", (x, x)))], [x])
        lower(nodes.Module({"f": function}, "f"))
