"""Optimizers and learning-rate schedules; names and defaults are those of Keras."""

from . import schedules
from .adam_variants import Adadelta, Adamax, Ftrl, Lion, Nadam
from .adaptive import Adagrad, Adam, AdamW, RMSprop
from .base import Optimizer
from .loss_scale import LossScaleOptimizer
from .sgd import SGD

__all__ = [
    "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lion", "LossScaleOptimizer",
    "Nadam", "Optimizer", "RMSprop", "schedules",
]  # fmt: skip
