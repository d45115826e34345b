"""s2s: a source-to-source differentiating compiler for Python and NumPy.

The derivative of a function is readable source, and compiled code.  The decorator `@s2s.grad`
turns a function into its gradient; `s2s.value_and_grad` computes both; `s2s.function` compiles
without differentiating.

Start reading with `api/functions.py` (the objects that users call), then `dispatch/`, `call/` and
`backends/`.  `transforms/` is the compiler; docs/design/architecture.md describes both.  This file
imports what a gradient needs and loads all other public names on first access; it may import every
folder but `tf`, `cli` and `backends.native`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import errors, training
from ._version import __version__
from .api.custom_derivatives import adjoint, checkpoint, custom_gradient, defrule, implicit
from .api.directional import hvp, jvp, stop_gradient, vjp
from .api.functions import function, grad, value_and_grad
from .api.jacobian_vmap import hessian, jacobian, vmap
from .errors import (
    BuildError,
    CacheError,
    DeviceError,
    InternalCompilerError,
    NonFiniteError,
    RecompilationWarning,
    S2SError,
    S2SLinAlgError,
    S2STypeError,
    S2SValueError,
    SourceError,
    UnsupportedError,
    VersionError,
    WrongGradient,
)
from .inspect.debug_nans import debug_nans
from .objects.variable import Variable
from .public_names import lazy_names, listing
from .tape.gradient_tape import GradientTape
from .training.flatten_params import flatten

if TYPE_CHECKING:
    from . import (
        aot,
        data,
        layers,
        losses,
        metrics,
        mixed_precision,
        models,
        optimizers,
        saving,
        testing,
        tf,
    )
    from .cuda.device_array import DeviceArray
    from .cuda.devices import to_device
    from .layers import Layer
    from .models import Model, Sequential
    from .runtime.block_pool import release_memory
    from .saving import load_state, load_weights, save_state, save_weights
    from .testing import check_grads
    from .training.gradient_clipping import clip_by_global_norm, clip_by_norm, clip_by_value
    from .training.history import History

__all__ = [
    "BuildError",
    "CacheError",
    "DeviceArray",
    "DeviceError",
    "GradientTape",
    "History",
    "InternalCompilerError",
    "Layer",
    "Model",
    "NonFiniteError",
    "RecompilationWarning",
    "S2SError",
    "S2SLinAlgError",
    "S2STypeError",
    "S2SValueError",
    "Sequential",
    "SourceError",
    "UnsupportedError",
    "Variable",
    "VersionError",
    "WrongGradient",
    "__version__",
    "adjoint",
    "aot",
    "check_grads",
    "checkpoint",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value",
    "custom_gradient",
    "data",
    "debug_nans",
    "defrule",
    "errors",
    "flatten",
    "function",
    "grad",
    "hessian",
    "hvp",
    "implicit",
    "jacobian",
    "jvp",
    "layers",
    "load_state",
    "load_weights",
    "losses",
    "metrics",
    "mixed_precision",
    "models",
    "optimizers",
    "release_memory",
    "save_state",
    "save_weights",
    "saving",
    "stop_gradient",
    "testing",
    "tf",
    "to_device",
    "training",
    "value_and_grad",
    "vjp",
    "vmap",
]

# Imported on first access: gradients of functions do not need them.
__getattr__ = lazy_names(
    __name__,
    {
        "check_grads": ".testing",
        "clip_by_global_norm": ".training.gradient_clipping",
        "clip_by_norm": ".training.gradient_clipping",
        "clip_by_value": ".training.gradient_clipping",
        "History": ".training.history",
        "Model": ".models",
        "Sequential": ".models",
        "Layer": ".layers",
        "release_memory": ".runtime.block_pool",
        "DeviceArray": ".cuda.device_array",
        "to_device": ".cuda.devices",
        "save_weights": ".saving",
        "load_weights": ".saving",
        "save_state": ".saving",
        "load_state": ".saving",
    },
    (
        "aot", "data", "layers", "losses", "metrics", "mixed_precision", "models", "optimizers",
        "saving", "testing", "tf",
    ),
)  # fmt: skip
__dir__ = listing(__name__)
