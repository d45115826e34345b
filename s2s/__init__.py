"""s2s: the gradient of a Python/NumPy function, as source you can read and compiled code.

`@s2s.grad` above a function makes it its gradient; `value_and_grad` gives both, and
`s2s.function` compiles without differentiating.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .api import function, grad, value_and_grad
from .custom import adjoint, checkpoint, custom_gradient, defrule, implicit
from .debug import debug_nans
from .derivatives import hvp, jvp, stop_gradient, vjp
from .errors import (
    InternalCompilerError,
    RecompilationWarning,
    S2SError,
    SourceError,
    UnsupportedError,
)
from .flat import flatten
from .tape import GradientTape
from .variable import Variable
from .many import hessian, jacobian, vmap

if TYPE_CHECKING:
    from .testing import check_grads

__all__ = [
    "GradientTape",
    "InternalCompilerError",
    "RecompilationWarning",
    "S2SError",
    "SourceError",
    "UnsupportedError",
    "Variable",
    "__version__",
    "adjoint",
    "check_grads",
    "checkpoint",
    "custom_gradient",
    "debug_nans",
    "defrule",
    "flatten",
    "function",
    "grad",
    "hessian",
    "hvp",
    "implicit",
    "jacobian",
    "jvp",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> Any:
    if name == "check_grads":
        from .testing import check_grads

        return check_grads
    raise AttributeError(f"module 's2s' has no attribute {name!r}")
