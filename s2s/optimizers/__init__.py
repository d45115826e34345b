"""Optimizers and learning-rate schedules; names and defaults are those of Keras."""

from . import schedules
from .adaptive import Adagrad, Adam, AdamW, RMSprop
from .base import Optimizer
from .descent import SGD
from .kin import Adadelta, Adamax, Ftrl, Lion, Nadam
from .scaled import LossScaleOptimizer

__all__ = [
    "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lion", "LossScaleOptimizer",
    "Nadam", "Optimizer", "RMSprop", "schedules",
]  # fmt: skip
