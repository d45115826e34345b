"""`Layer`: weights by name, sublayers in attributes, built when the input shape is known.

The compiler has no special cases for layers.  It knows only the decorators of
`objects/compiler_hints.py`, which user classes may use as well.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import mixed_precision
from ..objects.change_counter import Announces
from ..objects.compiler_hints import built_now, decided, looks_only
from ..objects.tensor import frozen, snapshot
from ..objects.variable import Variable
from . import initializers
from .symbolic_input import is_symbol, promised
from .training_mode import MODE


class Layer(Announces):
    """The base class of layers.  Subclasses define `call(self, inputs)`.  A subclass with weights
    also defines `build(self, input_shape)`, which creates them by `add_weight`."""

    makes_weights = False
    fixed_width = False  # True if the last input axis must keep the length it had at building
    # Layers of the `tf` namespace take and return tensors, and create `tf.Variable`s.
    tensors = False
    variable = Variable

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "build" in vars(cls) and "makes_weights" not in vars(cls):
            cls.makes_weights = True

    def __init__(
        self,
        name: str | None = None,
        trainable: bool = True,
        dtype: Any = None,
        input_shape: tuple[Any, ...] | None = None,
    ) -> None:
        self.name = name or type(self).__name__.lower()
        self.trainable = trainable
        self.input_shape = input_shape  # shape of one sample, if given to the constructor
        self.dtype = mixed_precision.policy(dtype).variable_dtype
        self.built = self.has_weights = False
        takes = inspect.signature(self.call).parameters
        self.takes_training = "training" in takes
        # its position among the arguments after `inputs`, and whether it is required
        self.training_place = list(takes).index("training") - 1 if self.takes_training else -1
        self.needs_training = self.takes_training and takes["training"].default is inspect._empty
        self.input_width: int | None = None
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
        """Create a weight, a Variable named `layer/name`."""
        make = initializers.get(initializer)
        values = make(tuple(shape), np.dtype(dtype or self.dtype))
        weight = self.variable(values, trainable=trainable, name=f"{self.name}/{name}")
        self.own_weights = (*self.own_weights, weight)
        return weight

    def build(self, input_shape: tuple[int, ...]) -> None:
        """Create the weights of the layer."""

    @built_now
    def complete(self, input_shape: tuple[Any, ...]) -> None:
        """Build the layer for an input shape, if it is not built yet."""
        if not self.built:
            if self.makes_weights:
                self.build(tuple(input_shape))
            self.built, self.has_weights = True, len(self.own_weights) > 0
            if self.fixed_width:
                self.input_width = input_shape[-1]

    def sublayers(self) -> Iterator[Layer]:
        """The layers in attributes, directly or in lists, tuples and dicts."""
        yield from _parts(list(vars(self).values()), Layer)

    def _all_weights(self) -> list[Variable]:
        found = [*self.own_weights, *_parts(list(vars(self).values()), Variable)]
        for layer in self.sublayers():
            found += layer._all_weights()
        return list({id(w): w for w in found}.values())

    @property
    @decided
    def weights(self) -> list[Variable]:
        """All weights: the layer's own, then those of its sublayers, in order of creation."""
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
            must_be_built(self)
            raise ValueError(f"{self.name} has {len(weights)} weights, {len(values)} were given")
        for weight, value in zip(weights, values):
            weight.assign(value)

    def count_params(self) -> int:
        """The total number of elements of all weights."""
        return sum(int(np.prod(w.shape)) for w in self._all_weights())

    # ---- calling

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no call(self, inputs)")

    def __call__(self, inputs: Any, *args: Any, training: Any = None, **kwargs: Any) -> Any:
        if is_symbol(inputs) or is_symbol(args):
            if training is not None:
                kwargs["training"] = training
            return promised(self, (inputs, *args), kwargs)
        before = MODE.training
        try:
            return called(self, inputs, *args, training=training, **kwargs)
        finally:
            MODE.training = before


def called(layer: Any, inputs: Any, *args: Any, training: Any = None, **kwargs: Any) -> Any:
    """The outputs of a layer.  The layer is built on first use, and its inputs are cast to its
    dtype.  `training` is passed on if `call` has such a parameter; by default its value is that of
    the enclosing layer."""
    if layer.tensors:
        inputs, args, kwargs = snapshot(inputs), snapshot(args), snapshot(kwargs)
    if not layer.built:
        layer.complete(shapes(inputs))
    if layer.has_weights:
        must_have_width(layer.name, layer.input_width, inputs)
        inputs = in_dtype(inputs, layer.dtype)
    told = layer.takes_training and len(args) > layer.training_place
    if told:
        training = args[layer.training_place]
    before = MODE.training
    if training is None:
        training = before
    MODE.training = training
    if layer.takes_training and not told and (training is not None or layer.needs_training):
        outputs = layer.call(inputs, *args, training=training, **kwargs)
    else:
        outputs = layer.call(inputs, *args, **kwargs)
    MODE.training = before
    return frozen(outputs) if layer.tensors else outputs


# Compiled code calls `called` instead: it needs no try/finally, because no exception leaves the
# middle of a compiled step.
Layer.__call__._s2s_instead = called  # type: ignore[attr-defined]


def shapes(inputs: Any) -> Any:
    """The shape of an array, or the shapes of the arrays in a list or tuple."""
    if isinstance(inputs, (list, tuple)):
        return [x.shape for x in inputs]
    return inputs.shape


def in_dtype(inputs: Any, dtype: str) -> Any:
    """The inputs with floating arrays cast to the dtype of a layer's weights."""
    if isinstance(inputs, (list, tuple)):
        return [in_dtype(x, dtype) for x in inputs]
    return inputs.astype(dtype) if inputs.dtype.kind == "f" and inputs.dtype != dtype else inputs


@looks_only
def must_have_width(name: str, width: int | None, inputs: Any) -> None:
    if width is not None and np.shape(inputs)[-1:] != (width,):
        raise ValueError(
            f"{name} was built for inputs of {width} features, and is given an array of shape "
            f"{np.shape(inputs)}; if the layers before it have changed, make it anew"
        )


def must_be_built(layer: Layer) -> None:
    """Raise ValueError if a model or layer has weights that are not created yet."""
    if not layer.built and layer.makes_weights:
        raise ValueError(
            f"{layer.name} is not built: its weights are made when the shape of its inputs is "
            "known; call the model on a batch first, or give input_shape="
        )
    for part in layer.sublayers():
        must_be_built(part)


def _parts(value: Any, kind: type) -> Iterator[Any]:
    """All instances of `kind` in a value: itself, or the elements of lists, tuples and dicts."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _parts(item, kind)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _parts(item, kind)
