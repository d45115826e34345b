"""Models: layers made of layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..layers.base import Layer
from ..layers.flatten import Input, example
from ..layers.symbolic_input import is_symbol
from ..objects.compiler_hints import decided


class Model(Layer):
    """A layer that users subclass: sublayers in attributes, and `call`; or, as
    `Model(inputs, outputs)`, what leads from an `Input` to what layers made of it."""

    makes_weights = False  # its layers make theirs

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if is_symbol(args[:1]) or "inputs" in kwargs:
            from .functional import Functional, functional_class

            # Not by attribute assignment, which is announced to compiled steps.
            object.__setattr__(self, "__class__", functional_class(type(self)))
            made: Any = self
            Functional.__init__(made, *args, **kwargs)
        else:
            super().__init__(*args, **kwargs)

    @classmethod
    def functional_form(cls) -> type[Model]:
        """The class of models that are made of inputs and outputs."""
        from .functional import Functional  # a model itself

        return Functional

    def build(self, input_shape: tuple[Any, ...]) -> None:
        """Makes the weights for inputs of a shape, whose first axis is that of the samples."""
        if not type(self).makes_weights:  # otherwise a user's `build` calls this one
            self(example(input_shape[1:]))

    def summary(self) -> None:
        """Prints the layers, and how many numbers their weights are."""
        print(f"Model: {self.name}")
        for layer in self.layers:
            print(f"  {layer.name:<30} {type(layer).__name__:<24} {layer.count_params():>12,}")
        print(f"Total params: {self.count_params():,}")

    @property
    @decided
    def layers(self) -> list[Layer]:
        """The layers it is made of, as created."""
        return list(self.sublayers())

    def save_weights(self, path: Any) -> None:
        from ..saving import save_weights

        save_weights(self, path)

    def load_weights(self, path: Any) -> None:
        from ..saving import load_weights

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
            self(example(self.input_shape, self.input_dtype))

    def call(self, inputs: Any, training: Any = None) -> Any:
        for layer in self.chain:
            inputs = layer(inputs, training=training)
        return inputs
