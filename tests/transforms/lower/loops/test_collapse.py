"""Short innermost loops are collapsed with the enclosing loop where that is legal."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import s2s
from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.loop_ir.python_printer import print_module
from s2s.transforms.lower.loops.collapse import collapse_loops
from tests.transforms.lower.loop_ir_text import at, routine

I, J, K = L.Name("i"), L.Name("j"), L.Name("k")  # noqa: E741
N, M, C = L.Name("n"), L.Name("m"), L.lit(3)
FLOAT = "float64"
SIZES = {"x": (N, M, C), "y": (N, M, C), "wide": (N, M, L.lit(4)), "b": (C,), "s": (C,)}


def plus(*parts):
    total, *rest = parts
    for part in rest:
        total = L.Bin("+", total, part, FLOAT)
    return total


def nest(*inner, over=((I, N), (J, M), (K, C))):
    body = list(inner)
    for var, stop in reversed(over):
        body = [L.Loop(var.name, L.ZERO, stop, L.ONE, body)]
    return body[0]


def joined(*stmts, may_alias=lambda a, b: a == b):
    """The text after the pass.  Checks whether loops were collapsed, and that results are equal."""
    params = ["n", "m", *SIZES]
    texts = []
    for rewritten in (False, True):
        body = copy.deepcopy([*stmts, L.Return(())])
        if rewritten:
            names = iter(f"r{k}" for k in range(99))
            collapse_loops(body, SIZES, may_alias, lambda hint: next(names))
        texts.append(print_module([routine(body, *params)], ""))
    results = []
    for text in texts:
        space: dict = {}
        exec(text, space)
        rng = np.random.default_rng(0)
        sizes = {"n": 2, "m": 5}
        arrays = {
            name: rng.normal(size=[getattr(e, "value", None) or sizes[e.name] for e in its])
            for name, its in SIZES.items()
        }
        space["f"](2, 5, *arrays.values())
        results.append(arrays)
    for name in SIZES:
        np.testing.assert_allclose(results[0][name], results[1][name], rtol=1e-12)
    return texts[0] != texts[1]


def test_elements_side_by_side():
    assert joined(nest(L.Store("y", (I, J, K), plus(at("x", I, J, K), at("y", I, J, K)))))


def test_an_element_of_another_row():
    beyond = L.sub(M, L.ONE)
    later = at("x", I, L.add(J, L.ONE), K)
    assert not joined(nest(L.Store("y", (I, J, K), later), over=((I, N), (J, beyond), (K, C))))
    short = L.Let("p", beyond)
    body = nest(L.Store("y", (I, J, K), later), over=((I, N), (J, L.Name("p")), (K, C)))
    assert joined(short, body)


def test_a_vector_along_the_short_loop():
    assert joined(nest(L.Store("y", (I, J, K), plus(at("x", I, J, K), at("b", K), at("b", K)))))


def test_a_sum_over_the_others():
    assert joined(nest(L.Store("s", (K,), at("x", I, J, K), add=True)))
    both = [
        L.Store("y", (I, J, K), at("x", I, J, K)),
        L.Store("s", (K,), at("y", I, J, K), add=True),
    ]
    assert joined(nest(*both))


def test_a_number_in_between():
    t = L.Name("t", FLOAT)
    product = L.Bin("*", t, t, FLOAT)
    assert joined(nest(L.Let("t", at("x", I, J, K)), L.Store("y", (I, J, K), product)))


@pytest.mark.parametrize(
    "inner",
    [
        L.Store("wide", (I, J, K), at("x", I, J, K)),
        L.Store("y", (I, J, K), at("x", I, J, L.sub(L.lit(2), K))),
        L.Store("y", (I, J, K), L.Cast(K, FLOAT)),
        L.Store("y", (I, J, K), at("x", I, L.sub(L.sub(M, L.ONE), J), K)),
        L.Store("y", (I, J, K), at("x", I, J, L.ONE)),
        L.Store("y", (I, J, L.ZERO), at("x", I, J, K)),
        L.Store("s", (K,), at("x", I, J, K)),
    ],
)
def test_what_cannot_be_joined(inner):
    assert not joined(nest(inner))


def test_a_sum_that_is_read_meanwhile_or_written_twice():
    add = L.Store("s", (K,), at("x", I, J, K), add=True)
    assert not joined(nest(add, L.Store("y", (I, J, K), at("s", K))))
    assert not joined(nest(add, L.Store("s", (K,), at("y", I, J, K), add=True)))
    root = nest(add)
    root.body.append(nest(L.Store("s", (K,), L.Lit(1.0, FLOAT)), over=((K, C),)))
    assert not joined(root)


def test_a_vector_that_is_written_meanwhile():
    root = nest(L.Store("y", (I, J, K), at("b", K)))
    root.body.append(nest(L.Store("b", (K,), at("x", I, L.ZERO, K)), over=((K, C),)))
    assert not joined(root)


def test_a_vector_that_shares_memory_with_what_is_written():
    body = nest(L.Store("y", (I, J, K), at("b", K)))
    assert not joined(body, may_alias=lambda a, b: a == b or {a, b} == {"b", "y"})


def test_loops_that_are_long_or_of_unknown_length():
    for stop in (L.lit(33), L.Name("m")):
        over = ((I, N), (J, M), (K, stop))
        body = [nest(L.Store("y", (I, J, K), at("x", I, J, K)), over=over)]
        collapse_loops(body, {"x": (N, M, stop), "y": (N, M, stop)}, lambda a, b: a == b, str)
        assert isinstance(body[0], L.Loop) and len(body) == 1


@pytest.mark.parametrize("backend", ["loops", "numba"])
def test_a_layer_of_few_channels(backend):
    def f(x, b):
        y = np.maximum(x.reshape(x.shape[0], x.shape[1], x.shape[2] // 3, 3) + b, 0.0)
        return (y * y).sum()

    rng = np.random.default_rng(1)
    for shape in ((2, 4, 15), (0, 4, 6), (2, 1, 3), (1, 3, 0)):
        x, b = rng.normal(size=shape), rng.normal(size=3)
        value, found = s2s.value_and_grad(f, wrt=("x", "b"), backend=backend)(x, b)
        expected = np.maximum(x.reshape(*shape[:2], shape[2] // 3, 3) + b, 0.0)
        assert value == pytest.approx((expected**2).sum())
        np.testing.assert_allclose(found[0], 2 * expected.reshape(shape))
        np.testing.assert_allclose(found[1], 2 * expected.sum(axis=(0, 1, 2)))
