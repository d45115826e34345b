"""Gradient clipping; names and formulas are those of TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..objects.compiler_hints import looks_only
from ..objects.unconnected import missing_text


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any) -> Any:
    """Clip each entry to the limits."""
    must_be_there("clip_by_value", t)
    return np.clip(t, clip_value_min, clip_value_max)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None) -> Any:
    """Scale an array down to a norm if its norm is larger; with `axes`, each slice along them
    separately."""
    must_be_there("clip_by_norm", t)
    if axes is None:
        return t * clip_norm / np.maximum(np.sqrt(np.sum(t * t)), clip_norm)
    norms = np.sqrt(np.sum(t * t, axis=tuple(axes), keepdims=True))
    return t * clip_norm / np.maximum(norms, clip_norm)


def clip_by_global_norm(t_list: Any, clip_norm: Any) -> Any:
    """Scale all arrays by one factor so that their global norm is at most `clip_norm`.  Returns the
    scaled arrays and the global norm before scaling.  None stays None."""
    must_be_several("clip_by_global_norm", t_list)
    total = 0.0
    for t in t_list:
        if t is not None:
            total = total + np.sum(t * t)
    length = np.sqrt(total)
    scale = clip_norm / np.maximum(length, clip_norm)
    return [None if t is None else t * scale for t in t_list], length


def global_norm(t_list: Any) -> Any:
    """The Euclidean norm of all arrays together."""
    return clip_by_global_norm(t_list, 1.0)[1]


@looks_only
def must_be_there(name: str, t: Any, unconnected: list[str] | None = None) -> None:
    """Raise ValueError if the gradient is None."""
    if t is None:
        raise ValueError(
            f"{name} was given None instead of a gradient{missing_text(unconnected)}; leave it "
            "out, or use clip_by_global_norm, which passes None on"
        )


@looks_only
def must_be_several(name: str, t_list: Any, unconnected: list[str] | None = None) -> None:
    """Raise unless the argument is a list or tuple with at least one gradient that is not None."""
    if not isinstance(t_list, (list, tuple)):
        raise TypeError(f"{name} takes a list of gradients, not a {type(t_list).__name__}")
    if all(t is None for t in t_list):
        raise ValueError(
            f"{name} was given no gradient that is not None{missing_text(unconnected)}"
        )
