"""`tf.keras`: the same layers, models, losses and optimizers."""

from ... import layers, losses, metrics, models, optimizers
from ...models import Model, Sequential
from . import mixed_precision

__all__ = [
    "Model", "Sequential", "layers", "losses", "metrics", "mixed_precision", "models", "optimizers",
]  # fmt: skip
