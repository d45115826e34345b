"""`tf.Variable`: a Variable whose operators return tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..objects.tensor import immutable
from ..objects.variable import Variable as Native


class Variable(Native):
    """An `s2s.Variable` whose elements, slices and results of operators are tensors.  Python ints
    become int32, as in TensorFlow."""

    _s2s_tensors = True
    _tensor = staticmethod(immutable)

    def __init__(
        self,
        initial_value: Any,
        trainable: bool = True,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str = "Variable",
        variable_def: Any = None,
        dtype: Any = None,
    ) -> None:
        if callable(initial_value):
            initial_value = initial_value()
        made = isinstance(initial_value, (np.ndarray, np.generic, Native))
        if dtype is None and not made and np.asarray(initial_value).dtype == np.int64:
            dtype = np.int32
        super().__init__(initial_value, trainable, name, dtype)

    def value(self) -> Any:  # type: ignore[override]
        """The current value as a tensor."""
        return immutable(self.numpy())

    read_value = value
