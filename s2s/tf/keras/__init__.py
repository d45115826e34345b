"""`tf.keras`: the layers, models, losses, metrics and optimizers of s2s, with tensors as results.

Start reading in `layers.py`, which derives a class with tensor results from each class of
`s2s.layers`; `models.py` does the same for models.  `activations.py` and `losses.py` wrap the
functions, `mixed_precision.py` re-exports the policies, and `utils.py` seeds the generators.
Metrics and optimizers are those of s2s.

This folder may import the folders of s2s below `s2s.tf`, and the modules of `s2s.tf` beside it.
"""

from ... import metrics, optimizers
from ...layers import Input
from ...public_names import listing
from . import activations, layers, losses, mixed_precision, models, utils
from .models import Model, Sequential

__all__ = [
    "Input", "Model", "Sequential", "activations",
    "layers", "losses", "metrics", "mixed_precision", "models", "optimizers",
    "utils",
]  # fmt: skip
__dir__ = listing(__name__)
