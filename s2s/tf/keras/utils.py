"""`tf.keras.utils`: seeding."""

from __future__ import annotations

import random as python_random

import numpy as np

from ...layers import initializers
from ...public_names import listing
from .. import random

__all__ = ["set_random_seed"]
__dir__ = listing(__name__)


def set_random_seed(seed: int) -> None:
    """Seed all global random generators: those of Python and NumPy, of weights, of layers such as
    dropout, and of `tf.random`."""
    python_random.seed(seed)
    np.random.seed(seed)
    random.set_seed(seed)
    initializers.set_seed(seed)
