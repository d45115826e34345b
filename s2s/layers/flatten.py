"""`Flatten`: all axes but the first as one."""

from __future__ import annotations

from typing import Any

from .base import Layer


class Flatten(Layer):
    def call(self, inputs: Any) -> Any:
        return inputs.reshape(inputs.shape[0], -1)
