"""What users say about Jacobians and `vmap`: modes and axes, in a form that can be kept."""

from __future__ import annotations

from typing import Any

from ..ir.record import record

MODES = ("forward", "reverse")


@record(frozen=True)
class AxesByName:
    """Axes for the entries of a dict, or for parameters by their names."""

    items: tuple[tuple[Any, Any], ...]

    @property
    def by_name(self) -> dict[Any, Any]:
        return dict(self.items)


def frozen_axes(axes: Any) -> Any:
    """Axes as they can be compared and kept: lists as tuples, dicts by name."""
    if isinstance(axes, (tuple, list)):
        return tuple(frozen_axes(a) for a in axes)
    if isinstance(axes, dict):
        return AxesByName(tuple((k, frozen_axes(a)) for k, a in axes.items()))
    return axes
