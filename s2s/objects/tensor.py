"""Array classes of training code: NumPy arrays with `.numpy()`, and immutable tensors of `s2s.tf`.

`Tensor` behaves exactly like a NumPy array.  `Immutable` is a tensor of the `tf` namespace, with
value semantics: its memory is read-only, operators return new tensors, and augmented assignment
rebinds the name to a new tensor.  NumPy functions of it return writable arrays, as they do for
TensorFlow's tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .compiler_hints import compiled_as


class Tensor(np.ndarray):
    """A NumPy array with the method `numpy()`, which returns a plain copy.  Scalars are arrays of
    rank 0."""

    _s2s_array = True  # compiled code computes with it as with plain arrays

    def numpy(self) -> Any:
        plain = np.array(self)
        return plain if self.ndim else plain[()]

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        # NumPy converts results of rank 0 to scalars, which have no `.numpy()`.
        return array.view(Tensor) if array.dtype.kind in "fc" else super().__array_wrap__(
            array, context, return_scalar
        )  # fmt: skip

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 and spec else super().__format__(spec)


def _in_place(name: str) -> Any:
    """An augmented operator: `x += 1` returns a new value if `x` has rank 0, and otherwise updates
    the array in place."""

    def operator(self: Tensor, other: Any) -> Any:
        whole = self.ndim > 0
        return getattr(super(Tensor, self), f"__{'i' * whole}{name}__")(other)

    return operator


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Tensor, f"__i{_name}__", _in_place(_name))


class Immutable(Tensor):
    """An immutable tensor of the `tf` namespace.

    An array that NumPy creates with the class of a tensor, by `np.zeros_like` or `.copy()`, also
    has this class; its memory is writable, and it behaves like a NumPy array."""

    _s2s_tensor = True  # to the compiler it has value semantics while it is read-only

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        # For `scalar * tensor`, NumPy scalars do not defer to the operator of the tensor.
        if context is not None and isinstance(context[1][0], np.generic):
            return immutable(array)
        return array.view(Tensor) if array.ndim or array.dtype.kind in "fc" else array[()]

    def __reduce__(self) -> Any:
        return (immutable if is_immutable(self) else np.asarray, (np.array(self),))

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return found if self.flags.writeable else immutable(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise TypeError(
                "a tensor cannot be written to: use tf.tensor_scatter_nd_update, or write into a "
                "NumPy array, np.array(tensor)"
            )
        super().__setitem__(index, value)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __copy__(self) -> Any:
        return self if not self.flags.writeable else self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()


Immutable.__name__ = "Tensor"  # as it is printed

_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor",
    "lshift", "rshift",
)  # fmt: skip
_UNARY_AND_COMPARISONS = ("neg", "pos", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge")


def _operator(name: str, augmented: str = "") -> Any:
    """An operator that returns an immutable tensor; if all operands are writable, the result of the
    NumPy operator."""

    def operator(self: Any, *other: Any) -> Any:
        writable = self.flags.writeable
        if writable and augmented and self.ndim:
            getattr(super(Immutable, self), f"__{augmented}__")(*other)
            return self
        made = getattr(super(Immutable, self), f"__{name}__")(*other)
        mutable = writable and not any(is_immutable(x) for x in other)
        return made if mutable or made is NotImplemented else immutable(made)

    return operator


for _name in _BINARY:
    setattr(Immutable, f"__{_name}__", _operator(_name))
    setattr(Immutable, f"__r{_name}__", _operator(f"r{_name}"))
    setattr(Immutable, f"__i{_name}__", _operator(_name, f"i{_name}"))
for _name in _UNARY_AND_COMPARISONS:
    setattr(Immutable, f"__{_name}__", _operator(_name))


def is_immutable(value: Any) -> bool:
    """True if a value is a tensor with read-only memory."""
    return isinstance(value, Immutable) and not value.flags.writeable


def immutable(value: Any) -> Any:
    """An array or scalar as an immutable tensor, without a copy.  No other reference may write to
    the array."""
    if is_immutable(value):
        return value
    if not isinstance(value, np.ndarray):
        if not isinstance(value, (bool, int, float, complex, np.generic)):
            return value
        value = np.asarray(value)
    made = value.view(Immutable)
    made.flags.writeable = False
    return made


def snapshot(value: Any) -> Any:
    """The scalars, arrays and Variables in a structure as immutable tensors of their current
    values: arrays are copied."""
    return _as_tensors(value, lambda array: immutable(np.array(array)))


def frozen(value: Any) -> Any:
    """Like `snapshot`, but without copies: no other reference may write to the arrays."""
    return _as_tensors(value, immutable)


def _as_tensors(value: Any, change: Callable[[Any], Any]) -> Any:
    if is_immutable(value):
        return value
    if isinstance(value, np.ndarray):
        return change(value) if value.dtype.kind in "fiubc" else value
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return immutable(value) if np.asarray(value).dtype.kind in "fiubc" else value
    if hasattr(type(value), "_s2s_variable"):
        return immutable(value.numpy())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_as_tensors(v, change) for v in value))
    if type(value) in (tuple, list):
        return type(value)(_as_tensors(v, change) for v in value)
    if type(value) is dict:
        return {k: _as_tensors(v, change) for k, v in value.items()}
    return value


def _same(value: Any) -> Any:
    return value


# In compiled code, a tensor is a value that is marked as never written to.
for _function in (snapshot, frozen):
    _function._s2s_instead, _function._s2s_tensors = _same, True  # type: ignore[attr-defined]


@compiled_as(_same)
def tensor(value: Any) -> Any:
    """The scalars and arrays of a result as `Tensor`s, in the same structure."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray) or (
        isinstance(value, np.generic) and value.dtype.kind in "fiubc"
    ):
        return np.asarray(value).view(Tensor)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(tensor(v) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(tensor(v) for v in value)
    if isinstance(value, dict):
        return {k: tensor(v) for k, v in value.items()}
    return value
