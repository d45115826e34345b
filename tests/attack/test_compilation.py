"""Programs that once ended in an internal error, or never compiled."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s import tf
from s2s.tf import keras

RNG = np.random.default_rng(0)


def check(f, *args, backend="loops"):
    value, gradient = s2s.value_and_grad(f, backend=backend)(*args)
    np.testing.assert_allclose(value, f(*args))
    x = args[0]
    differences = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        differences[i] = (f(up, *args[1:]) - f(down, *args[1:])) / 2e-6
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-7)


# ---------------------------------------------------------------- passes that did not end


@pytest.mark.parametrize("cut", range(7))
def test_halves_of_an_array_computed_from_each_other(cut):
    def f(x):
        z = np.zeros(6)
        z[:] = x
        z[cut:] = np.exp(z[: 6 - cut])
        return np.sum(z * z)

    check(f, RNG.normal(size=6))


@pytest.mark.parametrize("count", range(4))
def test_parts_of_an_array_computed_from_each_other_at_run_time(count):
    def f(x, k):
        z = x.copy()
        z[k:] = np.sin(z[: 6 - k])
        z[: 6 - k] = z[k:] * z[: 6 - k]
        return np.sum(z * z)

    check(f, RNG.normal(size=6), count)


# ---------------------------------------------------------------- helpers called twice


def test_a_helper_with_a_local_name_called_twice_inside_a_tape():
    w = s2s.Variable(RNG.normal(size=(3, 2)))
    x, y = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2))

    def model(x):
        h = x @ w
        return h

    def mse(p):
        d = p - y
        return np.mean(d * d)

    def penalty(p):
        return np.mean(p * p)

    def loss():
        return mse(model(x)) + penalty(model(x))

    @s2s.function(backend="loops")
    def step():
        with s2s.GradientTape() as tape:
            value = mse(model(x)) + penalty(model(x))
        return tape.gradient(value, w)

    with s2s.GradientTape() as tape:
        value = mse(model(x)) + penalty(model(x))
    p = x @ w.numpy()
    expected = x.T @ (2 * (p - y) / p.size + 2 * p / p.size)
    np.testing.assert_allclose(tape.gradient(value, w), expected)
    np.testing.assert_allclose(step(), expected)
    np.testing.assert_allclose(value, loss())


def test_a_keras_layer_called_twice_inside_a_tape():
    layer = keras.layers.Dense(2, activation="relu")
    x = RNG.normal(size=(5, 3)).astype(np.float32)
    layer(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(layer(x) ** 2) + tf.reduce_sum(layer(x))
    gradient = tape.gradient(loss, layer.kernel)
    p = np.maximum(x @ layer.kernel.numpy(), 0)
    np.testing.assert_allclose(gradient, x.T @ ((p > 0) * (2 * p / p.size + 1)), rtol=1e-5)


# ---------------------------------------------------------------- functional models with methods


class Trained(keras.Model):
    def __init__(self, *args, scale=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.scale = scale

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.scale * tf.reduce_mean((self(x, training=True) - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}


class Doubled(Trained):
    def call(self, inputs):
        return 2.0 * super().call(inputs)


class MakesItself(keras.Model):
    def __init__(self, width):
        inputs = keras.Input((3,))
        super().__init__(inputs=inputs, outputs=keras.layers.Dense(width)(inputs))
        self.width = width


def parts():
    inputs = keras.Input((3,))
    hidden = keras.layers.Dense(4, activation="tanh")(inputs)
    return inputs, keras.layers.Dense(2)(hidden)


def test_a_subclass_of_a_functional_model_trains():
    model = Trained(*parts(), scale=0.5, name="trained")
    model.optimizer = keras.optimizers.SGD(0.1)
    data = RNG.normal(size=(5, 3)).astype("f"), RNG.normal(size=(5, 2)).astype("f")
    before = model.get_weights()
    losses = [float(model.train_step(data)["loss"]) for _ in range(3)]
    assert losses[0] > losses[1] > losses[2]
    assert isinstance(model, Trained) and type(model).__name__ == "Trained"
    assert all(not np.array_equal(a, b) for a, b in zip(before, model.get_weights()))
    compiled = Trained(*parts(), scale=0.5)
    compiled.optimizer = keras.optimizers.SGD(0.1)
    compiled.set_weights(before)
    step = tf.function(compiled.train_step)
    np.testing.assert_allclose([float(step(data)["loss"]) for _ in range(3)], losses, rtol=1e-5)


def test_methods_of_the_subclass_come_first():
    inputs, outputs = parts()
    x = RNG.normal(size=(5, 3)).astype("f")
    np.testing.assert_allclose(Doubled(inputs, outputs)(x), 2 * keras.Model(inputs, outputs)(x))


def test_a_subclass_may_make_its_own_inputs():
    model = MakesItself(2)
    assert model.width == 2 and model(np.ones((4, 3), "f")).shape == (4, 2)
    assert model.count_params() == 8 and len(model.trainable_variables) == 2


# ---------------------------------------------------------------- containers that differ


def key_in_a_loop(x, n):
    d = {}
    for i in range(n):
        d["a"] = x[i]
    return d["a"] * 2.0


def key_in_a_branch(x):
    d = {}
    if x[0] > 0:
        d["a"] = x[1]
    else:
        d["b"] = x[2]
    return np.sum(x) + d.get("a", 3.0)


def key_read_in_the_same_loop(x, n):
    d = {"a": 0.0}
    for i in range(n):
        d["a"] += x[i]
        d["b"] = d["a"] * x[i]
    return d["b"]


def length_of_a_dict(x):
    d = {"a": x[0]}
    if x[0] > 0:
        d["b"] = x[1]
    return x[0] * len(d)


def attribute_in_a_branch(x):
    class Box:
        pass

    box = Box()
    if x[0] > 0:
        box.a = x[1]
    return x[0] * box.a


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (key_in_a_loop, (np.arange(3.0), 3)),
        (key_in_a_branch, (np.arange(3.0),)),
        (key_read_in_the_same_loop, (np.arange(3.0), 3)),
        (length_of_a_dict, (np.arange(3.0),)),
        (attribute_in_a_branch, (np.arange(3.0),)),
    ],
)
def test_a_container_that_differs_between_paths_is_refused(f, args):
    with pytest.raises(s2s.UnsupportedError, match=rf"{__file__}:\d+:\d+") as info:
        s2s.grad(f, backend="loops")(*args)
    assert "^" in str(info.value) and "help:" in str(info.value)


def test_a_dict_with_all_its_keys_may_change_in_loops_and_branches():
    def f(x, n):
        d = {"a": 0.0, "b": 1.0}
        for i in range(n):
            if x[i] > 0:
                d["a"] = d["b"] * x[i]
            else:
                d["b"] += x[i] * x[i]
        return d["a"] + d["b"]

    check(f, RNG.normal(size=6), 6)


# ---------------------------------------------------------------- loops that never run


def a_while_that_never_runs(x, n):
    while False:
        if x[0] < n:
            return x[0]
        break
    return 2.0 * np.sum(x)


def a_return_behind_a_break(x, n):
    for _ in range(n):
        break
        if x[0] > 1.0:
            return 3.0
    if x[0] > 5.0:
        return 1.0
    return np.sum(x * x)


@pytest.mark.parametrize("f", [a_while_that_never_runs, a_return_behind_a_break])
def test_code_that_never_runs_binds_nothing(f):
    check(f, RNG.normal(size=3), 2)


# ---------------------------------------------------------------- errors behind a branch


def undefined_name(x):
    if x[0] > 5.0:
        return no_such_name * x[0]  # noqa: F821
    return np.sum(x)


def missing_key(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 5.0:
            s += {"a": 1.0}["b"]
        s += x[i]
    return s


def wrong_arguments(x):
    return np.sum(x) if x[0] < 5.0 else len(x, x) * x[0]


def index_of_a_tuple(x):
    if x[0] > 5.0:
        return (x[0], x[1])[2]
    return np.sum(x)


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (undefined_name, NameError),
        (missing_key, KeyError),
        (wrong_arguments, TypeError),
        (index_of_a_tuple, IndexError),
    ],
)
def test_an_error_known_while_compiling_is_raised_when_it_is_reached(f, error):
    check(f, np.array([0.5, 1.5, 2.5]))
    high = np.array([7.0, 1.5, 2.5])
    with pytest.raises(error):
        f(high)
    with pytest.raises(error):
        s2s.grad(f, backend="loops")(high)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: len(x, x),
        lambda x: range(3, step=2)[0] * x[0],
        lambda x: x.shape[1j] * x[0],
        lambda x: np.log(x[0], x[1]),
        lambda x: np.zeros(3, axis=None)[0] * x[0],
        lambda x: np.exp(x, x, x)[0],
        lambda x: sum(i * v for i, v in enumerate(x, [1])),
        lambda x: (2.0 * [x[0]])[0],
        lambda x: np.sum(x, nosuch=None),
    ],
)
def test_arguments_that_a_function_does_not_take(f):
    x = np.array([0.5, 1.5, 2.5])
    with pytest.raises(TypeError):
        f(x)
    with pytest.raises((TypeError, s2s.UnsupportedError)):
        s2s.grad(f, backend="loops")(x)
