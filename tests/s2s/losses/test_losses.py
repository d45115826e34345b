"""Common losses: values by formulas, gradients, reductions, weights, extreme inputs, arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.losses import (
    BinaryCrossentropy,
    CategoricalCrossentropy,
    Huber,
    Loss,
    MeanAbsoluteError,
    MeanSquaredError,
    SparseCategoricalCrossentropy,
)
from s2s.losses.losses import alike, in_dtype_of, labels_like, reduced
from s2s.objects.tensor import Tensor

Y = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.25]])
P = np.array([[0.1, 0.7, 0.4], [0.9, 0.4, 0.3]])
LOGITS = np.array([[2.0, -1.0, 0.5], [0.0, 3.0, -2.0], [1.0, 1.0, 1.0], [-4.0, 0.0, 4.0]])
LABELS = np.array([0, 2, 1, 2])
ROWS = np.eye(3)[LABELS]


def probabilities(logits: Any) -> Any:
    return np.array([[math.exp(v) / sum(map(math.exp, row)) for v in row] for row in logits])


def of_entropy(y: float, p: float) -> float:
    return -y * math.log(p) - (1 - y) * math.log(1 - p)


def of_huber(y: float, p: float, delta: float = 0.3) -> float:
    error = abs(p - y)
    return 0.5 * error**2 if error <= delta else delta * (error - 0.5 * delta)


ELEMENTS: dict[str, tuple[Any, Any]] = {
    "mse": (MeanSquaredError, lambda y, p: (p - y) ** 2),
    "mae": (MeanAbsoluteError, lambda y, p: abs(p - y)),
    "huber": (lambda **o: Huber(0.3, **o), of_huber),
    "binary": (BinaryCrossentropy, of_entropy),
    "binary_logits": (
        lambda **o: BinaryCrossentropy(True, **o),
        lambda y, p: of_entropy(y, 1 / (1 + math.exp(-p))),
    ),
    "binary_smoothed": (
        lambda **o: BinaryCrossentropy(label_smoothing=0.2, **o),
        lambda y, p: of_entropy(0.8 * y + 0.1, p),
    ),
}


def per_element(name: str, p: Any = P) -> Any:
    formula = ELEMENTS[name][1]
    return np.array([[formula(a, b) for a, b in zip(*rows)] for rows in zip(Y.tolist(), p)])


# ---------------------------------------------------------------- values and gradients


@pytest.mark.parametrize("name", ELEMENTS)
def test_elementwise(name: str) -> None:
    make, want = ELEMENTS[name][0], per_element(name)
    np.testing.assert_allclose(make(reduction=None)(Y, P), want.mean(1), rtol=1e-12)
    np.testing.assert_allclose(make()(Y, P), want.mean(), rtol=1e-12)
    np.testing.assert_allclose(make(reduction="sum")(Y, P), want.mean(1).sum(), rtol=1e-12)
    single = make()(Y.astype(np.float32), P.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, want.mean(), rtol=1e-5)


@pytest.mark.parametrize("name", ELEMENTS)
def test_elementwise_gradients(name: str) -> None:
    loss, h = ELEMENTS[name][0](), 1e-6
    gradient = s2s.grad(lambda p: loss(Y, p), backend="loops")(P)
    want = (per_element(name, P + h) - per_element(name, P - h)) / (2 * h) / P.size
    np.testing.assert_allclose(gradient, want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_categories(smoothing: float) -> None:
    p = probabilities(LOGITS.tolist())
    targets = ROWS * (1 - smoothing) + smoothing / 3
    want = -(targets * np.log(p)).sum(1)
    loss = CategoricalCrossentropy(True, smoothing, reduction=None)
    np.testing.assert_allclose(loss(ROWS, LOGITS), want, rtol=1e-12)
    loss = CategoricalCrossentropy(label_smoothing=smoothing, reduction=None)
    np.testing.assert_allclose(loss(ROWS, p), want, rtol=1e-12)
    np.testing.assert_allclose(loss(ROWS, 7.0 * p), want, rtol=1e-12)  # rows are normalised
    gradient = s2s.grad(
        lambda z: CategoricalCrossentropy(True, smoothing)(ROWS, z), backend="loops"
    )(LOGITS)
    np.testing.assert_allclose(gradient, (p - targets) / 4, rtol=1e-9, atol=1e-12)


def test_labels() -> None:
    p = probabilities(LOGITS.tolist())
    want = np.array([-math.log(row[k]) for row, k in zip(p, LABELS)])
    for loss, scores in (
        (SparseCategoricalCrossentropy(True, reduction=None), LOGITS),
        (SparseCategoricalCrossentropy(reduction=None), p),
    ):
        np.testing.assert_allclose(loss(LABELS, scores), want, rtol=1e-9)
        np.testing.assert_allclose(loss(LABELS[:, None], scores), want, rtol=1e-9)
        of_sequences = loss(LABELS.reshape(2, 2), scores.reshape(2, 2, 3))
        np.testing.assert_allclose(of_sequences, want.reshape(2, 2), rtol=1e-9)
    loss = SparseCategoricalCrossentropy(True)
    gradient = s2s.grad(lambda z: loss(LABELS, z), backend="loops")(LOGITS)
    np.testing.assert_allclose(gradient, (p - ROWS) / 4, rtol=1e-9, atol=1e-12)


def test_an_ignored_class() -> None:
    want = SparseCategoricalCrossentropy(True, reduction=None)(LABELS, LOGITS)
    one_by_one = SparseCategoricalCrossentropy(True, ignore_class=2, reduction=None)
    np.testing.assert_allclose(one_by_one(LABELS, LOGITS), want * [1, 0, 1, 0])
    mean = SparseCategoricalCrossentropy(True, ignore_class=2)
    np.testing.assert_allclose(mean(LABELS, LOGITS), (want[0] + want[2]) / 2)
    weights = np.array([3.0, 5.0, 1.0, 7.0])
    np.testing.assert_allclose(mean(LABELS, LOGITS, weights), (3 * want[0] + want[2]) / 2)
    assert mean(np.full(4, 2), LOGITS) == 0.0  # nothing is left
    padding = SparseCategoricalCrossentropy(True, ignore_class=-1)
    np.testing.assert_allclose(padding(np.array([0, -1, -1, -1]), LOGITS), want[0])


# ---------------------------------------------------------------- extreme inputs


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_logits(dtype: str) -> None:
    z = np.array([[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4]], dtype)
    bits = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]], dtype)
    binary = BinaryCrossentropy(True, reduction=None)
    np.testing.assert_allclose(binary(bits, z), [(2e4 + math.log(2)) / 3, 2e4 / 3], rtol=1e-6)
    sparse = SparseCategoricalCrossentropy(True, reduction=None)
    np.testing.assert_allclose(sparse(np.array([1, 1]), z), [2e4, math.log(2)], rtol=1e-6)

    def both(z: Any) -> Any:
        loss = BinaryCrossentropy(True)(bits, z) + CategoricalCrossentropy(True)(bits, z)
        return loss + SparseCategoricalCrossentropy(True)(np.array([1, 1]), z)

    gradient = s2s.grad(both, backend="loops")(z)
    assert gradient.dtype == dtype and np.all(np.isfinite(gradient))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_probabilities_zero_and_one(dtype: str) -> None:
    p = np.array([[0.0, 1.0], [1.0, 0.0]], dtype)
    for loss, y in (
        (BinaryCrossentropy(), p[::-1].copy()),
        (CategoricalCrossentropy(), p[::-1].copy()),
        (SparseCategoricalCrossentropy(), np.array([0, 1])),
    ):
        assert 14.0 < float(loss(y, p)) < 17.0  # -log(1e-7) is 16.1
        gradient = s2s.grad(lambda p: loss(y, p), backend="loops")(p)
        assert np.all(np.isfinite(gradient))


def test_large_errors() -> None:
    y, p = np.zeros(2, np.float32), np.array([1e18, -1e18], np.float32)
    np.testing.assert_allclose(Huber(2.0)(y, p), 2e18, rtol=1e-6)


# ---------------------------------------------------------------- reductions and weights

PER_SAMPLE = np.array([1.0, 2.0, 4.0])
WEIGHTS = np.array([0.5, 0.0, 2.0])


class Given(Loss):
    def call(self, y_true: Any, y_pred: Any) -> Any:
        return y_pred


@pytest.mark.parametrize(
    "reduction, plain, weighted",
    [
        ("sum_over_batch_size", 7 / 3, 8.5 / 3),
        ("mean", 7 / 3, 8.5 / 3),
        ("mean_with_sample_weight", 7 / 3, 8.5 / 2.5),
        ("sum", 7.0, 8.5),
        ("none", [1.0, 2.0, 4.0], [0.5, 0.0, 8.0]),
        (None, [1.0, 2.0, 4.0], [0.5, 0.0, 8.0]),
    ],
)
def test_reductions(reduction: str | None, plain: Any, weighted: Any) -> None:
    loss = Given(reduction=reduction)
    np.testing.assert_allclose(loss(None, PER_SAMPLE), plain)
    np.testing.assert_allclose(loss(None, PER_SAMPLE, WEIGHTS), weighted)
    np.testing.assert_allclose(loss(None, PER_SAMPLE, sample_weight=WEIGHTS[:, None]), weighted)
    assert isinstance(loss(None, PER_SAMPLE), Tensor)
    assert isinstance(loss(None, PER_SAMPLE).numpy(), (np.floating, np.ndarray))


def test_one_weight_for_all_losses_of_a_sample() -> None:
    losses = np.array([[1.0, 3.0], [2.0, 4.0]])
    got = reduced(losses, np.array([1.0, 10.0]), None)
    np.testing.assert_array_equal(got, [[1.0, 3.0], [20.0, 40.0]])


def test_weights_are_cast_to_the_losses() -> None:
    losses = np.ones(2, np.float32)
    assert reduced(losses, np.ones(2), "sum").dtype == np.float32
    assert reduced(losses, [1, 2], "mean").dtype == np.float32


def test_weights_of_zero() -> None:
    for reduction in ("mean", "mean_with_sample_weight", "sum"):
        assert reduced(PER_SAMPLE, np.zeros(3), reduction) == 0.0
    gradient = s2s.grad(
        lambda p: MeanSquaredError(reduction="mean_with_sample_weight")(Y, p, np.zeros(2)),
        backend="loops",
    )(P)
    np.testing.assert_array_equal(gradient, np.zeros((2, 3)))


def test_a_batch_of_one_and_an_empty_batch() -> None:
    np.testing.assert_allclose(MeanSquaredError()(Y[:1], P[:1]), per_element("mse")[0].mean())
    none = SparseCategoricalCrossentropy(True, reduction=None)(LABELS[:0], LOGITS[:0])
    assert none.shape == (0,)
    assert MeanSquaredError("sum")(Y[:0], P[:0]) == 0.0
    assert MeanSquaredError()(Y[:0], P[:0], np.ones(0)) == 0.0


# ---------------------------------------------------------------- shapes and dtypes


def test_an_axis_of_length_one() -> None:
    y, p = np.array([1.0, 2.0]), np.array([[1.5], [3.0]])
    for a, b in ((y, p), (p, y), (y[:, None], p)):
        np.testing.assert_allclose(MeanSquaredError()(a, b), 0.625)
    true, pred = alike("loss", np.ones((2, 3, 1)), np.ones((2, 3)))
    assert true.shape == pred.shape == (2, 3)
    true, pred = alike("loss", np.ones((2, 3)), np.ones((2, 3, 1)))
    assert true.shape == pred.shape == (2, 3)


def test_targets_take_the_dtype_of_the_predictions() -> None:
    for y in ([[0, 1, 0], [1, 0, 0]], np.zeros((2, 3), bool), np.zeros((2, 3))):
        assert MeanAbsoluteError()(y, P.astype(np.float32)).dtype == np.float32
    same = np.ones(2)
    assert in_dtype_of(same, P) is same
    assert labels_like([[1], [2]], P).tolist() == [1, 2]


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    "loss, y_true, y_pred, error, message",
    [
        (MeanSquaredError(), np.ones((2, 3)), np.ones(2), ValueError,
         r"MeanSquaredError: y_true has shape \(2, 3\) and y_pred \(2,\); give both the same"),
        (CategoricalCrossentropy(), LABELS, LOGITS, ValueError, "use SparseCategoricalCrossentr"),
        (CategoricalCrossentropy(), ROWS[:, :2], LOGITS, ValueError, "which must be the same$"),
        (SparseCategoricalCrossentropy(), ROWS, LOGITS, ValueError, "use CategoricalCrossentropy"),
        (SparseCategoricalCrossentropy(), LABELS[:2], LOGITS, ValueError, r"requires \(4,\)"),
        (SparseCategoricalCrossentropy(), LABELS * 1.0, LOGITS, TypeError,
         r"dtype float64; pass y_true.astype\(np.int64\)"),
        (SparseCategoricalCrossentropy(), LABELS - 1, LOGITS, ValueError, "a label is negative"),
    ],
)  # fmt: skip
def test_targets_that_do_not_fit(
    loss: Any, y_true: Any, y_pred: Any, error: type, message: str
) -> None:
    with pytest.raises(error, match=message):
        loss(y_true, y_pred)


def test_a_label_beyond_the_classes() -> None:
    with pytest.raises(IndexError):
        SparseCategoricalCrossentropy(True)(LABELS + 1, LOGITS)


def test_options() -> None:
    with pytest.raises(ValueError, match="no reduction 'average'; choose from .*'mean'"):
        MeanSquaredError("average")
    assert MeanSquaredError().name == "MeanSquaredError" and Huber(name="mine").name == "mine"
    with pytest.raises(NotImplementedError, match=r"Loss defines no call\(self, y_true, y_pred\)"):
        Loss()(Y, P)
