"""Reductions and scans: values, types, derivatives, ties and zeros."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.ir.errors import UnsupportedError
from s2s.transforms.ir.nodes import Array, Scalar
from s2s.transforms.rules import RULES, SURFACES, NeedStatic
from tests.transforms.rules.numeric import Trial, call, check_derivatives, pull

X = np.random.default_rng(11).uniform(0.3, 1.4, (2, 3, 4))
AXES = [None, (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
SMOOTH = ["sum", "mean", "prod", "max", "min", "var", "std"]
FLAT = ["any", "all", "argmax", "argmin", "count_nonzero"]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name, axis, keepdims):
    check_derivatives(name, X, axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_in_float32(name):
    x = X[0].astype(np.float32)
    check_derivatives(name, x, axis=(1,), keepdims=False, rtol=1e-3, atol=1e-3)
    check_derivatives(name, x, axis=None, keepdims=False, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("ddof", [1, 2])
@pytest.mark.parametrize("name", ["var", "std"])
def test_degrees_of_freedom(name, ddof):
    check_derivatives(name, X, axis=(2,), keepdims=False, ddof=ddof)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_cumsum(axis):
    check_derivatives("cumsum", X, axis=axis)


def bar_of(name, x, g=1.0, **attrs):
    attrs = {"axis": None, "keepdims": False, **attrs}
    trial = Trial(np.asarray(x))
    out = trial.b.emit(name, trial.syms[0], **attrs)
    seed = trial.argument(g)
    bars = pull(trial, name, seed, out, [0], attrs)
    return trial.run(bars[0])[0]


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([2.0, 3.0, 4.0], [12, 8, 6]),
        ([0.0, 3.0, 4.0], [12, 0, 0]),
        ([2.0, 0.0, 0.0], [0, 0, 0]),
        ([0.0, 0.0], [0, 0]),
        ([5.0], [1]),
        ([], []),
    ],
)
def test_prod_is_right_with_zeros(x, expected):
    np.testing.assert_array_equal(bar_of("prod", np.array(x, float)), expected)


def test_ties_share_evenly():
    np.testing.assert_array_equal(bar_of("max", [1.0, 3.0, 3.0], 2.0), [0, 1, 1])
    np.testing.assert_array_equal(bar_of("min", [1.0, 1.0, 1.0, 2.0], 3.0), [1, 1, 1, 0])
    g = np.array([1.0, 4.0])
    bar = bar_of("max", [[1.0, 2.0], [1.0, 0.0]], g, axis=(0,))
    np.testing.assert_array_equal(bar, [[0.5, 4.0], [0.5, 0.0]])


def test_std_of_equal_values_has_derivative_zero():
    np.testing.assert_array_equal(bar_of("std", [2.0, 2.0, 2.0]), [0, 0, 0])


# ---------------------------------------------------------------- surfaces


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", SMOOTH + FLAT)
def test_values_and_dtypes_are_numpys(name, dtype):
    x = (X * 3).astype(dtype)
    function = getattr(np, name)
    for axis in (None, 0, -1):
        result, expected = call(f"numpy.{name}", x, axis=axis), function(x, axis=axis)
        np.testing.assert_allclose(result, expected, rtol=1e-5)
        assert np.asarray(result).dtype == np.asarray(expected).dtype
        if name != "count_nonzero":
            np.testing.assert_allclose(call(f"numpy.ndarray.{name}", x, axis), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "var", "any"])
@pytest.mark.parametrize("axis", [(0, 2), (-1, 0), (), 1])
def test_axes_and_keepdims(name, axis):
    expected = getattr(np, name)(X, axis=axis, keepdims=True)
    np.testing.assert_allclose(call(f"numpy.{name}", X, axis=axis, keepdims=True), expected)


def test_cumsum_flattens():
    np.testing.assert_allclose(call("numpy.cumsum", X), np.cumsum(X))
    np.testing.assert_allclose(call("numpy.cumsum", X, axis=-1), np.cumsum(X, axis=-1))
    assert call("numpy.cumsum", np.array([1, 2], np.int8)).dtype == np.int64


@pytest.mark.parametrize("name", SMOOTH + FLAT)
def test_scalars_reduce_to_scalars(name):
    for value in (np.float64(2.5), np.float32(2.5), np.int64(3)):
        result, expected = call(f"numpy.{name}", value), getattr(np, name)(value)
        assert result == expected and np.asarray(result).dtype == np.asarray(expected).dtype


def test_dtype_argument_converts_first():
    x = np.ones(3, np.float32)
    assert call("numpy.sum", x, dtype=np.float64).dtype == np.float64
    assert call("numpy.mean", np.array([1, 2]), dtype="float32").dtype == np.float32


def test_types():
    trial = Trial(X)
    x = trial.syms[0]
    emit = trial.b.emit
    assert emit("sum", x, axis=None, keepdims=False).type == Scalar("float64")
    assert emit("sum", x, axis=(1,), keepdims=False).type == Array(
        "float64", (x.type.shape[0], x.type.shape[2])
    )
    kept = emit("max", x, axis=(1,), keepdims=True).type
    assert [str(d) for d in kept.shape] == ["x0.0", "1", "x0.2"]
    assert SURFACES["numpy.sum"](trial.b, x, axis=(2, 0, 1)).type == Scalar("float64")


def test_refusals():
    with pytest.raises(ValueError, match="axis 3 is out of bounds for array of dimension 3"):
        call("numpy.sum", X, axis=3)
    with pytest.raises(ValueError, match="repeated axis"):
        call("numpy.sum", X, axis=(0, 0))
    with pytest.raises(UnsupportedError, match="out="):
        call("numpy.sum", X, out=1)
    with pytest.raises(ValueError, match="to use a where mask one has to specify 'initial'"):
        call("numpy.max", X, where=X > 0)
    trial = Trial(X, 1)
    with pytest.raises(NeedStatic):
        SURFACES["numpy.sum"](trial.b, *trial.syms)


@pytest.mark.parametrize("keepdims", [None, 1.0, "yes", [True]])
@pytest.mark.parametrize("name", ["sum", "mean", "any", "max", "var"])
def test_keepdims_is_a_flag_as_in_numpy(name, keepdims):
    with pytest.raises(TypeError):
        getattr(np, name)(X, axis=0, keepdims=keepdims)
    with pytest.raises(TypeError, match="keepdims must be True or False"):
        call(f"numpy.{name}", X, axis=0, keepdims=keepdims)
    assert call(f"numpy.{name}", X, axis=0, keepdims=1).shape == (1, 3, 4)


def test_empty_reductions_raise_as_numpy_does():
    with pytest.raises(ValueError, match="zero-size array"):
        call("numpy.max", np.zeros(0))
    assert call("numpy.sum", np.zeros((0, 3))) == 0


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        ({"axis": None, "keepdims": False}, "x.sum()"),
        ({"axis": (0,), "keepdims": False}, "x.sum(axis=0)"),
        ({"axis": (0, 1), "keepdims": True}, "x.sum(axis=(0, 1), keepdims=True)"),
    ],
)
def test_text(attrs, expected):
    assert RULES["sum"].text([("x", 13)], attrs, [Array("float64", ())])[0] == expected
