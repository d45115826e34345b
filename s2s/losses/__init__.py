"""Losses, called as `loss(y_true, y_pred)`, in plain NumPy.

`losses.py` has the base class and the losses of most programs, `losses_rare.py` the others.  Names,
defaults and reductions are those of Keras.  This folder may import `s2s.layers` and `s2s.objects`.
"""

from .losses import (
    BinaryCrossentropy,
    CategoricalCrossentropy,
    Huber,
    Loss,
    MeanAbsoluteError,
    MeanSquaredError,
    SparseCategoricalCrossentropy,
)
from .losses_rare import CosineSimilarity, Hinge, KLDivergence, LogCosh, Poisson, SquaredHinge

__all__ = [
    "BinaryCrossentropy",
    "CategoricalCrossentropy",
    "CosineSimilarity",
    "Hinge",
    "Huber",
    "KLDivergence",
    "LogCosh",
    "Loss",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "Poisson",
    "SparseCategoricalCrossentropy",
    "SquaredHinge",
]
