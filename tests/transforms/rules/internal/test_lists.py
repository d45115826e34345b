"""Lists that grow: values, and the cotangents of their elements."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir.nodes import Array, ListOf, Scalar
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.rules import RULES
from tests.transforms.rules.differentials import Trial, check

RNG = np.random.default_rng(4)


def array(*shape: int) -> np.ndarray:
    return np.asarray(RNG.normal(size=shape))


def new(b, *elements):
    """A list of given elements."""
    out = b.emit("list_new", type=ListOf(elements[0].type))
    for e in elements:
        out = b.emit("list_append", out, e)
    return out


def test_append_and_get():
    def build(b, x, y):
        items = new(b, x, y * x, y)
        return b.emit("list_get", items, 1) + b.emit("list_get", items, -1) * b.emit(
            "list_get", items, 0
        )

    check(build, array(3), array(3), expected=lambda x, y: y * x + y * x)


def test_scalars():
    def build(b, x, y):
        return b.emit("list_stack", new(b, x, y * x, np.sin(y)))

    check(
        build,
        np.float64(0.5),
        np.float64(2.0),
        expected=lambda x, y: np.array([x, y * x, np.sin(y)]),
    )


def test_stack():
    check(
        lambda b, x, y: b.emit("list_stack", new(b, x, y, x * y)),
        array(2, 3),
        array(2, 3),
        expected=lambda x, y: np.array([x, y, x * y]),
    )


def test_unstack():
    def build(b, x, y):
        rows = b.emit("list_unstack", x * y)
        return b.emit("list_get", rows, 0) * b.emit("list_get", rows, 2)

    check(build, array(3, 2), array(3, 2), expected=lambda x, y: (x * y)[0] * (x * y)[2])
    check(build, array(3), array(3), expected=lambda x, y: (x * y)[0] * (x * y)[2])


def test_set_and_drop():
    def build(b, x, y):
        items = new(b, x, y, x * y, y)
        items = b.emit("list_set", items, 1, np.sin(x))
        items = b.emit("list_drop", items)
        return b.emit("list_stack", items)

    check(build, array(3), array(3), expected=lambda x, y: np.array([x, np.sin(x), x * y]))


def test_an_index_of_run_time():
    def build(b, x, i):
        items = b.emit("list_set", new(b, x, x * x, np.sin(x)), i, np.exp(x))
        return b.emit("list_get", items, i) * b.emit("list_get", items, i - 1)

    for i in (0, 1, 2):
        check(build, array(3), np.int64(i))


def test_ragged():
    def build(b, x, y):
        items = new(b, x, y)
        assert items.type.elem.shape == (Dim.of("?"),)
        first, second = (b.emit("list_get", items, k) for k in (0, 1))
        total = [b.emit("sum", v * v, axis=None, keepdims=False) for v in (first, second)]
        return total[0] * total[1]

    check(
        build, array(2), array(3), expected=lambda x, y: (x * x).sum() * (y * y).sum(), sizes=False
    )


def test_a_ragged_element_is_replaced():
    def build(b, x, y):
        items = b.emit("list_set", new(b, x, x), 0, y)
        total = [
            b.emit("sum", b.emit("list_get", items, k) ** 2.0, axis=None, keepdims=False)
            for k in (0, 1)
        ]
        return total[0] * total[1]

    check(
        build, array(2), array(3), expected=lambda x, y: (y * y).sum() * (x * x).sum(), sizes=False
    )


def test_types():
    t = Trial(lambda b, x: b.emit("list_len", new(b, x, x)), [array(2, 3)], True)
    assert t.value() == 2
    stacked = t.b.emit("list_stack", new(t.b, t.xs[0]))
    assert isinstance(stacked.type, Array)
    assert stacked.type.shape[1:] == (Dim.of("x.0"), Dim.of("x.1"))
    assert stacked.type.shape[0].symbols == {f"{stacked.operand.name}.0"}
    whole = t.b.emit("list_unstack", t.xs[0])
    assert whole.type == ListOf(Array("float64", (Dim.of("x.1"),)))
    count = t.b.emit("list_len", whole)
    assert isinstance(count.type, Scalar) and count.type.value is not None


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("list_new", [], "[]"),
        ("list_append", ["xs", "v"], "[*xs, v]"),
        ("list_drop", ["xs"], "xs[:-1]"),
        ("list_get", ["xs", "i"], "xs[i]"),
        ("list_len", ["xs"], "len(xs)"),
        ("list_stack", ["xs"], "np.array(xs)"),
        ("list_unstack", ["x"], "list(x)"),
        ("list_zeros_like", ["xs"], "[np.zeros_like(v) for v in xs]"),
    ],
)
def test_texts(name, args, expected):
    assert RULES[name].text([(a, 13) for a in args], {}, [])[0] == expected
