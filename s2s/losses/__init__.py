"""Loss functions, called as `loss(y_true, y_pred)`, in plain NumPy.

Start reading in `losses.py`: the base class, the reductions, and the common losses.
`losses_rare.py` has the less common ones.  Names, defaults and reductions are those of Keras.

s2s compiles this code when user programs call it.  This folder may import `s2s.layers` and
`s2s.objects`.
"""

from ..public_names import listing
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
__dir__ = listing(__name__)
