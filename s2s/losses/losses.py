"""Loss functions, called as `loss(y_true, y_pred)`, in plain NumPy.  Names, defaults and reductions
are those of Keras.  Targets are cast to the dtype of the predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..layers.activations import log_softmax
from ..objects.change_counter import Announces
from ..objects.compiler_hints import looks_only
from ..objects.tensor import tensor

EPSILON = 1e-7
MEANS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")
REDUCTIONS = (*MEANS, "sum", "none", None)


class Loss(Announces):
    """Subclasses define `call(self, y_true, y_pred)`, which returns one loss per sample.

    reduction: "sum_over_batch_size" or "mean"; "mean_with_sample_weight", which divides by the sum
        of the weights; "sum"; None for one loss per sample.
    """

    _s2s_plain = True  # compiled code may create instances

    def __init__(
        self, name: str | None = None, reduction: str | None = "sum_over_batch_size"
    ) -> None:
        if reduction not in REDUCTIONS:
            raise ValueError(f"there is no reduction {reduction!r}; choose from {REDUCTIONS}")
        self.name = name or type(self).__name__
        self.reduction = reduction

    def call(self, y_true: Any, y_pred: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no call(self, y_true, y_pred)")

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        return reduced(self.call(y_true, y_pred), sample_weight, self.reduction)


class Elementwise(Loss):
    """The mean over the last axis of `elements(self, y_true, y_pred)`."""

    def __init__(
        self, reduction: str | None = "sum_over_batch_size", name: str | None = None
    ) -> None:
        super().__init__(name, reduction)

    def elements(self, y_true: Any, y_pred: Any) -> Any:
        raise NotImplementedError

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return np.mean(self.elements(*alike(self.name, y_true, y_pred)), axis=-1)

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        if sample_weight is None and self.reduction in MEANS:
            # One mean over all axes, instead of a mean of means.
            return tensor(np.mean(self.elements(*alike(self.name, y_true, y_pred))))
        return reduced(self.call(y_true, y_pred), sample_weight, self.reduction)


class MeanSquaredError(Elementwise):
    def elements(self, y_true: Any, y_pred: Any) -> Any:
        return (y_pred - y_true) ** 2


class MeanAbsoluteError(Elementwise):
    def elements(self, y_true: Any, y_pred: Any) -> Any:
        return np.abs(y_pred - y_true)


class Huber(Elementwise):
    """Half the squared error up to `delta`, linear beyond."""

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(reduction, name)
        self.delta = float(delta)

    def elements(self, y_true: Any, y_pred: Any) -> Any:
        error = np.abs(y_pred - y_true)
        near = np.minimum(error, self.delta)
        return 0.5 * near * near + self.delta * (error - near)


class Crossentropy(Loss):
    """The options of cross-entropies of probabilities or logits; `label_smoothing` moves the
    targets towards a uniform distribution."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(name=name, reduction=reduction)
        self.from_logits = from_logits
        self.label_smoothing, self.smooths = float(label_smoothing), label_smoothing != 0.0


class BinaryCrossentropy(Crossentropy, Elementwise):
    """The cross-entropy of probabilities, or of logits, and targets in [0, 1]; `label_smoothing`
    moves the targets towards 0.5."""

    def elements(self, y_true: Any, y_pred: Any) -> Any:
        if self.smooths:
            y_true = y_true * (1.0 - self.label_smoothing) + 0.5 * self.label_smoothing
        if self.from_logits:
            return np.logaddexp(0.0, y_pred) - y_true * y_pred
        p = np.clip(y_pred, EPSILON, 1.0 - EPSILON)
        return -(y_true * np.log(p) + (1.0 - y_true) * np.log(1.0 - p))


class CategoricalCrossentropy(Crossentropy):
    """The cross-entropy of rows of probabilities, or of logits, and rows of target probabilities;
    `label_smoothing` moves the targets towards a uniform distribution."""

    def call(self, y_true: Any, y_pred: Any) -> Any:
        must_be_rows(self.name, y_true, y_pred)
        y_true = in_dtype_of(np.asarray(y_true), y_pred)
        if self.smooths:
            share = self.label_smoothing / y_pred.shape[-1]
            y_true = y_true * (1.0 - self.label_smoothing) + share
        if self.from_logits:
            logs = log_softmax(y_pred)
        else:
            p = y_pred / np.sum(y_pred, axis=-1, keepdims=True)
            logs = np.log(np.clip(p, EPSILON, 1.0 - EPSILON))
        return -np.sum(y_true * logs, axis=-1)


