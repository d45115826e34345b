"""Arguments of functions that run on a device: arrays of other libraries are taken as they are."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..call import debug_flag
from ..errors import S2SValueError, UnsupportedError
from ..objects import placement


def prepared(bound: tuple[Any, ...], target: str) -> tuple[Any, ...]:
    """Bound arguments in which arrays of other libraries are replaced by arrays of the device."""
    if debug_flag.active:
        raise S2SValueError(
            f"debug_nans does not check functions with target={target!r}",
            advice='compile the function with target="cpu" to find the line of a NaN',
        )
    return tuple([_prepared(value, target) for value in bound])


def _prepared(value: Any, target: str) -> Any:
    if isinstance(value, (np.ndarray, np.generic, float, int, complex, str, bytes)):
        return value
    if _is_foreign(value):
        from ..cuda import devices

        return devices.device(target).adopt(value)
    cls = type(value)
    if cls in (list, tuple):
        changed = [_prepared(v, target) for v in value]
        same = all(a is b for a, b in zip(changed, value))
        return value if same else cls(changed)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        changed = [_prepared(v, target) for v in value]
        same = all(a is b for a, b in zip(changed, value))
        return value if same else cls(*changed)
    if isinstance(value, dict) and cls is dict:
        found = {k: _prepared(v, target) for k, v in value.items()}
        return value if all(found[k] is value[k] for k in value) else found
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        changes = {k: new for k, v in found.items() if (new := _prepared(v, target)) is not v}
        return dataclasses.replace(value, **changes) if changes else value
    return value


def _is_foreign(value: Any) -> bool:
    """True for an array of another library in the memory of a GPU."""
    cls = type(value)
    if hasattr(cls, "_s2s_device") or cls.__module__.startswith("s2s."):
        return False
    if hasattr(value, "__cuda_array_interface__"):
        return True
    if not hasattr(cls, "__dlpack_device__"):
        return False
    kind, _ = value.__dlpack_device__()
    return kind in (2, 13)  # memory of CUDA, and memory that the host shares with it


def _to_device(array: Any, target: str) -> Any:
    from ..cuda import devices

    return devices.to_device(array, target)


placement.to_device = _to_device


def refuse_out(target: str) -> None:
    if target != "cpu":
        raise S2SValueError(
            f"out= is not supported with target={target!r}",
            advice="leave it out: results stay on the device until .numpy()",
        )


def refuse_in_njit(name: str, target: str) -> None:
    if target != "cpu":
        raise UnsupportedError(
            f"{name} has target={target!r}, and compiled functions of Numba run on the CPU",
            advice="call it from Python",
        )
