"""Shapes that are broadcast together: sizes, indices, run-time checks, and values as NumPy's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from s2s.transforms.ir.symbolic_dims import Dim, Facts
from s2s.transforms.lower.build.lazy_array import Emitter, Value, buffer_value
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.ops.broadcast import (
    broadcast_shape,
    broadcast_value,
    project_index,
    same_shape,
)
from tests.transforms.lower.harness import check, lowered, run
from tests.transforms.lower.loop_ir_text import expr, text

I, J = L.Name("i"), L.Name("j")  # noqa: E741
FACTS = Facts()


def of(name: str, *sizes: int | str) -> Value:
    return buffer_value(name, "float64", tuple(map(Dim.of, sizes)))


def met(*values: Value, facts: Facts = FACTS):
    emitter = Emitter(())
    sizes, dims = broadcast_shape(emitter, facts, values, " (model.py:1)")
    return sizes, dims, text(emitter.out).removesuffix("pass")


@pytest.mark.parametrize(
    ("shapes", "want"),
    [
        ([("n", "m"), ("n", "m")], ("a.shape[0]", "a.shape[1]")),
        ([("n", "m"), ("m",)], ("a.shape[0]", "a.shape[1]")),
        ([("n", 1), (1, "m")], ("a.shape[0]", "b.shape[1]")),
        ([(), ("n",)], ("b.shape[0]",)),
        ([(1,), (1,)], ("1",)),
        ([(3,), (3,)], ("3",)),
        ([("n", 1, 4), (1, "m", 1)], ("a.shape[0]", "b.shape[1]", "4")),
    ],
)
def test_known_shapes_need_no_check(shapes, want):
    values = [of(name, *shape) for name, shape in zip("ab", shapes)]
    sizes, dims, emitted = met(*values)
    assert emitted == ""
    assert sizes == tuple(map(expr, want))
    assert len(dims) == len(want)


def test_unrelated_sizes_are_compared_at_run_time():
    sizes, dims, emitted = met(of("a", "n"), of("b", "m"))
    assert emitted == (
        "if a.shape[0] != b.shape[0] and a.shape[0] != 1 and b.shape[0] != 1:\n"
        '    raise ValueError("operands could not be broadcast together (model.py:1)")\n'
        "n = b.shape[0] if a.shape[0] == 1 else a.shape[0]"
    )
    assert sizes == (L.Name("n"),) and dims not in ((Dim.of("n"),), (Dim.of("m"),))


def test_sizes_that_a_call_has_shown_equal():
    facts = Facts({"n": 5, "m": 5})
    assert facts.guard_equal(Dim.of("n"), Dim.of("m"))
    sizes, _, emitted = met(of("a", "n"), of("b", "m"), facts=facts)
    assert emitted == "" and sizes == (L.Size("a", 0),)


def test_indices_of_operands():
    sizes, dims, _ = met(of("a", "n", 1), of("b", "m"))
    assert project_index(FACTS, of("a", "n", 1), sizes, dims, (I, J)) == (I, L.ZERO)
    assert project_index(FACTS, of("b", "m"), sizes, dims, (I, J)) == (J,)
    assert project_index(FACTS, of("c"), sizes, dims, (I, J)) == ()
    unknown = project_index(FACTS, of("u", "k"), sizes, dims, (I, J))
    assert unknown == (expr("0 if u.shape[0] == 1 else j"),)


def test_same_shape():
    sizes, dims = (L.Size("a", 0), L.Size("a", 1)), (Dim.of("n"), Dim.of("m"))
    assert same_shape(FACTS, of("b", "n", "m"), sizes, dims)
    assert same_shape(FACTS, of("a", "p", "q"), sizes, dims)  # the same expressions
    for other in (of("b", "m"), of("b", "n", 1), of("b", "n", "k")):
        assert not same_shape(FACTS, other, sizes, dims)


def test_a_spread_value_reads_its_elements_repeatedly():
    v = broadcast_value(
        FACTS, of("a", "n", 1), (L.Size("a", 0), L.lit(3)), (Dim.of("n"), Dim.of(3))
    )
    assert v.memory is None and v.ndim == 2
    assert v.at(Emitter(()), (I, J)) == expr("a[i, 0]", a="float64[:, :]")


SHAPES = [(), (1,), (3,), (2, 3), (2, 1), (1, 3), (0, 3), (0, 1), (4, 1, 3), (1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_values(shape):
    x = np.arange(float(np.prod(shape))).reshape(shape)
    for other in SHAPES:
        y = np.linspace(1.0, 2.0, int(np.prod(other))).reshape(other)
        try:
            want = x + y
        except ValueError:
            with pytest.raises(ValueError, match="broadcast"):
                run(lambda b, x, y: x + y, x, y, asked=False)
            continue
        got = run(lambda b, x, y: x + y, x, y, asked=False)
        np.testing.assert_array_equal(got, want)
        assert np.shape(got) == want.shape


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_three_operands_of_any_layout(order):
    x = np.arange(24.0).reshape(2, 3, 4).transpose(order)[..., ::2]
    check(lambda b, x, y, z: x * y + z, lambda x, y, z: x * y + z, x, np.arange(1.0, 2.0), x[0])


def test_an_expensive_operand_that_is_broadcast_is_computed_once():
    """Each element is read by every row."""
    rows = lowered(lambda b, x, y: np.exp(y) + x, np.ones((2, 3)), np.ones(3)).text
    assert rows.index("np.exp") < rows.index("for j")
    whole = lowered(lambda b, x, y: np.exp(y) + x, np.ones((2, 3)), np.ones((2, 3))).text
    assert whole.count("for i") == 1
