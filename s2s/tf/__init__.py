"""TensorFlow's spellings over s2s: `import s2s.tf as tf`.

Plain functions over NumPy, which compiled functions read like any others."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ..api import Function, make, options_of
from ..clipping import clip_by_global_norm, clip_by_norm, clip_by_value, global_norm
from ..custom import custom_gradient
from ..data import Dataset
from ..derivatives import stop_gradient
from ..tape import GradientTape
from ..tensor import Tensor, tensor
from ..variable import Variable
from . import data, keras, nn, random

float32, float64, int32, int64, bool_ = np.float32, np.float64, np.int32, np.int64, np.bool_

__all__ = [
    "Dataset", "GradientTape", "Tensor", "UnconnectedGradients", "Variable", "abs", "add",
    "argmax", "cast", "clip_by_global_norm", "clip_by_norm", "clip_by_value", "constant",
    "custom_gradient", "data", "equal", "exp", "float32", "float64", "function", "global_norm",
    "int32", "int64",
    "keras", "linspace", "log", "matmul", "maximum", "minimum", "multiply", "nn", "norm", "ones",
    "ones_like", "random", "reduce_max", "reduce_mean", "reduce_sum", "reshape", "sin", "sqrt",
    "square", "stop_gradient", "subtract", "tanh", "transpose", "zeros", "zeros_like",
]  # fmt: skip


class UnconnectedGradients(enum.Enum):
    NONE = "none"
    ZERO = "zero"


class _StepFunction(Function):
    """A compiled function whose results have `.numpy()`."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return tensor(super().__call__(*args, **kwargs))


def function(function: Any = None, /, **_: Any) -> Any:
    """A compiled function, as `s2s.function`; options of TensorFlow's own are ignored."""
    return make(_StepFunction, function, options_of(0, False, (), True, None))


# ---------------------------------------------------------------- tensors


def constant(value: Any, dtype: Any = None) -> Any:
    """A tensor; Python floats become float32."""
    if dtype is None and not isinstance(value, (np.ndarray, np.generic)):
        found = np.asarray(value)
        dtype = {"float64": np.float32, "int64": np.int32}.get(found.dtype.name, found.dtype)
    return np.asarray(value, dtype).view(Tensor)


def cast(x: Any, dtype: Any) -> Any:
    return np.asarray(x).astype(dtype)


def zeros(shape: Any, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


def ones(shape: Any, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


def zeros_like(x: Any) -> Any:
    return np.zeros_like(x)


def ones_like(x: Any) -> Any:
    return np.ones_like(x)


def linspace(start: Any, stop: Any, num: int) -> Any:
    return np.linspace(start, stop, num)


def reshape(x: Any, shape: Any) -> Any:
    return np.reshape(x, shape)


def transpose(x: Any, perm: Any = None) -> Any:
    return np.transpose(x, perm)


# ---------------------------------------------------------------- arithmetic


def add(x: Any, y: Any) -> Any:
    return np.add(x, y)


def subtract(x: Any, y: Any) -> Any:
    return np.subtract(x, y)


def multiply(x: Any, y: Any) -> Any:
    return np.multiply(x, y)


def matmul(x: Any, y: Any) -> Any:
    return np.matmul(x, y)


def square(x: Any) -> Any:
    return np.square(x)


def sqrt(x: Any) -> Any:
    return np.sqrt(x)


def abs(x: Any) -> Any:
    return np.abs(x)


def exp(x: Any) -> Any:
    return np.exp(x)


def log(x: Any) -> Any:
    return np.log(x)


def sin(x: Any) -> Any:
    return np.sin(x)


def tanh(x: Any) -> Any:
    return np.tanh(x)


def maximum(x: Any, y: Any) -> Any:
    return np.maximum(x, y)


def minimum(x: Any, y: Any) -> Any:
    return np.minimum(x, y)


def equal(x: Any, y: Any) -> Any:
    return np.equal(x, y)


def argmax(x: Any, axis: Any = None) -> Any:
    return np.argmax(x, axis=axis)


# ---------------------------------------------------------------- reductions and norms


def reduce_mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.mean(x, axis=axis, keepdims=keepdims)


def reduce_sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sum(x, axis=axis, keepdims=keepdims)


def reduce_max(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.max(x, axis=axis, keepdims=keepdims)


def norm(x: Any) -> Any:
    return np.sqrt(np.sum(x * x))
