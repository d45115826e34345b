"""Tables of the operations and functions that accept complex operands.  All others raise an
`UnsupportedError` that names the function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, TypeGuard

from .errors import UnsupportedError
from .nodes import is_complex

OPERATIONS = frozenset(
    """
    add subtract multiply divide negative positive power square reciprocal absolute
    exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh
    arctanh conjugate real imag equal not_equal isnan isinf isfinite where cast strong_mul
    logical_and logical_or logical_not logical_xor
    sum mean cumsum any all count_nonzero
    matmul outer einsum
    transpose reshape broadcast_to broadcast_like unbroadcast expand_dims squeeze index update
    update_add zeros_like ones_like empty_like full full_like pack concatenate stack copy shape
    list_append list_set list_drop list_get list_len list_stack list_unstack list_zeros_like
    literal same stop_gradient restore undef alias
    fft rfft irfft resize roll
""".split()
)

# The NumPy functions that accept complex numbers.  A separate table is needed: a function that
# is composed of several operations may be correct for real numbers only.
_NUMPY = """
    add subtract multiply divide true_divide negative positive power square reciprocal absolute
    abs exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh arcsin arccos
    arctan arcsinh arctanh asin acos atan asinh atanh conj conjugate real imag angle equal
    not_equal isnan isinf isfinite where logical_and logical_or logical_not logical_xor sum
    mean cumsum any all count_nonzero matmul dot outer einsum inner tensordot vdot kron
    transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis reshape ravel squeeze
    expand_dims broadcast_to concatenate concat stack hstack vstack dstack column_stack append
    split array_split hsplit vsplit dsplit tile repeat roll flip flipud fliplr rot90 take
    take_along_axis triu tril diag diagonal diagflat trace zeros_like ones_like empty_like full
    full_like array asarray ascontiguousarray atleast_1d atleast_2d atleast_3d copy shape size
    ndim meshgrid complex64 complex128 iscomplexobj isrealobj iscomplex isreal bool bool_
    add.at linalg.solve linalg.inv
""".split()
_METHODS = """
    sum mean cumsum any all astype conj conjugate copy reshape ravel flatten squeeze transpose
    swapaxes take repeat dot T size item diagonal trace tolist
""".split()
_OTHERS = ("builtins.complex", "builtins.abs", "builtins.pow", "builtins.bool", "builtins.sum")
FUNCTIONS = frozenset(
    [f"numpy.{f}" for f in _NUMPY] + [f"numpy.ndarray.{m}" for m in _METHODS] + [*_OTHERS]
)


def refuse_complex(path: str, *args: Any) -> None:
    """Raise an error if the function `path` has a complex argument and does not support it."""
    if path in FUNCTIONS or path.startswith(("numpy.fft.", "scipy.fft.", "cmath.")):
        return
    if any(map(_holds_complex, args)):
        refuse(path)


def refuse(name: str) -> NoReturn:
    raise UnsupportedError(
        f"{name} of complex numbers is not supported",
        advice="take it of the real and imaginary parts, z.real and z.imag",
    )


def _is_sequence(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (list, tuple))


def _holds_complex(value: Any) -> bool:
    if _is_sequence(value):
        return any(map(_holds_complex, value))
    type_ = getattr(value, "type", None)
    return isinstance(value, complex) if type_ is None else is_complex(type_)
