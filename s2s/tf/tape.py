"""`tf.GradientTape`: the tape of s2s, with tensors as results."""

from __future__ import annotations

from typing import Any

from ..objects.tensor import frozen
from ..tape import gradient_tape


class GradientTape(gradient_tape.GradientTape):
    """An `s2s.GradientTape` that returns tensors."""

    _s2s_tensors = True

    def _ask(self, *args: Any, **kwargs: Any) -> Any:
        return frozen(super()._ask(*args, **kwargs))
