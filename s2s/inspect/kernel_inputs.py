"""The inputs of a kernel before the call that produced a NaN or inf."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..dispatch.specialization import Specialization
from ..transforms.frontend.pytree import Path


class KernelInputs:
    """The parameters of a kernel before the call: those that the kernel changes are copied."""

    def __init__(self, entry: Specialization, params: tuple[Any, ...], random: bool) -> None:
        self.paths = [p.path for p in entry.compiled.params]
        self.params = list(params)
        self.changing = set(entry.written)
        self.changing |= {i for i, p in enumerate(params) if isinstance(p, np.random.Generator)}
        for i in self.changing:
            self.params[i] = copy.deepcopy(params[i])
        self.state = np.random.get_state() if random else None

    def values(self) -> dict[Path, Any]:
        """The parameters for another run; the random state is restored."""
        if self.state is not None:
            np.random.set_state(self.state)
        fresh = [copy.deepcopy(p) if i in self.changing else p for i, p in enumerate(self.params)]
        return dict(zip(self.paths, fresh))
