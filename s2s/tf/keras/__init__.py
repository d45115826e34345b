"""`tf.keras`: the same layers, models, losses and optimizers."""

from ... import metrics, optimizers
from ...layers import Input
from . import activations, layers, losses, mixed_precision, models, utils
from .models import Model, Sequential

__all__ = [
    "Input", "Model", "Sequential", "activations",
    "layers", "losses", "metrics", "mixed_precision", "models", "optimizers",
    "utils",
]  # fmt: skip
