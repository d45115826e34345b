"""`GradientTape`: syntax, in compiled functions and in plain Python.

In a compiled function the tape is gone: the function holds the adjoint code of the block.  In
plain Python the block runs as it stands, once; when a gradient is asked for, the block is found in
the source, compiled as a function of what it reads (`tape_block.py`), and run on the values it saw.
"""

from __future__ import annotations

import sys
from typing import Any

from . import tape_block, variable_history
from .errors import ValueError_


class GradientTape:
    """Marks what is to be differentiated:

        with s2s.GradientTape() as tape:
            loss = np.mean((x @ w - y) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))

    Trainable Variables are watched by themselves, other arrays and numbers by `watch`.  Nothing is
    recorded.  `persistent` is accepted and costs nothing: a tape can always be asked again.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self.persistent = persistent
        self.watch_accessed_variables = watch_accessed_variables
        self.kept: dict[int, Any] = {}
        self.block: tape_block.Block | None = None
        self.seen: dict[str, Any] = {}
        # what the block bound, and the name of this tape there
        self.made: dict[str, Any] | None = None
        self.name = ""

    def __enter__(self) -> GradientTape:
        frame = sys._getframe(1)
        self.block = tape_block.find(frame)
        self.seen = self.block.snapshot(frame)
        self.kept, self.made = {}, None
        variable_history.follow(self)
        return self

    def __exit__(self, *error: Any) -> None:
        assert self.block is not None
        self.made, self.name = self.block.outcome(self, sys._getframe(1))

    def watch(self, tensor: Any) -> None:
        """Nothing to do while the block runs: its source says what is watched."""
        if self.block is None:
            raise ValueError_("tape.watch outside of the tape's `with` block")

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = "none",
    ) -> Any:
        """The gradient of the sum of `target` with respect to each of `sources`, in their
        structure; None for a source on which it does not depend."""
        if self.block is None:
            raise ValueError_("tape.gradient before the tape's `with` block")
        if self.made is None:  # asked inside its own block
            self.made, self.name = self.block.outcome(self, sys._getframe(1))
            found = self._asked(target, sources, output_gradients, unconnected_gradients)
            self.made = None
            return found
        return self._asked(target, sources, output_gradients, unconnected_gradients)

    def _asked(self, *what: Any) -> Any:
        return tape_block.gradient(self, *what)