class SparseCategoricalCrossentropy(Loss):
    """The cross-entropy of rows of probabilities, or of logits, and integer class labels.  Samples
    with the label `ignore_class` are left out."""

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
    ) -> None:
        super().__init__(name, reduction)
        self.from_logits = from_logits
        self.ignore_class = ignore_class

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        losses = self.call(y_true, y_pred)
        if self.ignore_class is None:
            return reduced(losses, sample_weight, self.reduction)
        counts = labels_like(y_true, y_pred) != self.ignore_class
        return reduced(losses, sample_weight, self.reduction, in_dtype_of(counts, losses))

    def call(self, y_true: Any, y_pred: Any) -> Any:
        must_be_labels(self.name, y_true, y_pred)
        labels = labels_like(y_true, y_pred)
        if self.ignore_class is None:
            return self.of(labels, y_pred)
        counts = labels != self.ignore_class
        return np.where(counts, self.of(np.where(counts, labels, 0), y_pred), 0.0)

    def of(self, labels: Any, y_pred: Any) -> Any:
        """One loss for each label."""
        if np.any(labels < 0):
            raise ValueError("a label is negative; labels are the numbers of classes, from 0 on")
        scores = y_pred if self.from_logits else np.log(np.clip(y_pred, EPSILON, 1.0 - EPSILON))
        logs = log_softmax(scores)
        if labels.ndim == 1:
            return -logs[np.arange(logs.shape[0]), labels]
        rows = logs.reshape(-1, logs.shape[-1])
        return -rows[np.arange(rows.shape[0]), labels.reshape(-1)].reshape(labels.shape)


# ---------------------------------------------------------------- shapes, dtypes, reductions


def alike(name: str, y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Targets and predictions with equal rank, up to a last axis of length 1, and equal dtype."""
    must_fit(name, y_true, y_pred)
    y_true = np.asarray(y_true)
    if y_true.ndim == 1 and y_pred.ndim == 2:
        y_true = y_true[:, None]
    elif y_true.ndim == 2 and y_pred.ndim == 1:
        y_pred = y_pred[:, None]
    elif y_true.ndim == y_pred.ndim + 1:
        y_true = y_true[..., 0]
    elif y_true.ndim + 1 == y_pred.ndim:
        y_pred = y_pred[..., 0]
    return in_dtype_of(y_true, y_pred), y_pred


def labels_like(y_true: Any, y_pred: Any) -> Any:
    """One label for each row of predictions."""
    y_true = np.asarray(y_true)
    return y_true[..., 0] if y_true.ndim == y_pred.ndim else y_true


def in_dtype_of(y_true: Any, y_pred: Any) -> Any:
    """The first array in the dtype of the second."""
    return y_true if y_true.dtype == y_pred.dtype else y_true.astype(y_pred.dtype)


def reduced(losses: Any, sample_weight: Any, reduction: str | None, counts: Any = None) -> Any:
    """Reduce the weighted losses of samples.  `counts` is 0 for samples to leave out, else 1."""
    divisor: Any = losses.size
    if counts is not None:
        divisor = np.sum(counts)
    weights = counts
    if sample_weight is not None:
        weights = in_dtype_of(np.asarray(sample_weight), losses)
        if weights.ndim == losses.ndim + 1:
            weights = weights[..., 0]
        while weights.ndim < losses.ndim:  # one weight for all losses of a sample
            weights = weights[..., None]
        if counts is not None:
            weights = weights * counts
    if weights is not None:
        losses = losses * weights
        if reduction == "mean_with_sample_weight":
            divisor = np.sum(weights)
    if reduction is None or reduction == "none" or losses.ndim == 0:
        return tensor(losses)
    if reduction == "sum":
        return tensor(np.sum(losses))
    if weights is None:
        return tensor(np.mean(losses))
    # If the divisor is 0, all losses are 0, and so is the result.
    return tensor(np.sum(losses) / np.where(divisor == 0, 1.0, divisor).astype(losses.dtype))


# ---------------------------------------------------------------- argument checks


@looks_only
def must_fit(name: str, y_true: Any, y_pred: Any) -> None:
    """Raise ValueError unless the ranks are equal, or differ by a last axis of length 1."""
    true, pred = np.shape(y_true), np.shape(y_pred)
    longer, shorter = (true, pred) if len(true) > len(pred) else (pred, true)
    if len(longer) == len(shorter) or (len(longer) == len(shorter) + 1 and longer[-1] == 1):
        return
    raise ValueError(f"{name}: y_true has shape {true} and y_pred {pred}; give both the same shape")


@looks_only
def must_be_rows(name: str, y_true: Any, y_pred: Any) -> None:
    """Raise ValueError unless targets and predictions have the same shape."""
    true, pred = np.shape(y_true), np.shape(y_pred)
    if true == pred:
        return
    text = f"{name}: y_true has shape {true} and y_pred {pred}, which must be the same"
    if len(true) < len(pred) or true[-1] == 1:
        text += "; for numbers of classes use SparseCategoricalCrossentropy"
    raise ValueError(text)


@looks_only
def must_be_labels(name: str, y_true: Any, y_pred: Any) -> None:
    """Raise unless the targets are one integer label per row of predictions."""
    dtype, true, pred = np.asarray(y_true).dtype, np.shape(y_true), np.shape(y_pred)
    if true == pred and true[-1] != 1:
        raise ValueError(
            f"{name}: y_true has a number for each class, as y_pred has (shape {true}); "
            "use CategoricalCrossentropy, or pass np.argmax(y_true, axis=-1)"
        )
    if true not in (pred[:-1], (*pred[:-1], 1)):
        raise ValueError(
            f"{name}: y_true has shape {true}; y_pred, of shape {pred}, requires {pred[:-1]}"
        )
    if dtype.kind not in "iu":
        raise TypeError(
            f"{name}: y_true holds numbers of classes, but is of dtype {dtype}; pass "
            "y_true.astype(np.int64)"
        )
