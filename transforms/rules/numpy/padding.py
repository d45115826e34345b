"""`numpy.pad` in all modes except "median" and "empty", and those given by a function."""

from __future__ import annotations

from typing import Any

from ...ir.builder import Builder, Sym
from ...ir.op_registry import surface
from ..axes_and_sizes import (
    MAX_ELEMENTS,
    TOO_LARGE_MESSAGE,
    constant_value,
    iota,
    require_static,
    size_of,
    unsupported_error,
)
from ..declare import as_numpy_scalar, as_operand
from .selection import build_take
from .shape_functions import slice_axis

# Modes that copy elements of the array (gather), and modes that reduce them.
_GATHER_MODES = ("edge", "wrap", "symmetric", "reflect")
_REDUCE_MODES = {"maximum": "max", "minimum": "min", "mean": "mean"}


@surface("numpy.pad")
def build_pad(
    b: Builder, array: Any, pad_width: Any, mode: Any = "constant", **keywords: Any
) -> Sym:
    x, mode = as_operand(b, array), require_static(mode, "mode")
    option = {"constant": "constant_values", "linear_ramp": "end_values"}.get(mode)
    option = (
        "stat_length"
        if mode in _REDUCE_MODES
        else "reflect_type"
        if mode in _GATHER_MODES
        else option
    )
    if option is None or set(keywords) - {option}:
        extra = "".join(f", {k}=" for k in sorted(set(keywords) - {option}))
        raise unsupported_error(
            b, f"numpy.pad with mode={mode!r}{extra}", "fill an array and assign into its middle"
        )
    value = keywords.get(option)
    if isinstance(value, str) and value == "odd":
        raise unsupported_error(
            b, "numpy.pad with reflect_type='odd'", "write 2 * edge - np.pad(...)"
        )
    pairs = _pairs(b, pad_width, x.ndim)
    _check_widths(b, pairs)
    if mode == "constant":
        fills = _pairs(b, 0 if value is None else value, x.ndim)
        if len({id(f) for pair in fills for f in pair}) == 1:
            return _surrounded(b, x, pairs, fills[0][0] if fills else 0)
    else:
        given = value if mode in _REDUCE_MODES else 0 if value is None else value
        fills = [(None, None)] * x.ndim if given is None else _pairs(b, given, x.ndim)
    for axis, (pair, fill) in enumerate(zip(pairs, fills)):
        if not all(map(_is_zero, pair)):
            x = _padded_axis(b, x, axis, pair, mode, fill)
    return x


def _pairs(b: Builder, width: Any, rank: int) -> list[tuple[Any, Any]]:
    """`pad_width`, or an argument of the same form, as a pair (before, after) for each axis."""
    if isinstance(width, dict):
        pairs: list[tuple[Any, Any]] = [(0, 0)] * rank
        for axis, one in width.items():
            pairs[axis] = tuple(one) if isinstance(one, (tuple, list)) else (one, one)
        return pairs
    if not isinstance(width, (tuple, list)):
        return [(width, width)] * rank
    if not isinstance(width[0], (tuple, list)):
        both = (width[0], width[0]) if len(width) == 1 else tuple(width)
        return [both] * rank
    pairs = [(p[0], p[-1]) for p in width]
    if len(pairs) not in (1, rank):
        raise ValueError(
            "operands could not be broadcast together: pad_width does not fit the array"
        )
    return pairs * rank if len(pairs) == 1 else pairs


def _check_widths(b: Builder, pairs: list[tuple[Any, Any]]) -> None:
    """Emit checks that no width is negative, or so large that sums with it overflow."""
    widths = {id(w): constant_value(w) for pair in pairs for w in pair}
    for width in widths.values():
        if isinstance(width, Sym) and width.type.value is not None:
            if b.facts.canonical(width.type.value).is_size:
                continue
        b.check(width >= 0, "ValueError", "index can't contain negative values")
        b.check(width <= MAX_ELEMENTS, "ValueError", TOO_LARGE_MESSAGE)


def _is_zero(width: Any) -> bool:
    width = constant_value(width)
    return not isinstance(width, Sym) and width == 0


