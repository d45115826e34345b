"""`tf.keras.models`: those of `s2s.models`, which take and give tensors."""

from __future__ import annotations

from ... import models
from ...models import model
from .layers import Layer

__all__ = ["Model", "Sequential"]


class Model(models.Model, Layer):
    """As `s2s.Model`."""

    @classmethod
    def functional_form(cls) -> type[model.Functional]:
        return Functional


class Sequential(models.Sequential, Model):
    """As `s2s.Sequential`."""


class Functional(model.Functional, Model):
    """What `Model(inputs, outputs)` makes."""
