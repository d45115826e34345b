"""`tf.keras.utils`."""

from __future__ import annotations

import random as python_random

import numpy as np

from ...layers import initializers
from .. import random


def set_random_seed(seed: int) -> None:
    """Seeds all that draws without a generator of its own: weights, dropout, `tf.random`."""
    python_random.seed(seed)
    np.random.seed(seed)
    random.set_seed(seed)
    initializers.set_seed(seed)
