"""Arguments that must be integers: sizes, axes, counts and offsets.

NumPy passes them to `operator.index`, which takes Python's and NumPy's integers and raises a
TypeError for floats, also for those with an integral value.  The rules rely on integers, so that
arguments are checked here before a rule sees them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.builder import Sym
from ..ir.errors import TypeError_, UnsupportedError
from ..ir.nodes import Array, Scalar
from .axes_and_sizes import known

# The names under which functions take integers; None stands for a default of the first.
_OPTIONAL = frozenset("axis axes axis1 axis2 source destination shape s".split())
_NAMES = _OPTIONAL | frozenset(
    "new_shape dims dimensions window_shape n N M k num repeats reps offset decimals ndigits kth"
    " minlength count ndmin ind indices multi_index index".split()
)
_MORE = {"math.factorial": "x", "math.ldexp": "x2", "numpy.ldexp": "x2", "numpy.choose": "a"}
# Where floats are taken, too, as parts of arithmetic or to be truncated.
_TRIANGLES = [f"numpy.{name}" for name in ("tri", "tril", "triu", "rot90")]
_TRIANGLES += [f"numpy.{name}_indices{of}" for name in ("tril", "triu") for of in ("", "_from")]
_WINDOWS = [f"numpy.{name}" for name in ("bartlett", "blackman", "hamming", "hanning", "kaiser")]
_FLOATS = {
    **dict.fromkeys([*_TRIANGLES, *_WINDOWS, "numpy.diag_indices"], "NMnk"),
    **dict.fromkeys(("numpy.linalg.norm", "numpy.linalg.vector_norm"), ("axis",)),
    **dict.fromkeys(("numpy.repeat", "numpy.ndarray.repeat"), ("repeats",)),
    **dict.fromkeys(("numpy.take", "numpy.ndarray.take"), ("indices",)),
}
# Where NumPy negates or multiplies in the dtype of the argument.
_WRAPPING = {
    **dict.fromkeys(_TRIANGLES, "k"),
    **dict.fromkeys(("numpy.fft.fftfreq", "numpy.fft.rfftfreq"), "n"),
}
_MODULES = ("numpy.", "scipy.fft.", "math.", "builtins.round")


@functools.cache
def integer_parameters(path: str, function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters that must be integers, by name; `function` is what stands for the function
    at `path`.  In `numpy.random` such names are those of parameters of distributions."""
    if not path.startswith(_MODULES) or path.startswith("numpy.random."):
        return {}
    names = _NAMES | {_MORE.get(path)}
    parameters = inspect.signature(function).parameters
    return {name: p for name, p in parameters.items() if name in names}


def with_integers(
    path: str, surface: Callable[..., Any], args: list[Any], keywords: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a surface, with those that must be integers checked and converted."""
    wanted = integer_parameters(path, surface)
    if not wanted:
        return args, keywords
    args, keywords = list(args), dict(keywords)
    for at, parameter in enumerate(list(inspect.signature(surface).parameters.values())[1:]):
        if parameter.name not in wanted:
            continue
        if parameter.name in keywords:
            value = keywords[parameter.name]
            keywords[parameter.name] = as_integers(path, parameter, value)
        end = len(args) if parameter.kind is parameter.VAR_POSITIONAL else at + 1
        args[at:end] = [as_integers(path, parameter, value) for value in args[at:end]]
    return args, keywords


def as_integers(path: str, parameter: inspect.Parameter, value: Any) -> Any:
    """An argument of integers, or tuples and lists of them, as 64-bit integers."""
    if value is None and (parameter.default is None or parameter.name in _OPTIONAL):
        return None
    if isinstance(value, (tuple, list)):
        return type(value)([as_integers(path, parameter, v) for v in value])
    number = known(value)
    type_ = number.type if isinstance(number, Sym) else None
    dtype = type_.dtype if isinstance(type_, (Scalar, Array)) else _dtype(number)
    kind = "O" if dtype is None else np.dtype(dtype).kind
    if kind == "f" and parameter.name in _FLOATS.get(path, ()) and not isinstance(type_, Array):
        return int(number) if parameter.name == "axis" and not isinstance(number, Sym) else value
    if kind == "u" and _WRAPPING.get(path) == parameter.name:
        what = f"an unsigned integer for {parameter.name}= of {path}, where it may wrap around"
        raise UnsupportedError(what, advice="convert it: int(...)")
    if kind in "fc" and path.endswith("fftfreq"):
        raise ValueError("n should be an integer")
    if dtype is None:
        raise TypeError_(f"{path}: an integer is required, not {type(number).__name__}")
    if kind not in "iub":
        raise TypeError(
            f"{dtype.rstrip('0123456789')!r} object cannot be interpreted as an integer"
        )
    if isinstance(type_, Array):
        return value
    if kind == "b" and path.startswith(("numpy.", "scipy.")):
        raise UnsupportedError(f"a bool for {parameter.name}= of {path}", advice="give an integer")
    if isinstance(number, Sym):
        return number if dtype in ("int64", "bool") else number.astype("int64")
    return number if kind == "b" else int(number)


def _dtype(number: Any) -> str | None:
    """The dtype of a number, None for anything else."""
    if isinstance(number, (bool, int, float, complex, np.generic)):
        return "int64" if type(number) is int else np.asarray(number).dtype.name
    return None
