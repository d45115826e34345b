"""`tf.GradientTape`: it gives tensors."""

from __future__ import annotations

from typing import Any

from .. import tape
from ..tensor import frozen


class GradientTape(tape.GradientTape):
    """An `s2s.GradientTape` that gives tensors."""

    _s2s_tensors = True

    def _ask(self, *args: Any, **kwargs: Any) -> Any:
        return frozen(super()._ask(*args, **kwargs))
