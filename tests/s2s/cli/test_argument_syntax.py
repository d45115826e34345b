"""The syntax of --args: types, bounds, named sizes, expressions."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.cli.argument_syntax import ExampleMaker
from s2s.cli.exit_codes import CommandError


def one(text: str, **sizes: int):
    (value,), named = ExampleMaker(sizes).arguments(text)
    assert not named
    return value


@pytest.mark.parametrize(
    ("text", "dtype", "shape"),
    [
        ("float32[32,784]", "float32", (32, 784)),
        ("float64[:]", "float64", (8,)),
        ("float64[:, 3]", "float64", (8, 3)),
        ("float64[n, n + 1]", "float64", (5, 6)),
        ("int64[4]", "int64", (4,)),
        ("bool[3]", "bool", (3,)),
        ("complex128[2]", "complex128", (2,)),
        ("float64[()]", "float64", ()),
        ("float[0]", "float64", (0,)),
    ],
)
def test_arrays(text, dtype, shape):
    value = one(text, n=5)
    assert (value.dtype, value.shape) == (dtype, shape)


@pytest.mark.parametrize(
    ("text", "kind"), [("float", float), ("int", int), ("float32", np.float32), ("bool", bool)]
)
def test_numbers(text, kind):
    assert type(one(text)) is kind


def test_named_sizes_are_the_same_everywhere_and_differ_from_each_other():
    (a, b, c), _ = ExampleMaker().arguments("float64[n,m], float64[m], float64[n]")
    assert a.shape == (*c.shape, *b.shape) and b.shape != c.shape


def test_bounds():
    assert np.all(one("float64[1000] > 0") > 0)
    assert np.all(one("float64[1000] < -1") < -1)
    inside = one("0 < float64[1000] < 1")
    assert inside.min() > 0 and inside.max() < 1
    assert set(one("0 <= int64[1000] < 10")) == set(range(10))
    assert set(one("1 <= int64[100] <= 2")) == {1, 2}
    assert one("2 < int") == 3 or one("2 < int") == 4
    assert set(one("int64[100]")) == {0, 1}


def test_values_containers_and_names():
    args, named = ExampleMaker().arguments("3, -1.5, (float, [int64[2], None]), {'a': 'b'}, k=True")
    assert args[:2] == (3, -1.5) and type(args[2][0]) is float and args[2][1][1] is None
    assert args[3] == {"a": "b"} and named == {"k": True}


def test_other_expressions_are_evaluated():
    maker = ExampleMaker(evaluate=lambda text: eval(text, {"np": np}))
    (x,), _ = maker.arguments("np.ones((2, 3))")
    assert x.shape == (2, 3)


def test_the_same_words_mean_the_same_numbers():
    assert np.array_equal(one("float64[5]"), one("float64[5]"))


@pytest.mark.parametrize(
    "text", ["float64[", "float64['a']", "float64[1.5]", "float64[-1]", "a) + (b"]
)
def test_what_cannot_be_read(text):
    with pytest.raises(CommandError, match="write types as"):
        ExampleMaker().arguments(text)
