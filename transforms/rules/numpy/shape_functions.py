"""Surfaces that change the shape of an array: `x.T`, `x.reshape(n, -1)`, `np.flip(x)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Scalar
from ...ir.op_registry import surface
from ...ir.symbolic_dims import Dim
from ..axes_and_sizes import (
    axes_of,
    axis_of,
    constant_value,
    product,
    require_broadcastable,
    require_static,
    shape_parts,
    size_of,
    symbolic_size,
    unsupported_error,
    value_error,
)
from ..declare import as_operand, as_python_scalar

# ---------------------------------------------------------------- order of axes


def transposed(b: Builder, x: Sym, axes: Sequence[int]) -> Sym:
    """`x` with its axes permuted; x itself for the identity permutation."""
    return x if tuple(axes) == tuple(range(x.ndim)) else b.emit("transpose", x, axes=tuple(axes))


@surface("numpy.ndarray.T")
def reverse_axes(b: Builder, self: Any) -> Sym:
    x = b.sym(self)
    return transposed(b, x, range(x.ndim)[::-1])


@surface("numpy.transpose", "numpy.permute_dims")
def transpose(b: Builder, a: Any, axes: Any = None) -> Sym:
    x = as_operand(b, a)
    if axes is None:
        return reverse_axes(b, x)
    order = axes_of(b, axes, x.ndim, "axes")
    if len(order) != x.ndim:
        raise value_error(b, "axes don't match array")
    return transposed(b, x, order)


@surface("numpy.ndarray.transpose")
def transpose_method(b: Builder, self: Any, *axes: Any) -> Sym:
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        return transpose(b, self, axes[0])
    return transpose(b, self, axes or None)


@surface("numpy.matrix_transpose", "numpy.ndarray.mT")
def matrix_transpose(b: Builder, x: Any, /) -> Sym:
    x = b.sym(x)
    if x.ndim < 2:
        raise value_error(b, f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(b, x, -1, -2)


@surface("numpy.swapaxes", "numpy.ndarray.swapaxes")
def swapaxes(b: Builder, a: Any, axis1: Any, axis2: Any) -> Sym:
    x = as_operand(b, a)
    i, j = axis_of(b, axis1, x.ndim, "axis1"), axis_of(b, axis2, x.ndim, "axis2")
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return transposed(b, x, order)


@surface("numpy.moveaxis")
def moveaxis(b: Builder, a: Any, source: Any, destination: Any) -> Sym:
    x = as_operand(b, a)
    start = axes_of(b, source, x.ndim, "source")
    end = axes_of(b, destination, x.ndim, "destination")
    if len(start) != len(end):
        raise value_error(
            b, "`source` and `destination` arguments must have the same number of elements"
        )
    order = [a for a in range(x.ndim) if a not in start]
    for to, axis in sorted(zip(end, start, strict=True)):
        order.insert(to, axis)
    return transposed(b, x, order)


# ---------------------------------------------------------------- reshape


@surface("numpy.reshape")
def reshape(b: Builder, a: Any, /, shape: Any, order: str = "C") -> Sym:
    x = as_operand(b, a)
    if require_static(order, "order") == "F":
        sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
        return reverse_axes(b, reshape(b, reverse_axes(b, x), tuple(sizes)[::-1]))
    if order != "C":
        raise unsupported_error(b, f"reshape with order={order!r}", "use order='C' or order='F'")
    sizes = [constant_value(s) for s in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    sizes = _normalise_negative_sizes(b, x, sizes)
    unknown = [k for k, s in enumerate(sizes) if isinstance(s, int) and s < 0]
    if len(unknown) > 1:
        raise value_error(b, "can only specify one unknown dimension")
    if unknown:
        sizes[unknown[0]] = _missing_size(b, x, sizes, unknown[0])
    else:
        _check_total(b, x, sizes)
    if x.ndim == len(sizes) == 1:
        return x
    return b.emit("reshape", x, *sizes)


@surface("numpy.ndarray.reshape")
def reshape_method(b: Builder, self: Any, *shape: Any, order: str = "C") -> Sym:
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        return reshape(b, self, shape[0], order)
    return reshape(b, self, shape, order)


def _normalise_negative_sizes(b: Builder, x: Sym, sizes: list[Any]) -> list[Any]:
    """The sizes with each negative one replaced by the literal -1.

    If the sign of a size is known only at run time, code is emitted that replaces a negative size
    by the missing size."""
    signs = [isinstance(s, Sym) and b.facts.is_negative(symbolic_size(s.operand)) for s in sizes]
    sizes = [-1 if negative else s for s, negative in zip(sizes, signs)]
    open_ = [k for k, negative in enumerate(signs) if negative is None]
    if not open_ or b.facts.sizes is None:
        return sizes
    negative = [b.emit("less", s, 0) if k in open_ else s < 0 for k, s in enumerate(sizes)]
    count = sum(
        (b.emit("cast", n, dtype="int64") for n in negative if isinstance(n, Sym)), b.sym(0)
    )
    literal = sum(n for n in negative if isinstance(n, bool))
    b.check(count + literal <= 1, "ValueError", "can only specify one unknown dimension")
    others = product(
        b.emit("where", n, 1, s) if isinstance(n, Sym) else s
        for s, n in zip(sizes, negative)
        if n is not True
    )
    missing = product(x.shape) // b.emit("where", b.sym(others) == 0, 1, others)
    return [
        b.emit("where", n, missing, s) if isinstance(n, Sym) else missing if n else s
        for s, n in zip(sizes, negative)
    ]


def _missing_size(b: Builder, x: Sym, sizes: list[Any], at: int) -> Any:
    """The size that -1 stands for: the total divided by the other sizes.

    Sizes that occur in both shapes are cancelled first."""
    same = b.facts.known_equal
    above = list(enumerate(x.type.shape))
    below = []
    for s in (s for k, s in enumerate(sizes) if k != at):
        dim = symbolic_size(b.sym(s).operand)
        match = next((p for p in above if same(p[1], dim)), None)
        if match is not None:
            above.remove(match)
        else:
            below.append(s)
    total = product(size_of(b, x, axis) for axis, _ in above)
    if not below:
        return total
    others = product(below)
    given = [-1 if k == at else s for k, s in enumerate(sizes)]
    if not isinstance(others, Sym) and others == 0:
        b.check(False, "ValueError", *_reshape_error(b, x, given))
        return 0
    if isinstance(others, Sym):
        b.check(others != 0, "ValueError", *_reshape_error(b, x, given))
    if not isinstance(total, Sym) and not isinstance(others, Sym):
        b.check(total % others == 0, "ValueError", *_reshape_error(b, x, given))
        return total // others
    rest = b.sym(total) // others
    whole, part, by = (symbolic_size(b.sym(s).operand) for s in (total, rest, others))
    if part * by != whole:
        b.check(rest * others == total, "ValueError", *_reshape_error(b, x, given))
    return rest


def _check_total(b: Builder, x: Sym, sizes: list[Any]) -> None:
    """Emit a check that a reshape keeps the number of elements, unless that is proven."""
    have = want = Dim.of(1)
    for d in x.type.shape:
        have = have * d
    for s in sizes:
        want = want * symbolic_size(b.sym(s).operand)
    if b.facts.known_equal(have, want) and "?" not in want.symbols:
        return
    total, other = product(x.shape), product(sizes)
    runtime = isinstance(total, Sym) or isinstance(other, Sym)
    b.check(b.sym(total) == other if runtime else False, "ValueError", *_reshape_error(b, x, sizes))


def _reshape_error(b: Builder, x: Sym, sizes: list[Any]) -> tuple[Any, ...]:
    """The parts of NumPy's error message for an invalid reshape."""
    total = product(x.shape)
    named = ["newaxis" if isinstance(s, int) and s < 0 else s for s in sizes]
    size = str(total) if isinstance(total, int) else total
    return ("cannot reshape array of size ", size, " into shape ", *shape_parts(named))


