"""Reductions along axes.

The attribute `axis` is normalised: a sorted tuple of non-negative ints, or None for all axes.  The
lowering of `max`, `min`, `argmax` and `argmin` emits the ValueError for an empty reduction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Array, Scalar, Type, is_float
from ...ir.op_registry import Rule, register, surface
from ...ir.precedence import ATOM, Text, wrap
from ..axes_and_sizes import (
    axes_of,
    axis_of,
    constant_value,
    product,
    require_flag,
    require_static,
    size_of,
)
from ..broadcasting import ONE
from ..declare import as_operand, float_dtype, refuse_keywords
from ..dtypes import as_dtype
from ..operation_text import call_text
from .product_derivative import product_of_others

# ---------------------------------------------------------------- types


def sum_dtype(dtype: str) -> str:
    """The dtype of a sum or product: small integers are accumulated in 64 bits."""
    return np.dtype(np.add.reduce(np.zeros(0, dtype)).dtype).name


def _mean_dtype(dtype: str) -> str:
    return dtype if np.dtype(dtype).kind in "fc" else "float64"


_DTYPES = {
    "sum": sum_dtype,
    "prod": sum_dtype,
    "mean": _mean_dtype,
    "var": _mean_dtype,
    "std": _mean_dtype,
    "max": lambda dtype: dtype,
    "min": lambda dtype: dtype,
    "any": lambda dtype: "bool",
    "all": lambda dtype: "bool",
    "argmax": lambda dtype: "int64",
    "argmin": lambda dtype: "int64",
    "count_nonzero": lambda dtype: "int64",
}


def _infer(name: str) -> Any:
    def infer(
        b: Builder, types: Sequence[Type], attrs: dict[str, Any], operands: Any = None
    ) -> Type:
        x, axis = types[0], attrs["axis"]
        assert isinstance(x, (Scalar, Array)), x
        dtype = _DTYPES[name](x.dtype)
        axes = range(x.ndim) if axis is None else axis
        if attrs.get("keepdims"):
            shape = tuple(ONE if i in axes else d for i, d in enumerate(x.shape))
        else:
            shape = tuple(d for i, d in enumerate(x.shape) if i not in axes)
        return Array(dtype, shape) if shape else Scalar(dtype)

    return infer


def _text(name: str) -> Any:
    def text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        keywords = {k: v for k, v in attrs.items() if v}
        if name == "count_nonzero" or not isinstance(types[0], Array):
            return call_text(f"np.{name}", args, keywords)
        return call_text(f"{wrap(args[0], ATOM)}.{name}", (), keywords)

    return text


# ---------------------------------------------------------------- derivatives


def _axes(x: Sym, attrs: dict[str, Any]) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if attrs["axis"] is None else attrs["axis"]


def reduced_count(b: Builder, x: Sym, attrs: dict[str, Any]) -> Any:
    """The number of elements that are reduced to one."""
    return product(size_of(b, x, i) for i in _axes(x, attrs))


def expand_reduced(b: Builder, value: Any, x: Sym, attrs: dict[str, Any]) -> Sym:
    """A reduced value, expanded to broadcast against x."""
    if attrs["axis"] is None or attrs.get("keepdims"):
        return b.sym(value)
    return b.emit("expand_dims", value, axes=attrs["axis"])


def reduce_keepdims(b: Builder, name: str, x: Any, attrs: dict[str, Any]) -> Sym:
    """Emit a reduction whose result broadcasts against x."""
    return b.emit(name, x, axis=attrs["axis"], keepdims=attrs["axis"] is not None)


def reduce_like_result(b: Builder, name: str, x: Any, attrs: dict[str, Any]) -> Sym:
    """Emit a reduction of x along the same axes, in the shape of the original result."""
    return b.emit(name, x, axis=attrs["axis"], keepdims=attrs.get("keepdims", False))


def _sum_pullback(b: Builder, g: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    return b.emit("broadcast_like", expand_reduced(b, g, x, attrs), x)


def _sum_pushforward(b: Builder, dot: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    return reduce_like_result(b, "sum", dot, attrs)


def _mean_pullback(b: Builder, g: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    return b.emit("broadcast_like", expand_reduced(b, g / reduced_count(b, x, attrs), x, attrs), x)


def _mean_pushforward(b: Builder, dot: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    return reduce_like_result(b, "mean", dot, attrs)


def _prod_pullback(b: Builder, g: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    return expand_reduced(b, g, x, attrs) * product_of_others(b, x, _axes(x, attrs))


def _prod_pushforward(b: Builder, dot: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    return reduce_like_result(
        b, "sum", b.sym(dot) * product_of_others(b, x, _axes(x, attrs)), attrs
    )


def _chosen(b: Builder, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    return x == expand_reduced(b, out, x, attrs)


def _extreme_pullback(b: Builder, g: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    chosen = _chosen(b, x, out, attrs)
    ties = reduce_keepdims(b, "sum", chosen.astype(x.dtype), attrs)
    return chosen * (expand_reduced(b, g, x, attrs) / ties)


def _extreme_pushforward(b: Builder, dot: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    chosen = _chosen(b, x, out, attrs)
    ties = reduce_like_result(b, "sum", chosen.astype(x.dtype), attrs)
    return reduce_like_result(b, "sum", b.emit("where", chosen, dot, 0.0), attrs) / ties


def _degrees_of_freedom(b: Builder, x: Sym, attrs: dict[str, Any]) -> Any:
    """The degrees of freedom, the divisor of `var`."""
    count, ddof = reduced_count(b, x, attrs), attrs.get("ddof", 0)
    return count - ddof if ddof else count


def _deviation(b: Builder, x: Sym, attrs: dict[str, Any]) -> Sym:
    return x - reduce_keepdims(b, "mean", x, attrs)


def _var_pullback(b: Builder, g: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    slope = expand_reduced(b, 2.0 * g / _degrees_of_freedom(b, x, attrs), x, attrs)
    return slope * _deviation(b, x, attrs)


def _var_pushforward(b: Builder, dot: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    total = reduce_like_result(b, "sum", _deviation(b, x, attrs) * dot, attrs)
    return 2.0 * total / _degrees_of_freedom(b, x, attrs)


def _std_pullback(b: Builder, g: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    # If all elements are equal, the deviation is 0, and so is the product, whatever the slope.
    slope = expand_reduced(b, g / (out * _degrees_of_freedom(b, x, attrs)), x, attrs)
    return b.emit("strong_mul", _deviation(b, x, attrs), slope)


def _std_pushforward(b: Builder, dot: Any, x: Sym, out: Sym, attrs: dict[str, Any]) -> Sym:
    total = reduce_like_result(b, "sum", _deviation(b, x, attrs) * dot, attrs)
    return b.emit("strong_mul", total, 1.0 / (out * _degrees_of_freedom(b, x, attrs)))


def _declare(name: str, pull: Any = None, push: Any = None, kinks: str = "") -> None:
    def pullback(
        b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: dict[str, Any], wanted: Any
    ) -> dict[int, Any]:
        x = b.sym(args[0])
        if 0 not in wanted or not is_float(x.type):
            return {}
        return {0: pull(b, b.sym(g), x, b.sym(out), attrs)}

    def pushforward(
        b: Builder, dots: Sequence[Any], out: Any, args: Sequence[Any], attrs: dict[str, Any]
    ) -> Any:
        if dots[0] is None or not is_float(b.sym(args[0]).type):
            return None
        return push(b, dots[0], b.sym(args[0]), b.sym(out), attrs)

    function = getattr(np, name)
    register(
        Rule(
            name,
            "reduce",
            _infer(name),
            evaluate=lambda x, axis=None, **attrs: function(x, axis=_argument(name, axis), **attrs),
            text=_text(name),
            pullback=pullback if pull else None,
            pushforward=push and pushforward,
            differentiable=(0,) if pull else (),
            kinks=kinks,
        )
    )


def _argument(name: str, axis: Any) -> Any:
    return axis[0] if name in ("argmax", "argmin") and axis is not None else axis


_declare("sum", _sum_pullback, _sum_pushforward)
_declare("mean", _mean_pullback, _mean_pushforward)
_declare("prod", _prod_pullback, _prod_pushforward, "exact with any number of zeros")
_declare("max", _extreme_pullback, _extreme_pushforward, "ties share evenly")
_declare("min", _extreme_pullback, _extreme_pushforward, "ties share evenly")
_declare("var", _var_pullback, _var_pushforward)
_declare("std", _std_pullback, _std_pushforward, "0 where all are equal")
for _name in ("any", "all", "argmax", "argmin", "count_nonzero"):
    _declare(_name)


# ---------------------------------------------------------------- surfaces


def _reduce(b: Builder, name: str, a: Any, axis: Any, keepdims: Any, **attrs: Any) -> Sym:
    x = as_operand(b, a)
    keepdims = require_flag(b, keepdims, "keepdims")
    if (
        x.ndim == 0
        and name not in ("mean", "var", "std")
        and require_static(axis, "axis") in (0, -1)
    ):
        axis = None  # NumPy accepts a scalar as an array of one element here
    axis = None if axis is None else tuple(sorted(axes_of(b, axis, x.ndim)))
    if isinstance(x.type, Scalar):
        return _of_scalar(b, name, x)
    if axis is not None and len(axis) == x.ndim:
        axis = None
    return b.emit(name, x, axis=axis, keepdims=keepdims, **attrs)


def _of_scalar(b: Builder, name: str, x: Sym) -> Sym:
    """The reduction of a scalar, as of an array of one element."""
    dtype = _DTYPES[name](x.dtype)
    if name in ("any", "all", "count_nonzero"):
        return b.emit("cast", x != 0, dtype=dtype)
    if name in ("argmax", "argmin"):
        return b.sym(np.int64(0))
    if name in ("var", "std"):
        return b.emit("cast", x - x, dtype=dtype)
    return b.emit("cast", x, dtype=dtype) if x.dtype != dtype or x.type.weak else x


def _converted(b: Builder, a: Any, dtype: Any) -> Any:
    return a if dtype is None else as_operand(b, a).astype(as_dtype(dtype))


def _masked(b: Builder, a: Any, where: Any, otherwise: Any) -> Any:
    """`a` with the elements that where= excludes replaced by `otherwise`."""
    if where is None or constant_value(where) is True:
        return a
    x = as_operand(b, a)
    return b.emit("where", as_operand(b, where), x, np.dtype(x.dtype).type(otherwise))


def _start(b: Builder, op: str, total: Sym, initial: Any) -> Sym:
    """The total combined with initial=, if it is given."""
    return total if initial is None else b.emit(op, total, b.sym(initial)).astype(total.dtype)


def _sum_surfaces(name: str, op: str, *paths: str) -> None:
    @surface(*paths)
    def build(
        b: Builder,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = None,
    ) -> Sym:
        refuse_keywords(paths[0], {"out": out})
        x = _masked(b, _converted(b, a, dtype), where, 0 if name == "sum" else 1)
        total = _start(b, op, _reduce(b, name, x, axis, keepdims), initial)
        # The result in 64 bits, truncated, equals that in the smaller dtype: both wrap.
        return total if dtype is None else total.astype(as_dtype(dtype))


def mean_argument(path: str, dtype: Any) -> Any:
    """The dtype= argument of a mean, which must be a float dtype."""
    return None if dtype is None else float_dtype(path, dtype)


@surface("numpy.mean", "numpy.ndarray.mean")
def build_mean(
    b: Builder,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = None,
) -> Sym:
    refuse_keywords("numpy.mean", {"out": out})
    x = _converted(b, a, mean_argument("numpy.mean", dtype))
    if where is None or constant_value(where) is True:
        return _reduce(b, "mean", x, axis, keepdims)
    x = as_operand(b, x)
    x = x.astype(_mean_dtype(x.dtype))
    total = _reduce(b, "sum", _masked(b, x, where, 0), axis, keepdims)
    return total / _counted(b, x, where, axis, keepdims)


def _counted(b: Builder, x: Sym, where: Any, axis: Any, keepdims: Any) -> Sym:
    """The number of elements that where= includes, in the dtype of a mean."""
    chosen = b.emit("broadcast_like", as_operand(b, where), x)
    return _reduce(b, "sum", chosen, axis, keepdims).astype(_mean_dtype(x.dtype))


def _var_surfaces(name: str, *paths: str) -> None:
    @surface(*paths)
    def build(
        b: Builder,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        where: Any = None,
        mean: Any = None,
        correction: Any = None,
    ) -> Sym:
        ddof = require_static(ddof if correction is None else correction, "ddof")
        if not isinstance(ddof, (int, float, np.number)):
            raise TypeError(f"ddof must be a number, not {type(ddof).__name__}")
        refuse_keywords(paths[0], {"out": out})
        x = _converted(b, a, mean_argument(paths[0], dtype))
        if mean is None and (where is None or constant_value(where) is True):
            return _reduce(b, name, x, axis, keepdims, ddof=ddof)
        x, chosen = as_operand(b, x), True if where is None else where
        centre = build_mean(b, x, axis, keepdims=True, where=where) if mean is None else mean
        deviation = _masked(b, x - b.sym(centre), where, 0)
        total = _reduce(b, "sum", deviation * deviation, axis, keepdims)
        found = total / (_counted(b, x, chosen, axis, keepdims) - ddof)
        return found if name == "var" else safe_sqrt(b, found)


def safe_sqrt(b: Builder, x: Sym) -> Sym:
    """The square root of sums of squares; its derivative at 0 is 0.

    Where the sum is 0 the root of 1 is taken instead, so that the cotangent there is 0."""
    some = x > 0
    return b.emit("where", some, b.emit("sqrt", b.emit("where", some, x, 1.0)), x)


def _extremum_surfaces(name: str, op: str, *paths: str) -> None:
    @surface(*paths)
    def build(
        b: Builder,
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = None,
    ) -> Sym:
        refuse_keywords(paths[0], {"out": out})
        x = as_operand(b, a)
        if where is not None and constant_value(where) is not True:
            if initial is None:
                raise ValueError(
                    f"reduction operation '{op}' does not have an identity,"
                    " so to use a where mask one has to specify 'initial'"
                )
            x = b.emit("where", as_operand(b, where), x, b.sym(initial))
        if initial is None:
            return _reduce(b, name, x, axis, keepdims)
        more = one_more(b, x, initial, axis)
        if axis is not None or not require_flag(b, keepdims, "keepdims"):
            return _reduce(b, name, more, axis, keepdims)
        found = _reduce(b, name, more, None, False)
        return b.emit("expand_dims", found, axes=tuple(range(x.ndim))) if x.ndim else found


def one_more(b: Builder, x: Sym, initial: Any, axis: Any) -> Sym:
    """x with `initial` as a further element, so that an empty array has an extremum, too."""
    if axis is None:
        x, at = b.emit("reshape", x, product(x.shape)), 0
    else:
        at = axes_of(b, axis, x.ndim)[0]
    sizes = [1 if i == at else size_of(b, x, i) for i in range(x.ndim)]
    first = b.emit("full", b.sym(initial), *sizes, dtype=x.dtype)
    return b.emit("concatenate", first, x, axis=at)


def _logical_surfaces(name: str, *paths: str) -> None:
    @surface(*paths)
    def build(
        b: Builder,
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        *,
        where: Any = None,
    ) -> Sym:
        refuse_keywords(paths[0], {"out": out})
        return _reduce(b, name, _masked(b, a, where, name == "all"), axis, keepdims)


def _arg_surfaces(name: str, *paths: str) -> None:
    @surface(*paths)
    def build(b: Builder, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Sym:
        refuse_keywords(paths[0], {"out": out})
        x = as_operand(b, a)
        axis = None if axis is None else axis_of(b, axis, max(x.ndim, 1))
        return _reduce(b, name, x, axis, keepdims)


_sum_surfaces("sum", "add", "numpy.sum", "numpy.ndarray.sum")
_sum_surfaces("prod", "multiply", "numpy.prod", "numpy.ndarray.prod")
_var_surfaces("var", "numpy.var", "numpy.ndarray.var")
_var_surfaces("std", "numpy.std", "numpy.ndarray.std")
_extremum_surfaces("max", "maximum", "numpy.max", "numpy.amax", "numpy.ndarray.max")
_extremum_surfaces("min", "minimum", "numpy.min", "numpy.amin", "numpy.ndarray.min")
_logical_surfaces("any", "numpy.any", "numpy.ndarray.any")
_logical_surfaces("all", "numpy.all", "numpy.ndarray.all")
_arg_surfaces("argmax", "numpy.argmax", "numpy.ndarray.argmax")
_arg_surfaces("argmin", "numpy.argmin", "numpy.ndarray.argmin")


@surface("numpy.count_nonzero")
def build_count_nonzero(b: Builder, a: Any, axis: Any = None, *, keepdims: Any = False) -> Sym:
    return _reduce(b, "count_nonzero", a, axis, keepdims)
