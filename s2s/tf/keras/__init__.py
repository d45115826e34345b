"""`tf.keras`: the same layers, models, losses and optimizers."""

from ... import layers, losses, models, optimizers
from ...models import Model, Sequential

__all__ = ["Model", "Sequential", "layers", "losses", "models", "optimizers"]
