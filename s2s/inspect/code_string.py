"""Emitted code as a string that IPython and Jupyter display with syntax highlighting."""

from __future__ import annotations

from typing import Any


class Code(str):
    """Emitted code: a string with rich display methods."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from .notebook import highlighted

        return highlighted(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the code itself, not a string literal."""
        from .notebook import coloured

        printer.text(coloured(self))
