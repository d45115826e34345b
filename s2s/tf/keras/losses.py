"""`tf.keras.losses`: the loss classes, and functions that return one loss per sample."""

from __future__ import annotations

from typing import Any

from ...losses import (
    BinaryCrossentropy,
    CategoricalCrossentropy,
    Huber,
    Loss,
    MeanAbsoluteError,
    MeanSquaredError,
    SparseCategoricalCrossentropy,
)
from ...losses.losses_rare import (
    CosineSimilarity,
    Hinge,
    KLDivergence,
    LogCosh,
    Poisson,
    SquaredHinge,
)
from ...public_names import listing
from ..tensors import export

__all__ = [
    "BinaryCrossentropy", "CategoricalCrossentropy", "CosineSimilarity", "Hinge", "Huber",
    "KLDivergence", "LogCosh", "Loss", "MeanAbsoluteError", "MeanSquaredError", "Poisson",
    "SparseCategoricalCrossentropy", "SquaredHinge", "binary_crossentropy",
    "categorical_crossentropy", "cosine_similarity", "hinge", "huber", "kl_divergence", "kld",
    "mae", "mean_absolute_error", "mean_squared_error", "mse", "poisson",
    "sparse_categorical_crossentropy", "squared_hinge",
]  # fmt: skip
__dir__ = listing(__name__)


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    return MeanSquaredError().call(y_true, y_pred)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    return MeanAbsoluteError().call(y_true, y_pred)


mse, mae = mean_squared_error, mean_absolute_error


def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Any:
    return Huber(delta).call(y_true, y_pred)


def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0
) -> Any:
    return BinaryCrossentropy(from_logits, label_smoothing).call(y_true, y_pred)


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0
) -> Any:
    return CategoricalCrossentropy(from_logits, label_smoothing).call(y_true, y_pred)


def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, ignore_class: int | None = None
) -> Any:
    return SparseCategoricalCrossentropy(from_logits, ignore_class).call(y_true, y_pred)


def hinge(y_true: Any, y_pred: Any) -> Any:
    return Hinge().call(y_true, y_pred)


def squared_hinge(y_true: Any, y_pred: Any) -> Any:
    return SquaredHinge().call(y_true, y_pred)


def poisson(y_true: Any, y_pred: Any) -> Any:
    return Poisson().call(y_true, y_pred)


def kl_divergence(y_true: Any, y_pred: Any) -> Any:
    return KLDivergence().call(y_true, y_pred)


kld = kl_divergence


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Any:
    return CosineSimilarity(axis).call(y_true, y_pred)


export(globals())