@surface("numpy.ravel", "numpy.ndarray.ravel")
def ravel(b: Builder, a: Any, order: str = "C") -> Sym:
    if require_static(order, "order") == "F":
        return reshape(b, transpose(b, a), -1)
    return reshape(b, a, -1, order)


@surface("numpy.ndarray.flatten")
def flatten(b: Builder, self: Any, order: str = "C") -> Sym:
    return b.emit("copy", ravel(b, self, order))


# ---------------------------------------------------------------- single axes


@surface("numpy.expand_dims")
def expand_dims(b: Builder, a: Any, axis: Any) -> Sym:
    x = as_operand(b, a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    axes = tuple(sorted(axes_of(b, axis, x.ndim + count)))
    return b.emit("expand_dims", x, axes=axes) if axes else x


@surface("numpy.squeeze", "numpy.ndarray.squeeze")
def squeeze(b: Builder, a: Any, axis: Any = None) -> Sym:
    x = as_operand(b, a)
    if axis is None:
        ones = [b.facts.is_one(d) for d in x.type.shape]
        if None in ones:
            raise unsupported_error(
                b,
                "squeeze() removes the axes that happen to be 1: its rank depends on sizes",
                "name the axis: x.squeeze(axis=0)",
            )
        axes = tuple(k for k, one in enumerate(ones) if one)
    else:
        axes = tuple(sorted(axes_of(b, axis, x.ndim)))
    return b.emit("squeeze", x, axes=axes) if axes else x


def _at_least(b: Builder, arrays: tuple[Any, ...], new_axes: dict[int, tuple[int, ...]]) -> Any:
    """The arrays with new axes; `new_axes` gives their positions by rank."""
    found = [expand_dims(b, x, new_axes.get(b.sym(x).ndim, ())) for x in arrays]
    return found[0] if len(found) == 1 else tuple(found)


@surface("numpy.atleast_1d")
def atleast_1d(b: Builder, *arys: Any) -> Any:
    return _at_least(b, arys, {0: (0,)})


@surface("numpy.atleast_2d")
def atleast_2d(b: Builder, *arys: Any) -> Any:
    return _at_least(b, arys, {0: (0, 1), 1: (0,)})


@surface("numpy.atleast_3d")
def atleast_3d(b: Builder, *arys: Any) -> Any:
    return _at_least(b, arys, {0: (0, 1, 2), 1: (0, 2), 2: (2,)})


@surface("numpy.unstack")
def unstack(b: Builder, x: Any, /, *, axis: Any = 0) -> tuple[Sym, ...]:
    array = as_operand(b, x)
    at = axis_of(b, axis, array.ndim)
    count = size_of(b, array, at)
    if isinstance(count, Sym):
        message = "numpy.unstack of an array whose size is known only at run time"
        raise unsupported_error(b, message, "index the array in a loop")
    items = tuple(("int", 1) if i == at else ("all",) for i in range(array.ndim))
    return tuple(b.emit("index", array, k, items=items) for k in range(count))


@surface("numpy.broadcast_shapes")
def broadcast_shapes(b: Builder, *shapes: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*(require_static(s, "a shape") for s in shapes))


@surface("numpy.broadcast_to")
def broadcast_to(b: Builder, array: Any, shape: Any) -> Sym:
    x = as_operand(b, array)
    sizes = [constant_value(s) for s in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    lead = len(sizes) - x.ndim
    if lead < 0:
        raise value_error(b, "input operand has more dimensions than allowed by the axis remapping")

    def message() -> tuple[Any, ...]:
        have = shape_parts([constant_value(s) for s in x.shape])
        prefix = (
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
        )
        return (prefix, *have, "  and requested shape ", *shape_parts(sizes))

    for axis, dim in enumerate(x.type.shape):
        want = sizes[lead + axis]
        require_broadcastable(
            b,
            dim,
            symbolic_size(b.sym(want).operand),
            lambda axis=axis, want=want: (size_of(b, x, axis), want),
            "ValueError",
            message,
        )
    return b.emit("broadcast_to", x, *sizes)


# ---------------------------------------------------------------- by index


def slice_axis(
    b: Builder, x: Sym, axis: int, start: Any = None, stop: Any = None, step: Any = None
) -> Sym:
    """x[..., start:stop:step, ...] along one axis."""
    given = [v for v in (start, stop, step) if v is not None]
    position = iter(range(1, len(given) + 1))
    item = ("slice", *(None if v is None else next(position) for v in (start, stop, step)))
    items = tuple(item if a == axis else ("all",) for a in range(x.ndim))
    return b.emit("index", x, *given, items=items)


@surface("numpy.flip")
def flip(b: Builder, m: Any, axis: Any = None) -> Sym:
    x = as_operand(b, m)
    for a in range(x.ndim) if axis is None else axes_of(b, axis, x.ndim):
        x = slice_axis(b, x, a, step=-1)
    return x


@surface("numpy.flipud")
def flipud(b: Builder, m: Any) -> Sym:
    return flip(b, m, 0)


@surface("numpy.fliplr")
def fliplr(b: Builder, m: Any) -> Sym:
    return flip(b, m, 1)


@surface("numpy.diff")
def diff(
    b: Builder, a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None
) -> Sym:
    x = as_operand(b, a)
    if x.ndim == 0:
        raise value_error(b, "diff requires input that is at least one dimensional")
    at = axis_of(b, axis, x.ndim)
    parts = [_beside(b, part, x, at) for part in (prepend, x, append) if part is not None]
    x = b.emit("concatenate", *parts, axis=at) if len(parts) > 1 else x
    step = "not_equal" if x.dtype == "bool" else "subtract"
    for _ in range(require_static(n, "n")):
        x = b.emit(step, slice_axis(b, x, at, start=1), slice_axis(b, x, at, stop=-1))
    return x


def _beside(b: Builder, part: Any, x: Sym, axis: int) -> Sym:
    """The array to prepend or append to x along an axis; a scalar is broadcast to size 1 there."""
    part = as_operand(b, part)
    if part.ndim:
        return part
    return b.emit("broadcast_to", part, *(1 if i == axis else n for i, n in enumerate(x.shape)))


@surface("numpy.ndarray.item")
def item(b: Builder, self: Any, *index: Any) -> Sym:
    x = b.sym(self)
    if isinstance(x.type, Scalar):
        return as_python_scalar(x)
    if len(index) == 1 and isinstance(index[0], (tuple, list)):
        index = tuple(index[0])
    if not index:
        total = product(x.shape)
        message = "can only convert an array of size 1 to a Python scalar"
        b.check(total == 1, "ValueError", message)
        index = (0,) * x.ndim
    if len(index) == 1 and x.ndim > 1:
        x = ravel(b, x)
    items = tuple(("int", k + 1) for k in range(len(index)))
    if len(items) != x.ndim:
        raise value_error(b, "incorrect number of indices for array")
    return as_python_scalar(b.emit("index", x, *index, items=items))
