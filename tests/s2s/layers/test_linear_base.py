"""`Affine`, the base class of layers with kernel, bias and activation: what subclasses rely on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2s.layers.linear_base import Affine


class Diagonal(Affine):
    def kernel_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (input_shape[-1],)

    def call(self, inputs: Any) -> Any:
        return self.finished(inputs * self.kernel)


class Transposed(Affine):
    bias_axis = -2

    def kernel_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        return (7, input_shape[-1])

    def call(self, inputs: Any) -> Any:
        return self.finished(inputs @ self.kernel.T)


def test_bias_then_activation() -> None:
    layer = Diagonal(np.abs, bias_initializer="ones", dtype="float64")
    x = np.array([[-3.0, 2.0]])
    layer(x)
    layer.kernel.assign([1.0, 2.0])
    np.testing.assert_array_equal(layer(x), [[2.0, 5.0]])


def test_bias_has_the_length_of_its_kernel_axis() -> None:
    layer = Transposed()
    assert layer(np.ones((2, 3))).shape == (2, 7)
    assert layer.bias.shape == (7,)


def test_without_bias() -> None:
    layer = Diagonal(use_bias=False)
    layer(np.ones((1, 2)))
    assert [w.name for w in layer.weights] == ["diagonal/kernel"] and not hasattr(layer, "bias")


def test_initializers() -> None:
    layer = Diagonal(
        kernel_initializer="ones", bias_initializer=lambda shape, dtype: np.full(shape, 3.0, dtype)
    )
    np.testing.assert_array_equal(layer(np.zeros((1, 2))), [[3.0, 3.0]])
    np.testing.assert_array_equal(layer.kernel, [1.0, 1.0])


def test_a_subclass_states_the_shape_of_its_kernel() -> None:
    with pytest.raises(NotImplementedError):
        Affine().build((1, 2))
