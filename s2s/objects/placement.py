"""Where Variables live: on the host, or in the memory of a device.

`s2s.cuda` depends on this package, not the reverse; `to_device` is set where both are known
(`s2s/api/device_calls.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

to_device: Callable[[Any, str], Any] | None = None


def on_device(array: Any, device: str) -> Any:
    """A copy of an array in the memory of a device."""
    assert to_device is not None
    return to_device(array, device)


def is_on_device(array: Any) -> bool:
    return hasattr(type(array), "_s2s_device")
