"""Concatenation and stacking of arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2s.transforms.ir.errors import S2SValueError
from s2s.transforms.ir.nodes import If
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.rules import RULES
from tests.transforms.rules.differentials import Trial, call, check

RNG = np.random.default_rng(3)


def array(*shape: int) -> np.ndarray:
    return np.asarray(RNG.normal(size=shape))


def joined(path, *shapes, **keywords):
    check(
        lambda b, *xs: call(b, f"numpy.{path}", xs, **keywords),
        *(array(*s) for s in shapes),
        expected=lambda *xs: getattr(np, path)(xs, **keywords),
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(1, 3), st.data())
def test_concatenate(lengths, rank, data):
    axis = data.draw(st.integers(0, rank - 1))
    rest = data.draw(st.lists(st.integers(0, 3), min_size=rank - 1, max_size=rank - 1))
    joined("concatenate", *((*rest[:axis], n, *rest[axis:]) for n in lengths), axis=axis)


@pytest.mark.parametrize(
    ("path", "shapes", "keywords"),
    [
        ("concatenate", [(2,), (3,)], {}),
        ("concatenate", [(2, 3), (1, 3)], {"axis": -2}),
        ("concatenate", [(2, 3), (4,)], {"axis": None}),
        ("stack", [(2, 3), (2, 3)], {}),
        ("stack", [(2, 3), (2, 3), (2, 3)], {"axis": 1}),
        ("stack", [(2, 3), (2, 3)], {"axis": -1}),
        ("stack", [(), (), ()], {}),
        ("stack", [(3,)], {}),
        ("vstack", [(3,), (3,)], {}),
        ("vstack", [(2, 3), (3,)], {}),
        ("hstack", [(2,), (3,)], {}),
        ("hstack", [(2, 1), (2, 3)], {}),
        ("hstack", [(), (2,)], {}),
        ("dstack", [(2, 3), (2, 3)], {}),
        ("dstack", [(3,), (3,)], {}),
        ("column_stack", [(3,), (3,)], {}),
        ("column_stack", [(3, 2), (3,)], {}),
    ],
)
def test_joins(path, shapes, keywords):
    joined(path, *shapes, **keywords)


def test_one_array_twice():
    check(
        lambda b, x: call(b, "numpy.concatenate", (x, x, x)),
        array(3),
        expected=lambda x: np.concatenate((x, x, x)),
    )


def test_dtypes_are_joined():
    check(
        lambda b, x, n: call(b, "numpy.concatenate", (x, n)),
        array(3),
        np.arange(2),
        expected=lambda x, n: np.concatenate((x, n)),
    )


def test_the_parts_of_the_cotangent_have_the_sizes_of_the_arguments():
    t = Trial(
        lambda b, *xs: call(b, "numpy.concatenate", xs), [array(2), array(3), array(4)], False
    )
    t.b.checks = False
    bars = RULES["concatenate"].pullback(t.b, t.out, t.out, t.xs, {"axis": 0}, (0, 1, 2))
    assert [bars[k].type.shape for k in range(3)] == [(Dim.of(f"{n}.0"),) for n in "xyz"]


@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize(
    ("path", "left", "right"),
    [("concatenate", (2, 3), (2, 4)), ("stack", (3,), (4,)), ("stack", (1,), (3,))],
)
def test_sizes_that_differ(path, left, right, sizes):
    args = [array(*left), array(*right)]
    t = Trial(lambda b, *xs: call(b, f"numpy.{path}", xs), args, sizes)
    with pytest.raises(ValueError) as numpys:
        getattr(np, path)(args)
    with pytest.raises(ValueError) as told:
        t.value()
    assert str(told.value) == str(numpys.value)


def test_equal_sizes_need_no_check():
    t = Trial(lambda b, *xs: call(b, "numpy.stack", xs), [array(3), array(3)], True)
    assert not any(isinstance(s, If) for s in t.b.block)


@pytest.mark.parametrize(
    ("path", "shapes"),
    [
        ("concatenate", []),
        ("concatenate", [(2,), (2, 3)]),
        ("stack", [(2,), (2, 2)]),
        ("concatenate", [(), ()]),
    ],
)
def test_what_numpy_refuses(path, shapes):
    xs = [array(*s) for s in shapes]
    with pytest.raises(ValueError):
        getattr(np, path)(xs)
    with pytest.raises(S2SValueError):
        Trial(lambda b, *xs: call(b, f"numpy.{path}", xs), xs, True)


def test_texts():
    text = RULES["concatenate"].text
    assert text([("x", 13), ("y", 13)], {"axis": 0}, [])[0] == "np.concatenate((x, y))"
    assert text([("x", 13)], {"axis": 1}, [])[0] == "np.concatenate((x,), axis=1)"
