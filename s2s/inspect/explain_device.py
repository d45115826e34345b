"""The part of `f.explain()` about a device: launches, loops, synchronisations, copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..transforms.frontend.pytree import ArraySpec, Spec, follow, spec_leaves
from .explain_data import DeviceLoop, OnDevice

if TYPE_CHECKING:
    from ..dispatch.specializations import Specialiser


def on_device(specialiser: Specialiser, specs: dict[str, Spec], values: dict[str, Any]) -> OnDevice:
    """What a call does on the device, for arguments with these specs.  Numbers of launches are
    those of the places in the host function; a loop of the host repeats the launches in it."""
    program = specialiser.translate(specs, values).cuda
    assert program is not None
    stats = program.stats
    return OnDevice(
        specialiser.options.target,
        [DeviceLoop(v.line, v.kind, v.why) for v in program.verdicts],
        launches=stats.launches,
        grids=stats.grids,
        one_thread=stats.threads,
        products=stats.gemms,
        host_loops=stats.host_loops,
        synchronisations=stats.syncs,
        atomics=stats.atomics,
        copied_bytes=_copied(specs, values),
    )


def _copied(specs: Mapping[str, Spec], values: Mapping[str, Any]) -> int:
    """The bytes of arguments on the host, which each call copies to the device."""
    total = 0
    for name, spec in specs.items():
        for path, leaf in spec_leaves(spec, ()):
            if isinstance(leaf, ArraySpec) and not leaf.device:
                size = int(np.prod(np.shape(follow(values[name], path)), dtype=np.int64))
                total += size * np.dtype(leaf.dtype).itemsize
    return total
