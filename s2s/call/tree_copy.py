"""Copies of containers (pytrees) with changed leaves: all leaves, or one element of one leaf."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..transforms.frontend.pytree import (
    Fixed,
    Path,
    Spec,
    TreeSpec,
    child_step,
    describe,
    follow,
    spec_leaves,
)


def has_floats(value: Any) -> bool:
    try:
        leaves = list(spec_leaves(describe(value), ()))
    except TypeError:
        return False
    return any(is_inexact(spec) for _, spec in leaves)


def is_inexact(spec: Spec) -> bool:
    """True if a leaf has a float or complex dtype, which have derivatives."""
    return getattr(spec, "dtype", "").startswith(("float", "complex"))


def map_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of a container with `change` applied to its leaves; opaque objects are not copied."""
    if isinstance(value, (np.ndarray, np.generic, complex)):
        return change(value)
    spec = describe(value)
    if isinstance(spec, Fixed):
        return value
    if not isinstance(spec, TreeSpec):
        return change(value)
    out = value
    for key in spec.keys:
        step = child_step(spec.kind, key)
        out = _with_child(out, spec.kind, key, map_leaves(follow(value, (step,)), change))
    return copy.copy(out) if out is value else out


def _with_child(value: Any, kind: str, key: Any, child: Any) -> Any:
    if kind == "tuple":
        return (*value[:key], child, *value[key + 1 :])
    if kind == "namedtuple":
        return value._replace(**{key: child})
    out = copy.copy(value)
    if kind == "dataclass":
        object.__setattr__(out, key, child)
    else:
        out[key] = child
    return out


def copy_leaves(value: Any) -> Any:
    """A copy that shares no mutable leaf with the original.  Arrays are copied, and random
    generators are duplicated with their state, so both draw the same numbers."""

    def change(leaf: Any) -> Any:
        if isinstance(leaf, np.random.Generator):
            return copy.deepcopy(leaf)
        return leaf.copy() if isinstance(leaf, np.ndarray) else leaf

    return map_leaves(value, change)


def shape_only(specs: Mapping[str, Spec], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Shape-only arguments: arrays become stride-0 arrays of the same shape, which take no memory;
    opaque objects are kept."""

    def change(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray) and not hasattr(type(leaf), "_s2s_device"):
            return leaf
        return np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape)

    return tuple(
        value if isinstance(spec, Fixed) else map_leaves(value, change)
        for spec, value in zip(specs.values(), args)
    )


def in_float64(value: Any) -> Any:
    def change(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc":
            return leaf.astype(np.result_type(leaf, np.float64))
        if isinstance(leaf, np.complexfloating):
            return complex(leaf)
        return float(leaf) if isinstance(leaf, np.floating) else leaf

    return map_leaves(value, change)


def perturb_element(value: Any, steps: Path, index: tuple[int, ...], by: Any) -> Any:
    """A copy of a container with `by` added to one element of the leaf at `steps`."""
    if steps:
        spec = describe(value)
        assert isinstance(spec, TreeSpec)
        kind, key = spec.kind, steps[0][1]
        return _with_child(
            value, kind, key, perturb_element(follow(value, steps[:1]), steps[1:], index, by)
        )
    if not isinstance(value, np.ndarray):
        return value + by
    out = value.astype(np.complex128) if isinstance(by, complex) else value.copy()
    out[index] += by
    return out


def floats_of(value: Any) -> list[Any]:
    """The float and complex leaves in order."""
    return [
        follow(value, path) for path, spec in spec_leaves(describe(value), ()) if is_inexact(spec)
    ]


def step_along(value: Any, direction: Any, by: float) -> Any:
    """A copy of a container with `by` times the leaves of `direction` added to its leaves."""
    along = iter(floats_of(direction))

    def move(leaf: Any) -> Any:
        moved = leaf + by * next(along)
        return np.asarray(moved, leaf.dtype) if isinstance(leaf, np.ndarray) else moved

    return map_leaves(value, move)
