"""`Layer`: building, weights by name, sublayers, calling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import Dense, Layer
from s2s.layers.base import in_dtype, must_be_built, shapes

X = np.ones((2, 3))


class Scale(Layer):
    fixed_width = True

    def build(self, input_shape: tuple[int, ...]) -> None:
        self.built_for = input_shape
        self.factor = self.add_weight((input_shape[-1],), "ones", name="factor")

    def call(self, inputs: Any) -> Any:
        return inputs * self.factor


class Several(Layer):
    """Sublayers in an attribute, a list, a tuple in a dict; a Variable of its own."""

    def __init__(self) -> None:
        super().__init__(name="several")
        self.offset = s2s.Variable(np.zeros(1, np.float32), name="offset")
        self.first = Scale(name="first")
        self.rest = [Scale(name="second"), {"a": (Scale(name="third"),)}]
        self.again = self.first

    def call(self, inputs: Any) -> Any:
        return self.rest[1]["a"][0](self.rest[0](self.first(inputs))) + self.offset


# ---------------------------------------------------------------- building


def test_built_once_on_first_use() -> None:
    layer = Scale()
    assert not layer.built and layer.weights == []
    layer(X)
    factor = layer.factor
    layer(X)
    assert layer.built and layer.factor is factor and layer.built_for == (2, 3)


def test_complete_builds_for_a_shape() -> None:
    layer = Scale()
    layer.complete((None, 5))
    assert layer.factor.shape == (5,)
    layer.complete((None, 7))  # it is built already
    assert layer.factor.shape == (5,)


def test_layers_of_several_inputs_are_built_for_their_shapes() -> None:
    class Pair(Layer):
        def build(self, input_shape: Any) -> None:
            self.seen = input_shape

        def call(self, inputs: Any) -> Any:
            return inputs[0] + inputs[1]

    layer = Pair()
    layer([X, X[:1]])
    assert layer.seen == ((2, 3), (1, 3))
    assert shapes((X, X)) == [(2, 3), (2, 3)] and shapes(X) == (2, 3)


def test_unbuilt_weights_are_reported() -> None:
    for layer in (Scale(name="first"), Several()):
        with pytest.raises(ValueError, match="first is not built.*input_shape="):
            must_be_built(layer)
        with pytest.raises(ValueError, match="first is not built|has 1 weights"):
            layer.set_weights([1.0, 2.0])
    built = Several()
    built(X)
    must_be_built(built)


def test_a_width_that_changes_is_refused() -> None:
    layer = Scale(name="scale")
    layer(X)
    with pytest.raises(ValueError, match=r"scale was built for inputs of 3 features.*\(2, 2\)"):
        layer(X[:, :2])


# ---------------------------------------------------------------- weights


def test_weights_of_sublayers_in_order_and_once() -> None:
    layer = Several()
    layer(X)
    names = ["offset", "first/factor", "second/factor", "third/factor"]
    assert [w.name for w in layer.weights] == names == [w.name for w in layer.variables]
    assert {sub.name for sub in layer.sublayers()} == {"first", "second", "third"}
    assert layer.count_params() == 10


def test_frozen_sublayers_are_not_trainable() -> None:
    layer = Several()
    layer(X)
    layer.rest[0].trainable = False
    names = [w.name for w in layer.trainable_variables]
    assert names == ["offset", "first/factor", "third/factor"]
    assert layer.trainable_weights == layer.trainable_variables
    layer.trainable = False
    assert layer.trainable_variables == [] and len(layer.weights) == 4


def test_add_weight() -> None:
    layer = Layer(name="own")
    weight = layer.add_weight((2,), "ones", trainable=False, name="state")
    assert weight.name == "own/state" and not weight.trainable and weight.dtype == np.float32
    assert layer.add_weight((), "zeros", dtype="float64").dtype == np.float64
    assert [w.name for w in layer.weights] == ["own/state", "own/weight"]
    assert layer.trainable_variables == layer.weights[1:]


def test_get_and_set_weights() -> None:
    layer = Scale(name="scale")
    layer(X)
    copies = layer.get_weights()
    copies[0][:] = 7.0
    np.testing.assert_array_equal(layer.factor, np.ones(3))
    layer.set_weights(copies)
    np.testing.assert_array_equal(layer(X), 7.0 * X)
    with pytest.raises(ValueError, match="scale has 1 weights, 2 were given"):
        layer.set_weights([1.0, 2.0])
    with pytest.raises(ValueError, match="shape"):
        layer.set_weights([np.ones(4)])


# ---------------------------------------------------------------- calling


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floating_inputs_are_cast(dtype: str) -> None:
    layer = Scale(dtype=dtype)
    for given in (np.float32, np.float64):
        assert layer(X.astype(given)).dtype == dtype
    with pytest.raises(ValueError, match="float32 or float64, not float16"):
        Scale(dtype="float16")


def test_in_dtype() -> None:
    whole = np.ones(2, np.int64)
    assert in_dtype(whole, "float32") is whole
    assert in_dtype(X, "float64") is X
    assert [x.dtype for x in in_dtype((X, whole), "float32")] == [np.float32, np.int64]


def test_training_by_position_and_by_name() -> None:
    class Told(Layer):
        def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
            return mask, training

    layer = Told()
    assert layer(X) == (None, None)
    assert layer(X, 1, True) == (1, True)
    assert layer(X, mask=2, training=False) == (2, False)


def test_a_layer_without_training_accepts_the_argument() -> None:
    np.testing.assert_array_equal(Scale()(X, training=True), X)


def test_names() -> None:
    assert Scale().name == "scale" and Scale(name="other").name == "other"


def test_a_layer_defines_call() -> None:
    class Empty(Layer):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty defines no call\(self, inputs\)"):
        Empty()(X)


def test_compiled_calls_are_those_of_python() -> None:
    layer = Several()
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    layer(x)
    for k, weight in enumerate(layer.weights):
        weight.assign(np.full(weight.shape, k + 1.5))
    got = s2s.function(lambda x: layer(x), backend="loops")(x)
    np.testing.assert_allclose(got, layer(x), rtol=1e-6)
    np.testing.assert_allclose(got, x * 2.5 * 3.5 * 4.5 + 1.5, rtol=1e-6)


def test_building_inside_compiled_code() -> None:
    layer = Dense(2)
    run = s2s.function(lambda x: layer(x), backend="loops")
    assert run(X).shape == (2, 2) and layer.kernel.shape == (3, 2)
