"""Models: layers made of layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .layers.base import Layer


class Model(Layer):
    """A layer that users subclass: sublayers in attributes, and `call`."""


class Sequential(Model):
    """Layers one after another."""

    def __init__(self, layers: Iterable[Layer] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.layers = list(layers)

    def add(self, layer: Layer) -> None:
        self.layers.append(layer)

    def call(self, inputs: Any, training: Any = None) -> Any:
        for layer in self.layers:
            inputs = layer(inputs, training=training)
        return inputs
