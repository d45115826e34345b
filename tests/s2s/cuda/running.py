"""Runs emitted modules in emulation, without the compiler."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from s2s.cuda import devices
from s2s.cuda.host_module import HostModule
from s2s.cuda.shadow_memory import ShadowMemory
from s2s.errors import translate

BLOCKS = (2, 64, None)


def run(
    text: Any,
    *arguments: Any,
    entry: str | None = None,
    block: int | None = None,
    reversed: bool = False,
    checked: bool = False,
) -> list[Any]:
    """The results of a host function on the host; `checked`: with shadow memory."""
    device = devices.device("cuda-emulated")

    def users(error: Exception) -> Exception:
        compiled: Any = SimpleNamespace(failures=text.failures, files={})
        return translate(error, compiled)

    with device.settings(block, reversed, ShadowMemory() if checked else None):
        module = HostModule(text.lowered, text.cuda, block)
        given = tuple(device.from_host(a) if isinstance(a, np.ndarray) else a for a in arguments)
        call, results = module.run(entry or text.entry, device, given, users)
        call.report()
        return [r.numpy() for r in results]
