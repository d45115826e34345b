"""Emitted code as a text that IPython and Jupyter show highlighted."""

from __future__ import annotations

from typing import Any


class Code(str):
    """Emitted code."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from .notebook import highlighted

        return highlighted(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The text itself, not a literal of it."""
        from .notebook import coloured

        printer.text(coloured(self))
