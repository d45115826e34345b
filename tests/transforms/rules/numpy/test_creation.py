"""New arrays: values, symbolic shapes, and the derivatives of fills."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.rules import RULES, SURFACES
from tests.transforms.rules.numeric import Trial, call, check_derivatives, run


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_filled(name):
    function = getattr(np, name)
    for shape in (3, (2, 3), ()):
        for dtype in (None, np.float32, "int64", float, int, bool):
            result = call(f"numpy.{name}", shape, dtype)
            expected = function(shape, dtype or float)
            assert result.shape == expected.shape and result.dtype == expected.dtype
            if name != "empty":
                np.testing.assert_array_equal(result, expected)
    x = np.ones((2, 3), np.float32)
    assert call(f"numpy.{name}_like", x).dtype == np.float32
    assert call(f"numpy.{name}_like", x, np.int64).dtype == np.int64
    assert call(f"numpy.{name}_like", np.float32(2.0)).shape == ()


def test_shapes_are_symbolic():
    trial = Trial(np.ones((2, 3)), 4)
    x, n = trial.syms
    rows, columns = x.shape
    made = SURFACES["numpy.zeros"](trial.b, (rows + 1, columns, 5))
    assert [str(d) for d in made.type.shape] == ["x0.0 + 1", "x0.1", "5"]
    assert SURFACES["numpy.zeros"](trial.b, n * 2).type.shape == ((n * 2).type.value,)
    square = SURFACES["numpy.eye"](trial.b, rows)
    assert [str(d) for d in square.type.shape] == ["x0.0", "x0.0"]


def test_negative_sizes_raise():
    with pytest.raises(ValueError, match="negative dimensions"):
        run(lambda b, n: SURFACES["numpy.zeros"](b, n), -1)
    with pytest.raises(ValueError, match="negative dimensions"):
        call("numpy.zeros", -1)
    with pytest.raises(TypeError):
        call("numpy.zeros", 2.5)


def test_sizes_of_arrays_are_not_checked():
    trial = Trial(np.ones((2, 3)))
    SURFACES["numpy.zeros"](trial.b, trial.syms[0].shape)
    assert [type(s).__name__ for s in trial.b.block] == ["Assign"] * 3


def test_full():
    check_derivatives("full", np.float64(0.5), 2, 3, dtype="float64", wrt=[0])
    check_derivatives("full_like", np.ones((2, 2)), np.float64(0.5), dtype="float64")
    assert call("numpy.full", (2, 2), np.float32(1.5)).dtype == np.float32
    np.testing.assert_array_equal(call("numpy.full", 2, 7), [7, 7])
    np.testing.assert_array_equal(call("numpy.full_like", np.ones(2), 7), [7.0, 7.0])


def test_pack():
    check_derivatives("pack", 0.1, 0.2, 0.3, 0.4, shape=(2, 2), dtype="float64", wrt=[0, 1, 2, 3])
    x = np.float64(0.5)
    np.testing.assert_array_equal(call("numpy.array", [[1, 2.5], [3, 4]]), [[1, 2.5], [3, 4]])
    made = run(lambda b, x: SURFACES["numpy.array"](b, [[x, 2], (x * x, 0)]), x)
    np.testing.assert_array_equal(made, [[0.5, 2], [0.25, 0]])
    assert call("numpy.array", [1, 2]).dtype == np.int64
    assert call("numpy.array", [1, 2], np.float32).dtype == np.float32
    assert call("numpy.array", [True, False]).dtype == bool
    assert call("numpy.array", []).dtype == np.float64
    assert call("numpy.array", np.float64(2.0)).shape == ()
    with pytest.raises(ValueError, match="inhomogeneous"):
        call("numpy.array", [[1, 2], [3]])


def test_arrays_of_arrays_are_stacked():
    x, y = np.array([1.0, 2.0]), np.array([3, 4])
    made = run(lambda b, x, y: SURFACES["numpy.array"](b, [x, y]), x, y)
    np.testing.assert_array_equal(made, [[1, 2], [3, 4]])


def test_copies_and_conversions():
    trial = Trial(np.ones(2, np.float32))
    (x,) = trial.syms
    assert SURFACES["numpy.asarray"](trial.b, x) is x
    assert SURFACES["numpy.array"](trial.b, x) is not x
    assert SURFACES["numpy.asarray"](trial.b, x, np.float64).dtype == "float64"
    assert SURFACES["numpy.ndarray.astype"](trial.b, x, float).dtype == "float64"
    assert SURFACES["numpy.zeros"](trial.b, 3, complex).dtype == "complex128"


@pytest.mark.parametrize(
    "args", [(5,), (2, 7), (1, 10, 3), (5, 0, -2), (0.5, 3), (3, 0), (1, 2, 0.25)]
)
def test_arange(args):
    result, expected = call("numpy.arange", *args), np.arange(*args)
    np.testing.assert_array_equal(result, expected)
    assert result.dtype == expected.dtype
    values = [np.int64(a) if isinstance(a, int) else np.float64(a) for a in args]
    np.testing.assert_array_equal(call("numpy.arange", *values), expected)


def test_arange_of_a_size_has_that_size():
    trial = Trial(np.ones(4), 3)
    x, n = trial.syms
    assert SURFACES["numpy.arange"](trial.b, x.shape[0]).type.shape == x.type.shape
    assert str(SURFACES["numpy.arange"](trial.b, n).type.shape[0]) == "max(x1, 0)"


@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(endpoint):
    check_derivatives("linspace", 0.5, 2.0, 5, endpoint=endpoint, dtype="float64", wrt=[0, 1])
    result = call("numpy.linspace", np.float64(1.0), 3, 7, endpoint)
    np.testing.assert_allclose(result, np.linspace(1.0, 3, 7, endpoint))
    assert call("numpy.linspace", np.float32(0), np.float32(1), 3).dtype == np.float32
    assert call("numpy.linspace", np.float64(0), 1, 1).tolist() == [0.0]


@pytest.mark.parametrize("args", [(3,), (2, 4), (3, 3, 1), (3, 4, -1)])
def test_eye(args):
    np.testing.assert_array_equal(call("numpy.eye", *args), np.eye(*args))
    np.testing.assert_array_equal(call("numpy.identity", 3), np.eye(3))


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "eye"])
def test_nothing_flows_back(name):
    assert RULES[name].pullback(None, None, None, (), {}, set()) == {}
