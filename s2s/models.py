"""Models: layers made of layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .layers.base import Layer
from .layers.flatten import Input
from .marks import decided


class Model(Layer):
    """A layer that users subclass: sublayers in attributes, and `call`."""

    @property
    @decided
    def layers(self) -> list[Layer]:
        """The layers it is made of, as created."""
        return list(self.sublayers())

    def save_weights(self, path: Any) -> None:
        from .saving import save_weights

        save_weights(self, path)

    def load_weights(self, path: Any) -> None:
        from .saving import load_weights

        load_weights(self, path)


class Sequential(Model):
    """Layers one after another.  If the first says its `input_shape`, all are built at once."""

    def __init__(self, layers: Iterable[Layer] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.chain: list[Layer] = []
        for layer in layers:
            self.add(layer)

    @property
    @decided
    def layers(self) -> list[Layer]:
        return self.chain

    def add(self, layer: Layer) -> None:
        if not self.chain and layer.input_shape is not None:
            self.input_shape = layer.input_shape
            self.input_dtype = getattr(layer, "input_dtype", "float32")
        if not isinstance(layer, Input):
            self.chain.append(layer)
        if self.input_shape is not None:
            self(np.zeros((1, *self.input_shape), self.input_dtype))

    def call(self, inputs: Any, training: Any = None) -> Any:
        for layer in self.chain:
            inputs = layer(inputs, training=training)
        return inputs
