"""`tf.data`."""

from ..data import AUTOTUNE, Dataset

__all__ = ["AUTOTUNE", "Dataset"]
