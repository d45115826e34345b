"""Layers: objects with weights, whose `call` is plain NumPy."""

from .base import Layer
from .dense import Dense
from .flatten import Flatten

__all__ = ["Dense", "Flatten", "Layer"]
