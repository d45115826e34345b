"""Optimizers and learning-rate schedules; names and defaults are those of Keras."""

from . import schedules
from .adaptive import Adagrad, Adam, AdamW, RMSprop
from .base import Optimizer
from .descent import SGD
from .scaled import LossScaleOptimizer

__all__ = [
    "SGD", "Adagrad", "Adam", "AdamW", "LossScaleOptimizer", "Optimizer", "RMSprop", "schedules",
]  # fmt: skip
