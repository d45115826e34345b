"""The Variables for which the last `gradient` of a tape in plain Python was None, for messages."""

from __future__ import annotations

from typing import Any

from .variable import Variable

_names: list[str] = []


def remember(sources: Any, gradients: Any) -> None:
    """Record the names of the Variables in `sources` whose gradient is None."""
    _names[:] = _missing(sources, gradients)


def _missing(sources: Any, gradients: Any) -> list[str]:
    if isinstance(sources, dict):
        keys = sources if isinstance(gradients, dict) else ()
        return [n for k in keys for n in _missing(sources[k], gradients[k])]
    if isinstance(sources, (list, tuple)):
        parts = gradients if isinstance(gradients, (list, tuple)) else ()
        return [n for s, g in zip(sources, parts) for n in _missing(s, g)]
    return [sources.name] if gradients is None and isinstance(sources, Variable) else []


def missing_text(names: list[str] | None = None) -> str:
    """The end of a message on missing gradients.  `names` are the Variables that a compiled step
    reports; None: those recorded last."""
    names = _names if names is None else names
    return f": the target does not depend on {', '.join(names[:4])}" if names else ""
