"""Models of layers that were called on an `Input`: `Model(inputs, outputs)`."""

from __future__ import annotations

import functools
from typing import Any

from ..layers.base import Layer
from ..layers.symbolic_input import Made, Symbol, is_symbol
from ..objects.compiler_hints import decided
from . import Model


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
