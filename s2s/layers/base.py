"""`Layer`: weights by name, sublayers by attribute, built when the shape of the input is known.

Nothing here is known to the compiler but two marks: `built_now`, for methods that complete an
object and so run in Python while a function is compiled, and `decided`, for properties that
depend on the objects alone.  Classes of users may bear the same marks.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from ..announce import Announces
from ..variable import Variable
from . import initializers

F = TypeVar("F")


def built_now(function: F) -> F:
    """A method that completes objects: run in Python, for the sizes at hand."""
    function._s2s_build = True  # type: ignore[attr-defined]
    return function


def decided(function: F) -> F:
    """The getter of a property that depends on objects only, not on numbers in them."""
    function._s2s_static = True  # type: ignore[attr-defined]
    return function


class Layer(Announces):
    """Subclasses define `call(self, inputs)` and, if they have weights of their own,
    `build(self, input_shape)`, which makes them by `add_weight`."""

    def __init__(
        self, name: str | None = None, trainable: bool = True, dtype: Any = "float32"
    ) -> None:
        self.name = name or type(self).__name__.lower()
        self.trainable = trainable
        self.dtype = np.dtype(dtype).name
        self.built = False
        self.takes_training = "training" in inspect.signature(self.call).parameters
        self.own_weights: tuple[Variable, ...] = ()

    # ---- weights

    def add_weight(
        self,
        shape: tuple[int, ...] = (),
        initializer: Any = "glorot_uniform",
        dtype: Any = None,
        trainable: bool = True,
        name: str = "weight",
    ) -> Variable:
        make = initializers.get(initializer)
        values = make(tuple(shape), np.dtype(dtype or self.dtype))
        weight = Variable(values, trainable=trainable, name=f"{self.name}/{name}")
        self.own_weights = (*self.own_weights, weight)
        return weight

    def build(self, input_shape: tuple[int, ...]) -> None:
        """Makes the layer's weights."""

    @built_now
    def complete(self, input_shape: tuple[Any, ...]) -> None:
        if not self.built:
            self.build(tuple(input_shape))
            self.built = True

    def sublayers(self) -> Iterator[Layer]:
        """Those held by attributes, by themselves or in lists, tuples and dicts."""
        for value in vars(self).values():
            yield from _layers_in(value)

    def _all_weights(self) -> list[Variable]:
        found = list(self.own_weights)
        for value in vars(self).values():
            if isinstance(value, Variable):
                found.append(value)
        for layer in self.sublayers():
            found += layer._all_weights()
        return list({id(w): w for w in found}.values())

    @property
    @decided
    def weights(self) -> list[Variable]:
        """All weights: the layer's own, then those of its sublayers, as created."""
        return self._all_weights()

    @property
    @decided
    def trainable_variables(self) -> list[Variable]:
        frozen = {id(w) for layer in self._frozen() for w in layer._all_weights()}
        return [w for w in self._all_weights() if w.trainable and id(w) not in frozen]

    trainable_weights = trainable_variables

    @property
    @decided
    def variables(self) -> list[Variable]:
        return self._all_weights()

    def _frozen(self) -> Iterator[Layer]:
        if not self.trainable:
            yield self
        for layer in self.sublayers():
            yield from layer._frozen()

    def get_weights(self) -> list[Any]:
        """Copies of the weights."""
        return [w.numpy() for w in self._all_weights()]

    def set_weights(self, values: Any) -> None:
        weights = self._all_weights()
        if len(values) != len(weights):
            raise ValueError(f"{self.name} has {len(weights)} weights, {len(values)} were given")
        for weight, value in zip(weights, values):
            weight.assign(value)

    # ---- calling

    def call(self, inputs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no call(self, inputs)")

    def __call__(self, inputs: Any, training: Any = None) -> Any:
        if not self.built:
            self.complete(inputs.shape)
        if self.takes_training:
            return self.call(inputs, training=training)  # type: ignore[call-arg]
        return self.call(inputs)


def _layers_in(value: Any) -> Iterator[Layer]:
    if isinstance(value, Layer):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _layers_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _layers_in(item)
