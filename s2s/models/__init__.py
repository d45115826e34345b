"""Models: layers that are composed of layers.

Start reading in `model.py`, the only file: `Model` (subclassing, or `Model(inputs, outputs)`),
`Sequential` and `Functional`.  A model is an ordinary object with sublayers in its attributes;
`call` is plain NumPy, and s2s compiles it when user programs call it.

This folder may import `s2s.layers`, `s2s.objects` and `s2s.saving`.
"""

from ..public_names import listing
from .model import Model, Sequential

__all__ = ["Model", "Sequential"]
__dir__ = listing(__name__)
