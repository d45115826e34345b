"""`GradientTape`: syntax for compiled functions, which replace it by adjoint code."""

from __future__ import annotations

from typing import Any

from .errors import UnsupportedError


class GradientTape:
    """Marks what is to be differentiated:

        @s2s.function
        def step(x, y):
            with s2s.GradientTape() as tape:
                loss = np.mean((x @ w - y) ** 2)
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss

    Nothing is recorded: the compiled function holds the adjoint code of the block.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self.persistent = persistent
        self.watch_accessed_variables = watch_accessed_variables

    def __enter__(self) -> Any:
        raise UnsupportedError(
            "a tape outside of a compiled function is not supported yet",
            advice="decorate the function around it with @s2s.function",
        )

    def __exit__(self, *error: Any) -> None: ...
