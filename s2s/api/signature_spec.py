"""Type specifications of `compile`: `"float64[:, :]"`, Numba types, or example values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..errors import S2STypeError

_SPEC = re.compile(r"^(?P<dtype>[a-z]+\d*)\s*(?:\[(?P<axes>[:,\s1]*)\])?$")
ALIASES = {"float": "float64", "int": "int64"}


def example(function: str, spec: Any) -> tuple[Any, bool]:
    """An example value of the type that `spec` denotes, and whether its sizes are placeholders."""
    if isinstance(spec, str):
        return _of_text(function, spec), True
    if type(spec).__module__.startswith("numba."):
        return of_numba(function, spec), True
    if type(spec) is tuple:
        parts = [example(function, s) for s in spec]
        return tuple(v for v, _ in parts), any(t for _, t in parts)
    return spec, False


def _of_text(function: str, text: str) -> Any:
    match = _SPEC.match(text.strip())
    try:
        dtype = np.dtype(ALIASES.get(match["dtype"], match["dtype"])) if match else None
    except TypeError:
        dtype = None
    if match is None or dtype is None:
        raise S2STypeError(
            f"{function}.compile: {text!r} is no type",
            advice='write types as "float64", "int64" or "float32[:, :]", or give an example',
        )
    if match["axes"] is None:
        return scalar(match["dtype"], dtype)
    return _array(dtype, match["axes"].count(",") + 1, "C")


def scalar(name: str, dtype: np.dtype[Any]) -> Any:
    """An example scalar: a Python float or int for float64 and int64, else a NumPy scalar."""
    if name in ("float64", "float"):
        return 1.0
    if name in ("int64", "int"):
        return 1
    return dtype.type(1)


def _array(dtype: Any, ndim: int, layout: str, writeable: bool = True) -> np.ndarray[Any, Any]:
    out = np.ones((3,) * ndim, dtype)
    if layout == "A" and ndim:
        out = np.ones((3,) * ndim + (2,), dtype)[..., 0]
    elif layout == "F":
        out = np.asfortranarray(out)
    out.flags.writeable = writeable
    return out


def of_numba(function: str, type_: Any) -> Any:
    """An example value of a Numba type."""
    from numba import types
    from numba.np.numpy_support import as_dtype

    if isinstance(type_, types.Array):
        return _array(as_dtype(type_.dtype), type_.ndim, type_.layout, type_.mutable)
    if isinstance(type_, types.Boolean):
        return True
    if isinstance(type_, (types.Integer, types.Float, types.Complex)):
        return scalar(str(type_), as_dtype(type_))
    if isinstance(type_, types.NumPyRandomGeneratorType):
        return np.random.default_rng(0)
    if isinstance(type_, types.BaseTuple):
        parts = [of_numba(function, t) for t in type_.types]  # type: ignore[attr-defined]
        if isinstance(type_, types.BaseNamedTuple):
            return type_.instance_class(*parts)  # type: ignore[attr-defined]
        return tuple(parts)
    raise S2STypeError(f"{function}: arguments of type {type_} are not supported inside @njit")
