"""The devices of the process, by target, and `to_device`."""

from __future__ import annotations

import os
import threading
from typing import Any

from ..call.backend_choice import DEVICE_TARGETS
from ..errors import S2SValueError
from ..runtime.block_pool import also_released
from .device_array import DeviceArray

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


@also_released.append
def _release() -> None:
    for found in list(_devices.values()):
        found.release()


def _make(target: str) -> Any:
    if target == "cuda-emulated":
        from .emulated_device import EmulatedDevice

        return EmulatedDevice()
    if target == "cuda":
        from .cuda_device import CudaDevice

        return CudaDevice()
    raise S2SValueError(f"{target!r} is not a device", advice=f"choose from {DEVICE_TARGETS}")


def to_device(x: Any, target: str | None = None) -> DeviceArray:
    """An array on a device: a copy of an array or number on the host, or an array of another
    library on the device as it is.

    target: "cuda" or "cuda-emulated"; by default `S2S_TARGET`, or "cuda".
    """
    return device(target or default_target()).adopt(x)


def default_target() -> str:
    name = os.environ.get("S2S_TARGET") or "cuda"
    return name if name != "cpu" else "cuda"
