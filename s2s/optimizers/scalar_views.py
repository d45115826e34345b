"""Scalars that are read from an optimizer: `float` and `int` subclasses with methods of
TensorFlow's Variables.  In compiled code they are plain scalars."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..objects.compiler_hints import compiled_as


class Rate(float):
    """A learning rate; `assign` sets it."""

    owner: Any

    def numpy(self) -> Any:
        return np.float32(self)

    def assign(self, rate: Any) -> None:
        self.owner.learning_rate = rate


class Count(int):
    """A number of steps."""

    def numpy(self) -> Any:
        return np.int64(self)


def _number(value: Any, owner: Any = None) -> Any:
    return value


@compiled_as(_number)
def rate(value: float, owner: Any) -> Rate:
    made = Rate(value)
    made.owner = owner
    return made


@compiled_as(_number)
def count(value: int) -> Count:
    return Count(value)
