"""`GradientTape`, in compiled functions and in plain Python.

In a compiled function the tape is removed: the function contains the adjoint code of the block.  In
plain Python the block runs unchanged, once; its inputs are saved as they were when the block was
entered (`snapshot.py`).  When a gradient is requested, the block is located in the source
(`block_function.py`), compiled as a function of its inputs, and run on the saved inputs
(`query.py`).
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import S2SValueError
from ..objects import unconnected as unconnected_names
from ..objects import variable_versions
from ..objects.variable import Variable
from . import block_function, query
from .snapshot import InputSnapshot


class GradientTape:
    """Marks the block of code that is differentiated:

        with s2s.GradientTape() as tape:
            loss = np.mean((x @ w - y) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))

    Trainable Variables are watched automatically, other arrays and scalars by `watch`.  No
    operation is recorded.  `persistent` is accepted and has no effect: a tape can always be used
    repeatedly.
    """

    _s2s_tape = True

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self.persistent = persistent
        self.watch_accessed_variables = watch_accessed_variables
        self._block: block_function.Block | None = None
        self._world: InputSnapshot | None = None
        self._frame: types.FrameType | None = None  # the frame of the block, while it runs
        self._outcome: block_function.Outcome | None = None
        self._watched: dict[int, Variable] = {}
        self._paused = False
        self._last: query.QueryEvaluation | None = None

    # ---- the block

    def __enter__(self) -> GradientTape:
        frame = sys._getframe(1)
        self._block = block_function.find(frame)
        self._world = self._block.take_snapshot(frame)
        self._frame, self._last = frame, None
        self._watched.clear()
        variable_versions.follow(self)
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._block is not None and self._frame is not None
        self._outcome = self._block.outcome(self, self._frame)
        self._frame = None
        variable_versions.close(self)

    def watch(self, tensor: Any) -> None:
        """Watch an array, a scalar, a Variable that is not watched automatically, or a structure of
        them, from here on."""
        self._check_open("watch")
        for value in query.leaves(tensor):
            dtype = np.asarray(value).dtype
            if dtype.kind not in "fc":
                text = f"the tape watches floats, not {dtype}: the gradient is None"
                warnings.warn(text, stacklevel=2)
            elif isinstance(value, Variable):
                self._watched[id(value)] = value

    def reset(self) -> None:
        """Discard what the block has computed and watched so far."""
        self._check_open("reset")
        self._watched.clear()

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Context manager: values computed inside are constants to the tape."""
        self._check_open("stop_recording")
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def watched_variables(self) -> tuple[Variable, ...]:
        """The Variables that the block has read or watched, in order."""
        return tuple(self._watched.values())

    def accessed(self, variable: Variable) -> None:
        """Callback: a Variable is read while the block runs."""
        if self.watch_accessed_variables and variable.trainable and not self._paused:
            self._watched.setdefault(id(variable), variable)

    def before_change(self, array: Any) -> bool:
        """Callback: an array, which may belong to a Variable, is about to be written to.  Returns
        True if no further change can affect the tape."""
        return self._world is None or self._world.before_change(array)

    def _check_open(self, method: str) -> None:
        if self._frame is None:
            call = method if method == "watch" else f"{method}()"
            raise S2SValueError(f"tape.{call} outside its `with` block")

    # ---- queries

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = "none",
    ) -> Any:
        """The gradient of the sum of `target` with respect to each of `sources`, in their
        structure; None for a source on which `target` does not depend."""
        return self._ask("gradient", target, sources, unconnected_gradients, output_gradients)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = "none",
        parallel_iterations: Any = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of `target` with respect to each of `sources`; the axes of `target` come
        first."""
        return self._ask("jacobian", target, sources, unconnected_gradients)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = "none",
        parallel_iterations: Any = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The Jacobian of each row of `target` with respect to the same row of `source`."""
        return self._ask("batch_jacobian", target, source, unconnected_gradients)

    def _ask(
        self, method: str, target: Any, sources: Any, unconnected: Any, seeds: Any = None
    ) -> Any:
        if self._block is None or self._world is None:
            raise S2SValueError(f"tape.{method} before the tape's `with` block")
        made, line = self._outcome, None
        if self._frame is not None:  # queried inside its own block
            made, line = self._block.outcome(self, self._frame), self._frame.f_lineno
        assert made is not None
        asked = query.Query(method, target, sources, unconnected, seeds)
        self._last = query.QueryEvaluation(self._block, self._world, made, line, asked)
        found = self._last.value()
        unconnected_names.remember(sources, found)
        return found

    def explain(self) -> str:
        """The reason why the last result contains None."""
        if self._last is None:
            raise S2SValueError(
                "the tape has computed no gradient yet: call tape.gradient first"
            )
        return self._last.explain()
