"""`out=`: buffers of the caller that receive the gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import S2STypeError, S2SValueError
from ..runtime.overlap import overlap, overlaps_itself
from ..transforms.frontend.pytree import Out, OutTree, Tree, child_step, follow, path_text
from .specialization import Specialization

Buffers = dict[int, "np.ndarray[Any, Any]"]


def match(
    entry: Specialization, outs: Any, params: tuple[Any, ...], names: tuple[str, ...]
) -> Buffers:
    """The checked buffers, by result index of the kernel.  `outs` has one array or tree per
    `wrt`."""
    if not isinstance(outs, (tuple, list)) or len(outs) != len(names):
        raise S2STypeError(f"out must be a tuple of {len(names)}: one buffer per wrt")
    given: Buffers = {}
    for name, tree, value in zip(names, entry.compiled.grads, outs):
        _match(entry, tree, value, f"out for {name}", given)
    sizes = {result: params[param].shape for result, param in entry.compiled.out_like.items()}
    for result, buffer in given.items():
        wanted = sizes.get(result, buffer.shape)
        if wanted != buffer.shape:
            raise S2SValueError(f"out has shape {buffer.shape}, but the gradient has {wanted}")
    _reject_overlap(entry, list(given.values()), params)
    return given


def _match(entry: Specialization, tree: OutTree, value: Any, where: str, given: Buffers) -> None:
    if isinstance(tree, Tree):
        for key, child in zip(tree.keys, tree.children):
            try:
                inner = follow(value, (child_step(tree.kind, key),))
            except (LookupError, AttributeError, TypeError):
                raise S2STypeError(f"{where} has no {key!r}") from None
            _match(entry, child, inner, f"{where}[{key!r}]", given)
    elif isinstance(tree, Out):
        if not isinstance(value, np.ndarray):
            raise S2STypeError(
                f"{where} is a {type(value).__name__}, not an array",
                advice="the gradient of a number goes into a 0-d array: np.zeros(())",
            )
        if type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):
            raise S2STypeError(f"{where} is a masked array", advice="pass its data: out.data")
        type_ = entry.compiled.result_types[tree.index]
        if value.dtype != np.dtype(type_.dtype):
            raise S2STypeError(f"{where} is of {value.dtype}, but the gradient of {type_.dtype}")
        if value.ndim != type_.ndim:
            raise S2SValueError(f"{where} has {value.ndim} axes, but the gradient {type_.ndim}")
        if not value.flags.writeable:
            raise S2SValueError(f"{where} is read-only")
        if overlaps_itself(value):
            raise S2SValueError(f"elements of {where} overlap in memory")
        given[tree.index] = value


def _reject_overlap(
    entry: Specialization, buffers: list[np.ndarray[Any, Any]], params: tuple[Any, ...]
) -> None:
    for i, buffer in enumerate(buffers):
        if any(overlap(buffer, other) for other in buffers[:i]):
            raise S2SValueError("two buffers of out overlap in memory")
        for param, value in zip(entry.compiled.params, params):
            if isinstance(value, np.ndarray) and overlap(buffer, value):
                raise S2SValueError(f"out overlaps the argument {path_text(param.path)} in memory")
