"""`tf.keras`: the same layers, models, losses and optimizers."""

from ... import layers, metrics, models, optimizers
from ...layers import Input, activations
from ...models import Model, Sequential
from . import losses, mixed_precision, utils

__all__ = [
    "Input", "Model", "Sequential", "activations",
    "layers", "losses", "metrics", "mixed_precision", "models", "optimizers",
    "utils",
]  # fmt: skip
