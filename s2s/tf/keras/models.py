"""`tf.keras.models`: the models of `s2s.models`, with tensors as inputs and results."""

from __future__ import annotations

from ... import models
from ...models import model
from ...public_names import listing
from .layers import Layer

__all__ = ["Model", "Sequential"]
__dir__ = listing(__name__)


class Model(models.Model, Layer):
    """As `s2s.Model`, with tensors."""

    @classmethod
    def functional_form(cls) -> type[model.Functional]:
        return Functional


class Sequential(models.Sequential, Model):
    """As `s2s.Sequential`, with tensors."""


class Functional(model.Functional, Model):
    """The class of `Model(inputs, outputs)`."""
