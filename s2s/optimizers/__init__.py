"""Optimizers and learning-rate schedules, in plain Python and NumPy.

Start reading in `base.py` (`Optimizer`: slots, clipping, weight decay, moving averages), then
`sgd.py` and `adaptive.py`.  `adam_variants.py` has less common optimizers, `schedules.py` the
learning-rate schedules, `loss_scale.py` loss scaling, `gradient_checks.py` the argument checks.
Names and defaults are those of Keras.

s2s compiles this code when user programs call it.  This folder may import `s2s.objects` and
`s2s.mixed_precision`, but none of the folders above.
"""

from ..public_names import listing
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
__dir__ = listing(__name__)
