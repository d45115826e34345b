"""The devices of the process, by target."""

from __future__ import annotations

import threading
from typing import Any

from ..errors import S2SValueError

TARGETS = ("cpu", "cuda", "cuda-emulated")

_devices: dict[str, Any] = {}
_lock = threading.Lock()


def device(target: str) -> Any:
    """The device of a target, made at first use."""
    found = _devices.get(target)
    if found is None:
        with _lock:
            found = _devices.get(target) or _make(target)
            _devices[target] = found
    return found


def _make(target: str) -> Any:
    if target == "cuda-emulated":
        from .emulated_device import EmulatedDevice

        return EmulatedDevice()
    if target == "cuda":
        from .cuda_device import CudaDevice

        return CudaDevice()
    raise S2SValueError(f"{target!r} is not a device", advice=f"choose from {TARGETS[1:]}")
