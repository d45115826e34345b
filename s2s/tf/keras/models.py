"""`tf.keras.models`: those of `s2s.models`, which take and give tensors."""

from __future__ import annotations

from typing import Any

from ... import functional, models
from ...layers.symbol import is_symbol
from .layers import Layer

__all__ = ["Model", "Sequential"]


class Model(models.Model, Layer):
    """As `s2s.Model`."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is Model and (is_symbol(args[:1]) or "inputs" in kwargs):
            return object.__new__(Functional)
        return super().__new__(cls, *args, **kwargs)


class Sequential(models.Sequential, Model):
    """As `s2s.Sequential`."""


class Functional(functional.Functional, Model):
    """What `Model(inputs, outputs)` makes."""