def _padded_axis(b: Builder, x: Sym, axis: int, pair: Any, mode: str, fill: Any) -> Sym:
    """x padded before and after along one axis."""
    n = size_of(b, x, axis)
    if mode != "constant":
        message = f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
        b.check(n > 0 if isinstance(n, int) else b.sym(n) > 0, "ValueError", message)
    if mode in _GATHER_MODES:
        return build_take(b, x, _sources(b, n, pair[0], pair[1], mode), axis)
    parts = [x]
    for side, count in enumerate(pair):
        if _is_zero(count):
            continue
        if mode in _REDUCE_MODES:
            some = x if fill[side] is None else _end(b, x, axis, n, fill[side], side)
            value = b.emit(_REDUCE_MODES[mode], some, axis=(axis,), keepdims=True)
            if mode == "mean" and x.dtype.startswith(("int", "uint")):
                value = b.emit("rint", value)
            made = _repeated(b, value, axis, count).astype(x.dtype)
        elif mode == "constant":
            value = as_numpy_scalar(b.sym(fill[side])).astype(x.dtype)
            sizes = [count if i == axis else size_of(b, x, i) for i in range(x.ndim)]
            made = b.emit("full", value, *sizes, dtype=x.dtype)
        else:
            made = _ramp(b, _end(b, x, axis, n, 1, side), axis, count, fill[side], side)
        parts.insert(0 if side == 0 else len(parts), made.astype(x.dtype))
    return b.emit("concatenate", *parts, axis=axis)


def _end(b: Builder, x: Sym, axis: int, n: Any, count: Any, side: int) -> Sym:
    """The first or last elements along an axis."""
    if side == 0:
        return slice_axis(b, x, axis, stop=count)
    # At most all elements.
    start = constant_value(b.emit("maximum", b.sym(n) - count, 0)) if count != 1 else n - count
    return slice_axis(b, x, axis, start=start)


def _repeated(b: Builder, value: Sym, axis: int, count: Any) -> Sym:
    sizes = [count if i == axis else size_of(b, value, i) for i in range(value.ndim)]
    return b.emit("broadcast_to", value, *sizes)


def _ramp(b: Builder, edge: Sym, axis: int, count: Any, end: Any, side: int) -> Sym:
    """A linear ramp from the value `end` to the edge value; the edge itself is not included."""
    steps = iota(b, count)
    if side == 1:
        steps = (count - 1) - steps
    part = steps.astype("float64") / b.sym(count)
    others = tuple(i for i in range(edge.ndim) if i != axis)
    part = b.emit("expand_dims", part, axes=others) if others else part
    return b.sym(end) + (edge - b.sym(end)) * part


def _sources(b: Builder, n: Any, before: Any, after: Any, mode: str) -> Sym:
    """For each index of the padded axis, the source index in the array."""
    at = iota(b, n + before + after) - before
    last = n - 1
    if mode == "edge":
        return b.emit("minimum", b.emit("maximum", at, 0), last)
    if mode == "wrap":
        return at % n
    if mode == "symmetric":
        turned = at % (2 * n)
        return b.emit("minimum", turned, 2 * n - 1 - turned)
    period = b.emit("maximum", b.sym(2 * last), 1)
    turned = at % period
    return b.emit("minimum", turned, 2 * last - turned)


def _surrounded(b: Builder, x: Sym, pairs: Any, fill: Any) -> Sym:
    """x padded with one value on all sides: an array of `fill`, updated with x."""
    sizes = [size_of(b, x, i) for i in range(x.ndim)]
    whole = [n + before + after for n, (before, after) in zip(sizes, pairs)]
    fill = as_numpy_scalar(b.sym(fill)).astype(x.dtype)
    out = b.emit("full", fill, *whole, dtype=x.dtype)
    operands: list[Any] = []
    items: list[Any] = []
    for n, (before, _) in zip(sizes, pairs):
        items.append(("slice", 2 + len(operands), 3 + len(operands), None))
        operands += [before, n + before]
    return b.emit("update", out, x, *operands, path=(("index", tuple(items)),))
