"""Models: layers composed of layers.  `Model(inputs, outputs)` is a graph of layers that were
called on an `Input`."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from ..layers.base import Layer
from ..layers.flatten import Input, example
from ..layers.symbolic_input import Made, Symbol, is_symbol
from ..objects.compiler_hints import decided


class Model(Layer):
    """A layer that users subclass, with sublayers in attributes and a method `call`.
    `Model(inputs, outputs)` makes a functional model: the graph of layers from an `Input` to
    symbolic outputs."""

    makes_weights = False  # the sublayers create the weights

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if is_symbol(args[:1]) or "inputs" in kwargs:
            # `object.__setattr__` bypasses the change notification to compiled steps.
            object.__setattr__(self, "__class__", functional_class(type(self)))
            made: Any = self
            Functional.__init__(made, *args, **kwargs)
        else:
            super().__init__(*args, **kwargs)

    @classmethod
    def functional_form(cls) -> type[Model]:
        """The class of functional models, made from inputs and outputs."""
        return Functional

    def build(self, input_shape: tuple[Any, ...]) -> None:
        """Create the weights for an input shape, whose first axis is that of the samples."""
        if not type(self).makes_weights:  # otherwise this is a super() call from a user's `build`
            self(example(input_shape[1:]))

    def summary(self) -> None:
        """Print the layers and their numbers of parameters."""
        print(f"Model: {self.name}")
        for layer in self.layers:
            print(f"  {layer.name:<30} {type(layer).__name__:<24} {layer.count_params():>12,}")
        print(f"Total params: {self.count_params():,}")

    @property
    @decided
    def layers(self) -> list[Layer]:
        """The direct sublayers, in order of creation."""
        return list(self.sublayers())

    def save_weights(self, path: Any) -> None:
        from ..saving import save_weights

        save_weights(self, path)

    def load_weights(self, path: Any) -> None:
        from ..saving import load_weights

        load_weights(self, path)


class Sequential(Model):
    """A chain of layers.  If the first has an `input_shape`, all are built immediately."""

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
    """A reference to a value by its index among the inputs and the results of earlier calls, and
    by an element (`part`) of it."""

    def __init__(self, number: int, part: int | None) -> None:
        self.number, self.part = number, part


class Functional(Model):
    """A functional model: recorded layer calls in topological order."""

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
    """A subclass of `cls` that is a functional model, under the same name.  Methods that `cls`
    defines, such as `train_step` or `call`, precede those of `Functional` in the MRO."""
    form: Any = cls.functional_form()
    bases: tuple[Any, ...] = (cls, form)
    made: Any = form
    if cls not in form.__mro__:
        made = type(cls.__name__, bases, {"__module__": cls.__module__})
    return made


def taken(values: Any, what: Any) -> Any:
    """Resolve references to values; anything else is a constant."""
    if isinstance(what, list):
        return [taken(values, w) for w in what]
    if not isinstance(what, Place):
        return what
    value = values[what.number]
    return value if what.part is None else value[what.part]


def needed(value: Any, given: Any) -> set[Made]:
    """The recorded calls that a value depends on, up to the `given` symbols."""
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
