"""Layers that wrap another layer."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .base import Layer
from .regularization import BatchNormalization

MERGES = ("concat", "sum", "mul", "ave", None)


class Bidirectional(Layer):
    """A recurrent layer, and a copy of it that processes the steps in reverse order."""

    def __init__(self, layer: Any, merge_mode: str | None = "concat", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if merge_mode not in MERGES:
            raise ValueError(f"there is no merge_mode {merge_mode!r}; choose from {MERGES}")
        if layer.built or layer.return_state:
            raise ValueError("Bidirectional needs a new layer, without return_state")
        self.merge_mode = merge_mode
        self.forward_layer, self.backward_layer = layer, copy.copy(layer)
        self.backward_layer.name = f"backward_{layer.name}"
        self.backward_layer.go_backwards = not layer.go_backwards

    def call(self, inputs: Any) -> Any:
        forward, backward = self.forward_layer(inputs), self.backward_layer(inputs)
        if self.forward_layer.return_sequences:
            backward = backward[:, ::-1]
        if self.merge_mode == "concat":
            return np.concatenate([forward, backward], axis=-1)
        if self.merge_mode == "mul":
            return forward * backward
        if self.merge_mode is None:
            return forward, backward
        return forward + backward if self.merge_mode == "sum" else (forward + backward) / 2.0


class TimeDistributed(Layer):
    """Applies a layer to each step of each sample."""

    def __init__(self, layer: Layer, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if looks_at_all(layer):  # Keras has statistics per step; here all steps form one batch
            raise ValueError("TimeDistributed needs a layer without BatchNormalization")
        self.layer = layer

    def call(self, inputs: Any, training: Any = None) -> Any:
        samples, steps = inputs.shape[:2]
        outputs = self.layer(
            inputs.reshape((samples * steps, *inputs.shape[2:])), training=training
        )
        return outputs.reshape((samples, steps, *outputs.shape[1:]))


def looks_at_all(layer: Layer) -> bool:
    """True if the output for a sample depends on the other samples of the batch."""
    return isinstance(layer, BatchNormalization) or any(map(looks_at_all, layer.sublayers()))
