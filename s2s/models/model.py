"""Models: layers made of layers; `Model(inputs, outputs)` for layers called on an `Input`."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from ..layers.base import Layer
from ..layers.flatten import Input, example
from ..layers.symbolic_input import Made, Symbol, is_symbol
from ..objects.compiler_hints import decided


class Model(Layer):
    """A layer that users subclass: sublayers in attributes, and `call`; or, as
    `Model(inputs, outputs)`, what leads from an `Input` to what layers made of it."""

    makes_weights = False  # its layers make theirs

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if is_symbol(args[:1]) or "inputs" in kwargs:
            # Not by attribute assignment, which is announced to compiled steps.
            object.__setattr__(self, "__class__", functional_class(type(self)))
            made: Any = self
            Functional.__init__(made, *args, **kwargs)
        else:
            super().__init__(*args, **kwargs)

    @classmethod
    def functional_form(cls) -> type[Model]:
        """The class of models that are made of inputs and outputs."""
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


class Place:
    """Where a value stands among the inputs and what the layers gave before."""

    def __init__(self, number: int, part: int | None) -> None:
        self.number, self.part = number, part


class Functional(Model):
    """Layers in the order in which one needs the other."""

    def __init__(self, inputs: Any, outputs: Any, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        if not all(isinstance(i, Symbol) for i in given):
            raise TypeError("the inputs of a model are made by Input")
        self.several = isinstance(inputs, (list, tuple))
        self.chain: list[Layer] = []
        plan: list[Any] = []
        places = {id(symbol): k for k, symbol in enumerate(given)}

        def place_of(value: Any) -> Any:
            if not is_symbol(value):
                return value
            if isinstance(value, (list, tuple)):
                return [place_of(v) for v in value]
            if id(value) in places:
                return Place(places[id(value)], None)
            return Place(places[id(value.made)], value.part)

        for made in sorted(needed(outputs, places), key=lambda made: made.number):
            if made.layer not in self.chain:
                self.chain.append(made.layer)
            kwargs = {name: place_of(v) for name, v in made.kwargs.items()}
            plan.append((self.chain.index(made.layer), list(map(place_of, made.args)), kwargs))
            places[id(made)] = len(given) + len(plan) - 1
        self.results = place_of(outputs)
        self.plan = tuple(plan)
        self.inputs, self.outputs = inputs, outputs
        self.built = True

    @property
    @decided
    def layers(self) -> list[Layer]:
        return self.chain

    def call(self, inputs: Any) -> Any:
        values = list(inputs) if self.several else [inputs]
        for number, args, kwargs in self.plan:
            layer = self.chain[number]
            places = [taken(values, a) for a in args]
            values.append(layer(*places, **{name: taken(values, v) for name, v in kwargs.items()}))
        return taken(values, self.results)


@functools.cache
def functional_class(cls: type[Model]) -> type[Functional]:
    """A subclass of `cls` that is a functional model, under the same name: methods that `cls`
    defines, `train_step` or `call`, come before those of `Functional`."""
    form: Any = cls.functional_form()
    bases: tuple[Any, ...] = (cls, form)
    made: Any = form
    if cls not in form.__mro__:
        made = type(cls.__name__, bases, {"__module__": cls.__module__})
    return made


def taken(values: Any, what: Any) -> Any:
    if isinstance(what, list):
        return [taken(values, w) for w in what]
    if not isinstance(what, Place):
        return what
    value = values[what.number]
    return value if what.part is None else value[what.part]


def needed(value: Any, given: Any) -> set[Made]:
    """The calls that lead to a value from those that are given."""
    found: set[Made] = set()
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, Symbol) and id(value) not in given and value.made not in found:
            if value.made is None:
                raise ValueError("the outputs depend on an Input that is not among the inputs")
            found.add(value.made)
            waiting += [*value.made.args, *value.made.kwargs.values()]
    return found
