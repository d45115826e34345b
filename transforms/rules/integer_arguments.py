"""Validation and conversion of integer arguments of surfaces: sizes, axes, counts, offsets.

NumPy passes them to `operator.index`.  It takes Python and NumPy integers, and raises a TypeError
for floats, including floats with an integral value.  Surfaces rely on integers, so arguments are
checked here before a surface is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.builder import Sym
from ..ir.errors import S2STypeError, UnsupportedError
from ..ir.nodes import Array, Scalar
from .axes_and_sizes import constant_value

# Names of integer parameters.  Those of the first set may be None even without such a default.
_OPTIONAL = frozenset("axis axes axis1 axis2 source destination shape s".split())
_INTEGER_NAMES = _OPTIONAL | frozenset(
    "new_shape dims dimensions window_shape n N M k num repeats reps offset decimals ndigits kth"
    " minlength count ndmin ind indices multi_index index".split()
)
# One further integer parameter of these functions.
_EXTRA_NAME = {"math.factorial": "x", "math.ldexp": "x2", "numpy.ldexp": "x2", "numpy.choose": "a"}
# Parameters that take floats, too: NumPy uses them in arithmetic or truncates them.
_TRIANGLES = [f"numpy.{name}" for name in ("tri", "tril", "triu", "rot90")]
_TRIANGLES += [f"numpy.{name}_indices{of}" for name in ("tril", "triu") for of in ("", "_from")]
_WINDOWS = [f"numpy.{name}" for name in ("bartlett", "blackman", "hamming", "hanning", "kaiser")]
_FLOAT_ALLOWED = {
    **dict.fromkeys([*_TRIANGLES, *_WINDOWS, "numpy.diag_indices"], "NMnk"),
    **dict.fromkeys(("numpy.linalg.norm", "numpy.linalg.vector_norm"), ("axis",)),
    **dict.fromkeys(("numpy.repeat", "numpy.ndarray.repeat"), ("repeats",)),
    **dict.fromkeys(("numpy.take", "numpy.ndarray.take"), ("indices",)),
}
# Parameters that NumPy negates or multiplies in their own dtype: an unsigned one may wrap around.
_MAY_WRAP = {
    **dict.fromkeys(_TRIANGLES, "k"),
    **dict.fromkeys(("numpy.fft.fftfreq", "numpy.fft.rfftfreq"), "n"),
}
_MODULES = ("numpy.", "scipy.fft.", "math.", "builtins.round")


@functools.cache
def integer_parameters(path: str, function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of the function at `path` that must be integers, by name.

    `function` is the surface or library program of `path`.  Paths in `numpy.random` have none:
    there the same names are parameters of distributions."""
    if not path.startswith(_MODULES) or path.startswith("numpy.random."):
        return {}
    names = _INTEGER_NAMES | {_EXTRA_NAME.get(path)}
    parameters = inspect.signature(function).parameters
    return {name: p for name, p in parameters.items() if name in names}


def convert_integer_arguments(
    path: str, surface: Callable[..., Any], args: list[Any], keywords: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a surface, with integer arguments checked and converted to int64."""
    parameters_by_name = integer_parameters(path, surface)
    if not parameters_by_name:
        return args, keywords
    args, keywords = list(args), dict(keywords)
    for at, parameter in enumerate(list(inspect.signature(surface).parameters.values())[1:]):
        if parameter.name not in parameters_by_name:
            continue
        if parameter.name in keywords:
            value = keywords[parameter.name]
            keywords[parameter.name] = as_integers(path, parameter, value)
        end = len(args) if parameter.kind is parameter.VAR_POSITIONAL else at + 1
        args[at:end] = [as_integers(path, parameter, value) for value in args[at:end]]
    return args, keywords


def as_integers(path: str, parameter: inspect.Parameter, value: Any) -> Any:
    """An integer argument, or a nested tuple or list of integers, converted to int64.

    Raises TypeError for values that are not integers, as `operator.index` does."""
    if value is None and (parameter.default is None or parameter.name in _OPTIONAL):
        return None
    if isinstance(value, (tuple, list)):
        return type(value)([as_integers(path, parameter, v) for v in value])
    scalar = constant_value(value)
    type_ = scalar.type if isinstance(scalar, Sym) else None
    dtype = type_.dtype if isinstance(type_, (Scalar, Array)) else _dtype(scalar)
    kind = "O" if dtype is None else np.dtype(dtype).kind
    if (
        kind == "f"
        and parameter.name in _FLOAT_ALLOWED.get(path, ())
        and not isinstance(type_, Array)
    ):
        return int(scalar) if parameter.name == "axis" and not isinstance(scalar, Sym) else value
    if kind == "u" and _MAY_WRAP.get(path) == parameter.name:
        what = f"an unsigned integer for {parameter.name}= of {path}, where it may wrap around"
        raise UnsupportedError(what, advice="convert it: int(...)")
    if kind in "fc" and path.endswith("fftfreq"):
        raise ValueError("n should be an integer")
    if dtype is None:
        raise S2STypeError(f"{path}: an integer is required, not {type(scalar).__name__}")
    if kind not in "iub":
        raise TypeError(
            f"{dtype.rstrip('0123456789')!r} object cannot be interpreted as an integer"
        )
    if isinstance(type_, Array):
        return value
    if kind == "b" and path.startswith(("numpy.", "scipy.")):
        raise UnsupportedError(f"a bool for {parameter.name}= of {path}", advice="give an integer")
    if isinstance(scalar, Sym):
        return scalar if dtype in ("int64", "bool") else scalar.astype("int64")
    return scalar if kind == "b" else int(scalar)


def _dtype(scalar: Any) -> str | None:
    """The dtype name of a scalar constant; None for anything else."""
    if isinstance(scalar, (bool, int, float, complex, np.generic)):
        return "int64" if type(scalar) is int else np.asarray(scalar).dtype.name
    return None
