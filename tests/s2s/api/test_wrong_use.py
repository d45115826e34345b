"""Errors for wrong use name the object and give advice, in plain Python and in a compiled step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.layers import Dense
from s2s.losses import (
    CategoricalCrossentropy,
    MeanSquaredError,
    SparseCategoricalCrossentropy,
)
from s2s.models import Sequential
from s2s.optimizers import SGD, Adam, LossScaleOptimizer

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2)
Y = X.sum(1, keepdims=True)
LABELS = np.array([0, 1, 1, 0, 1, 0])


def network(*units: int) -> Any:
    model = Sequential([Dense(n, activation="tanh") for n in units])
    model(X)
    return model


def training(
    model: Any, optimizer: Any, loss_fn: Any = None, variables: Any = None, change: Any = None
) -> Callable[..., Any]:
    """A step; `change` modifies the gradients, `variables` are passed to the optimizer."""
    loss_fn = loss_fn or MeanSquaredError()

    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = loss_fn(y, model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        if change is not None:
            gradients = change(gradients)
        given = model.trainable_variables if variables is None else variables
        optimizer.apply_gradients(zip(gradients, given))
        return loss

    return step


def fewer_variables() -> Any:
    model = network(3, 1)
    return training(model, SGD(), variables=model.trainable_variables[:3])


def fewer_variables_for_scaled_losses() -> Any:
    model = network(3, 1)
    return training(model, LossScaleOptimizer(SGD()), variables=model.trainable_variables[:3])


def gradients_in_another_order() -> Any:
    return training(network(3, 1), SGD(), change=lambda g: g[::-1])


def variables_first() -> Any:
    model, optimizer = network(3, 1), SGD()

    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(model.trainable_variables, gradients))
        return loss

    return step


def unbuilt_model() -> Any:
    model, w, optimizer = Sequential([Dense(3)]), s2s.Variable(np.ones((2, 1))), SGD()

    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.mean((x @ w - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step


def changed_layers() -> Any:
    model = network(3, 1)
    model.layers.insert(1, Dense(4, name="new"))
    return training(model, SGD())


def layer_added_later() -> Any:
    model, optimizer = network(3, 1), Adam()
    training(model, optimizer)(X, Y)
    model.add(Dense(1, name="late"))
    return training(model, optimizer)


def variable_not_seen() -> Any:
    model, optimizer, w = network(3, 1), Adam(), s2s.Variable(np.ones((2, 1)), name="w")
    optimizer.build(model.trainable_variables)

    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.mean((x @ w - y) ** 2)
        optimizer.apply_gradients(zip([tape.gradient(loss, w)], [w]))
        return loss

    return step


def target_made_outside() -> Any:
    model, optimizer = network(3, 1), SGD()

    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            p = model(x)
        loss = np.mean((p - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return step


def clipped_none(clip: Any) -> Any:
    w, apart = s2s.Variable(np.ones((2, 1)), name="w"), s2s.Variable(1.0, name="apart")

    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.mean((x @ w - y) ** 2)
        gradients = tape.gradient(loss, [w, apart])
        return [clip(g) for g in gradients]

    return step


def none_clipped_by_norm() -> Any:
    return clipped_none(lambda g: s2s.clip_by_norm(g, 1.0))


def none_clipped_by_value() -> Any:
    return clipped_none(lambda g: s2s.clip_by_value(g, -1.0, 1.0))


def wrong_width() -> Any:
    step = training(network(3, 1), SGD())
    return lambda x, y: step(x[:, :1], y)


def float_labels() -> Any:
    step = training(network(3, 2), SGD(), SparseCategoricalCrossentropy(from_logits=True))
    return lambda x, y: step(x, LABELS.astype(np.float32))


def rows_for_labels() -> Any:
    step = training(network(3, 2), SGD(), SparseCategoricalCrossentropy(from_logits=True))
    return lambda x, y: step(x, np.eye(2)[LABELS])


def labels_for_rows() -> Any:
    step = training(network(3, 2), SGD(), CategoricalCrossentropy(from_logits=True))
    return lambda x, y: step(x, LABELS)


def too_many_labels() -> Any:
    step = training(network(3, 2), SGD(), SparseCategoricalCrossentropy(from_logits=True))
    return lambda x, y: step(x, np.concatenate([LABELS, LABELS]))


def negative_labels() -> Any:
    step = training(network(3, 2), SGD(), SparseCategoricalCrossentropy(from_logits=True))
    return lambda x, y: step(x, LABELS - 1)


def shapes_that_do_not_fit() -> Any:
    step = training(network(3, 2), SGD(), MeanSquaredError())
    return lambda x, y: step(x, y[:, 0])


@pytest.mark.parametrize("mode", ["plain", "compiled"])
@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (fewer_variables, ValueError, "4 gradients and 3 variables; pass the same list"),
        (fewer_variables_for_scaled_losses, ValueError, "4 gradients and 3 variables"),
        (gradients_in_another_order, ValueError, r"dense/kernel has shape \(2, 3\), its .* \(1,\)"),
        (variables_first, TypeError, r"pairs are \(gradient, variable\)"),
        (unbuilt_model, ValueError, "no variables; a model that is not built .* call it on"),
        (changed_layers, ValueError, "built for inputs of 3 features, .* layers before it"),
        (layer_added_later, ValueError, "has not seen late/kernel, late/bias: .* another opt"),
        (variable_not_seen, ValueError, "adam has not seen w: .* adam.build"),
        (target_made_outside, ValueError, "every gradient is None: .* dense/kernel.* inside the"),
        (none_clipped_by_norm, ValueError, "clip_by_norm was given None .* apart; leave it"),
        (none_clipped_by_value, ValueError, "clip_by_value was given None .* apart; leave it"),
        (wrong_width, ValueError, r"built for inputs of 2 features, .* \(6, 1\)"),
        (float_labels, TypeError, r"dtype float32; pass y_true.astype\(np.int64\)"),
        (rows_for_labels, ValueError, "for each class.* use CategoricalCrossentropy"),
        (labels_for_rows, ValueError, "numbers of classes use SparseCategorical"),
        (too_many_labels, ValueError, r"y_true has shape \(12,\); .* requires \(6,\)"),
        (negative_labels, ValueError, "a label is negative"),
        (shapes_that_do_not_fit, ValueError, r"\(6,\) and y_pred \(6, 2\); give both"),
    ],
)
def test_wrong_use(make: Any, kind: Any, text: str, mode: str) -> None:
    step = make()
    if mode == "compiled":
        inner = step.__closure__ and step.__name__ == "<lambda>"
        if inner:  # the data are modified in Python
            cell = step.__closure__[0]
            cell.cell_contents = s2s.function(cell.cell_contents, backend="loops")
        else:
            step = s2s.function(step, backend="loops")
    with pytest.raises(kind, match=text) as caught:
        step(X, Y)
    if mode == "compiled" and make is not negative_labels:
        assert "test_wrong_use.py:" in str(caught.value)  # the user's line, not one of this package


@pytest.mark.parametrize("mode", ["plain", "compiled"])
def test_a_variable_without_a_gradient_is_left_as_it_is(mode: str) -> None:
    w, apart = s2s.Variable(np.ones((2, 1), np.float32), name="w"), s2s.Variable(1.0, name="apart")
    optimizer = Adam(0.1)

    def step(x: Any, y: Any) -> Any:
        with s2s.GradientTape() as tape:
            loss = np.mean((x @ w - y) ** 2 + 1.0)
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, apart]), [w, apart]))
        return loss

    if mode == "compiled":
        step = s2s.function(step, backend="loops")
    with pytest.warns(UserWarning, match="leaves apart unchanged: there is no gradient"):
        step(X, Y + 1)
    assert apart.numpy() == 1.0 and np.all(w.numpy() != 1.0)
    assert len(optimizer.slots["m"]) == 2


def test_a_list_of_pairs_and_an_iterator_work_too() -> None:
    a, b = s2s.Variable(1.0), s2s.Variable(2.0)
    optimizer = SGD(0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.apply_gradients([(np.float32(1.0), a), (np.float32(2.0), b)])
        optimizer.apply_gradients((g, v) for g, v in ((np.float32(1.0), a), (np.float32(0.0), b)))
    assert a.numpy() == 0.0 and b.numpy() == 1.0


def test_set_up_is_checked() -> None:
    with pytest.raises(ValueError, match="clipnorm and clipvalue are set; choose one"):
        SGD(clipnorm=1.0, clipvalue=1.0)
    with pytest.raises(ValueError, match="there is no reduction 'average'"):
        MeanSquaredError(reduction="average")
    with pytest.raises(ValueError, match="dense is not built: .* call the model on a batch"):
        Sequential([Dense(3)]).set_weights([np.ones(3)])
    scheduled = SGD(s2s.optimizers.schedules.CosineDecay(0.1, 10))
    with pytest.raises(TypeError, match="follows a schedule"):
        scheduled.learning_rate = 0.1
    with pytest.raises(ValueError, match="weights are float32 or float64, not float16"):
        Dense(3, dtype="float16")


def test_a_layer_added_to_a_compiled_model() -> None:
    """The list of layers is checked in every call."""
    model, optimizer = network(3, 1), SGD()
    step = s2s.function(training(model, optimizer), backend="loops")
    step(X, Y)
    step(X, Y)
    model.add(Dense(1, name="late"))
    with pytest.raises(ValueError, match="sgd has not seen late/kernel, late/bias"):
        step(X, Y)
    optimizer.build(model.trainable_variables)
    before = model.layers[-1].kernel.numpy()
    step(X, Y)
    assert np.any(model.layers[-1].kernel.numpy() != before)
    model.layers.pop(1)
    with pytest.raises(ValueError, match="late was built for inputs of 1 features"):
        step(X, Y)


def test_a_loss_takes_no_keyword_it_does_not_know() -> None:
    with pytest.raises(TypeError, match="reductoin"):
        s2s.losses.Loss(reductoin="sum")  # type: ignore[call-arg]
