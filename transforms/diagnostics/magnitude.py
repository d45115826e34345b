"""The largest magnitude among the intermediate values of a program in value form.

Rounding errors are relative to the intermediate values, not to the result: a loss of 1e-5 that is
the difference of logits around 10 carries an error of 1e-6 in float32.  A comparison of two runs
of one program scales its tolerance by this magnitude."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.nodes import Assign, Module, Print, is_float
from .interpreter import Run


def largest_intermediate(module: Module, args: Sequence[Any]) -> float:
    """The largest finite |value| that the program computes from `args`, without adjoints and
    tangents."""
    run = _Largest(module.functions, [0.0])
    run.enter(module.main, args)
    return run.largest[0]


class _Largest(Run):
    def __init__(self, functions: Any, largest: list[float]) -> None:
        super().__init__(functions)
        self.largest = largest  # one element, shared with callees

    def callee(self) -> Run:
        return _Largest(self.functions, self.largest)

    def bind(self, var: Any, value: Any) -> None:
        try:
            super().bind(var, value)
        except AssertionError:  # only the magnitude matters here, not the IR type
            self.values[var.name] = value

    def statement(self, stmt: Any) -> None:
        if not isinstance(stmt, Print):  # the block has already printed when it ran
            super().statement(stmt)

    def assign(self, stmt: Assign) -> None:
        super().assign(stmt)
        origin = stmt.origin
        derivative = origin is not None and (origin.sweep or origin.tangent)
        if derivative or not is_float(stmt.target.type):
            return
        value = np.abs(np.asarray(self.values[stmt.target.name]))
        finite = value[np.isfinite(value)]
        self.largest[0] = max(self.largest[0], float(np.max(finite, initial=0.0)))
