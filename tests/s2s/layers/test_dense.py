"""`Dense`: value, gradient, shapes, dtypes, options, wrong arguments."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.layers import Dense
from tests.s2s.layers.checks import check_gradients, numbers, spread_weights


def test_affine_map_over_the_last_axis() -> None:
    layer, x = Dense(2, dtype="float64"), numbers(3, 4, 5)
    assert layer(x).shape == (3, 4, 2)
    spread_weights(layer)
    kernel, bias = layer.get_weights()
    want = np.zeros((3, 4, 2))
    for i, j, k in np.ndindex(want.shape):
        want[i, j, k] = bias[k] + sum(x[i, j, m] * kernel[m, k] for m in range(5))
    np.testing.assert_allclose(layer(x), want, rtol=1e-13)


def test_activation_is_applied_after_the_bias() -> None:
    layer = Dense(1, "relu", kernel_initializer="ones", bias_initializer="ones")
    np.testing.assert_array_equal(layer(np.array([[2.0], [-3.0]], np.float32)), [[3.0], [0.0]])


def test_gradients() -> None:
    check_gradients(Dense(2, "tanh", dtype="float64"), numbers(3, 4))


@pytest.mark.parametrize("samples", [0, 1])
def test_small_batches(samples: int) -> None:
    assert Dense(2)(np.ones((samples, 3), np.float32)).shape == (samples, 2)


def test_inputs_are_cast_to_the_dtype_of_the_weights() -> None:
    assert Dense(2)(np.ones((1, 3))).dtype == np.float32
    assert Dense(2, dtype="float64")(np.ones((1, 3), np.float32)).dtype == np.float64


def test_weights() -> None:
    layer = Dense(2, name="head")
    assert layer.weights == [] and not layer.built
    layer(np.ones((1, 3)))
    assert [(w.name, w.shape) for w in layer.weights] == [
        ("head/kernel", (3, 2)),
        ("head/bias", (2,)),
    ]
    assert layer.count_params() == 8
    unbiased = Dense(2, use_bias=False, input_shape=(3,))
    assert unbiased.built and [w.shape for w in unbiased.weights] == [(3, 2)]


def test_another_width_is_refused() -> None:
    layer = Dense(2, name="head")
    layer(np.ones((1, 3)))
    with pytest.raises(ValueError, match=r"head was built for inputs of 3 features.*\(1, 4\)"):
        layer(np.ones((1, 4)))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="no activation 'rellu'.*relu"):
        Dense(2, "rellu")
    with pytest.raises(ValueError, match="no initializer 'glorot'.*glorot_uniform"):
        Dense(2, kernel_initializer="glorot", input_shape=(3,))
