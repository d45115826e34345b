"""`tf.data`."""

from ..data import Dataset

AUTOTUNE = -1

__all__ = ["AUTOTUNE", "Dataset"]
