"""The TensorFlow API on top of s2s: `import s2s.tf as tf`.

The functions are plain NumPy, which s2s compiles like user code.  Their results are tensors:
immutable arrays.  Start reading in `tensors.py`, which wraps the functions (`gives_tensors`), then
`math.py` and `arrays.py`.  `linalg.py`, `nn.py`, `random.py` and `data.py` are the submodules of
the same names in TensorFlow, `keras/` is `tf.keras`, `tape.py` and `variable.py` define
`tf.GradientTape` and `tf.Variable`.  `_inputs.py` and `_axes.py` convert arguments.

This is the top layer of the package: it may import every other folder, and none may import it.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import numpy as np

from ..api.custom_derivatives import checkpoint as recompute_grad
from ..api.custom_derivatives import custom_gradient
from ..api.directional import stop_gradient
from ..api.functions import Function, make, options_of
from ..api.jacobian_vmap import vmap
from ..objects.tensor import Immutable as Tensor
from ..objects.tensor import snapshot
from ..public_names import listing
from ..training.gradient_clipping import (
    clip_by_global_norm,
    clip_by_norm,
    clip_by_value,
    global_norm,
)
from . import arrays, data, keras, linalg, math, nn, random
from .arrays import *  # noqa: F403
from .data import Dataset
from .linalg import einsum, eye, matmul, norm, tensordot
from .math import (
    abs,
    acos,
    acosh,
    add,
    add_n,
    argmax,
    argmin,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    cos,
    cosh,
    cumsum,
    divide,
    equal,
    exp,
    expm1,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    pow,
    reciprocal,
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_std,
    reduce_sum,
    reduce_variance,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    softplus,
    sqrt,
    square,
    squared_difference,
    subtract,
    tan,
    tanh,
)  # fmt: skip
from .tape import GradientTape
from .tensors import gives_tensors
from .variable import Variable

float32, float64, int32, int64 = np.float32, np.float64, np.int32, np.int64
complex64, complex128, bool, newaxis = np.complex64, np.complex128, np.bool_, None
bool_ = bool

__all__ = [
    "Dataset", "GradientTape", "Tensor", "UnconnectedGradients", "Variable", "bool",
    "clip_by_global_norm", "clip_by_norm", "clip_by_value", "complex64", "complex128", "cond",
    "custom_gradient", "data", "einsum", "eye", "float32", "float64", "function", "global_norm",
    "int32", "int64", "keras", "linalg", "math", "matmul", "newaxis", "nn", "norm", "print",
    "random", "recompute_grad", "stop_gradient", "tensordot", "vectorized_map", "while_loop",
]  # fmt: skip
__all__ += arrays.__all__
__all__ += [  # of tf.math
    "abs", "acos", "acosh", "add", "add_n", "argmax", "argmin", "asin", "asinh", "atan",
    "atan2", "atanh", "ceil", "cos", "cosh", "cumsum", "divide", "equal", "exp", "expm1",
    "floor", "greater", "greater_equal", "less", "less_equal", "log", "log1p", "logical_and",
    "logical_not", "logical_or", "maximum", "minimum", "multiply", "negative", "not_equal",
    "pow", "reciprocal", "reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum", "reduce_variance",
    "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "softplus", "sqrt", "square",
    "squared_difference", "subtract", "tan", "tanh",
]  # fmt: skip
__dir__ = listing(__name__)

print = print


class UnconnectedGradients(enum.Enum):
    NONE = "none"
    ZERO = "zero"


class _StepFunction(Function):
    """A compiled function with value semantics for arrays, whose results are tensors."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return snapshot(super().__call__(*args, **kwargs))


def function(function: Any = None, /, *, source: str | None = None, **_: Any) -> Any:
    """Compile a function, as `s2s.function` does; options of TensorFlow are ignored."""
    options = options_of(0, False, (), True, None)
    return make(_StepFunction, function, dataclasses.replace(options, tensors=True), source)


clip_by_global_norm = gives_tensors(clip_by_global_norm)
clip_by_norm = gives_tensors(clip_by_norm)
clip_by_value = gives_tensors(clip_by_value)
global_norm = gives_tensors(global_norm)
stop_gradient = gives_tensors(stop_gradient)


@gives_tensors
def cond(pred: Any, true_fn: Any, false_fn: Any) -> Any:
    return true_fn() if pred else false_fn()


@gives_tensors
def while_loop(cond: Any, body: Any, loop_vars: Any) -> Any:
    """Update the loop variables by `body` while `cond` holds for them; return the last values."""
    values = tuple(loop_vars)
    while cond(*values):
        values = tuple(body(*values))
    return values


@gives_tensors
def vectorized_map(fn: Any, elems: Any) -> Any:
    return vmap(fn)(elems)


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"s2s.tf has no {name!r}: use NumPy's function, which takes tensors and Variables "
        "and has a derivative, too"
    )
