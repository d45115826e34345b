"""Array creation: filled with one value (`zeros`, `full`), or packed from scalars (`array`).

Sizes are int operands; if the symbolic value of a size is known, it is the dim of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.errors import UnsupportedError
from ...ir.nodes import FLOATS, Array, ListOf, Operand, Scalar, Type, is_float
from ...ir.op_registry import SURFACES, Rule, register, surface
from ...ir.precedence import ATOM, TERNARY, Text, wrap
from ...ir.symbolic_dims import Dim
from ..axes_and_sizes import constant_value, require_static, symbolic_size
from ..broadcasting import unbroadcast
from ..declare import as_numpy_scalar, as_operand, refuse_keywords
from ..dtypes import as_dtype
from ..integer_range_checks import require_in_range
from ..operation_text import call_text, dtype_text
from ..promotion import join_dtypes


def sizes_text(sizes: Sequence[Text]) -> Text:
    """The source text of a shape: `n`, `(n, m)`, `()`."""
    if len(sizes) == 1:
        return sizes[0]
    return f"({', '.join(wrap(s, TERNARY) for s in sizes)})", ATOM


def dtype_keyword(dtype: str) -> dict[str, Any]:
    return {} if dtype == "float64" else {"dtype": dtype}


def no_pullback(*args: Any) -> dict[int, Any]:
    return {}


def no_pushforward(*args: Any) -> None:
    return None


def register_create(name: str, infer: Any, evaluate: Any, text: Any, doc: str, **more: Any) -> None:
    """Register an operation of kind "create", by default without derivative."""
    more.setdefault("differentiable", ())
    more.setdefault("pullback", no_pullback)
    more.setdefault("pushforward", no_pushforward)
    register(Rule(name, "create", infer, evaluate=evaluate, text=text, doc=doc, **more))


# ---------------------------------------------------------------- filled with one value


def _declare_filled(name: str) -> None:
    """Register `zeros`, `ones` or `empty`, and its `_like` operation."""
    function, like = getattr(np, name), getattr(np, f"{name}_like")

    def infer(b: Builder, types: Any, attrs: dict[str, Any], operands: Sequence[Operand]) -> Type:
        return Array(attrs["dtype"], tuple(symbolic_size(o) for o in operands))

    def text(args: Sequence[Text], attrs: dict[str, Any], types: Any) -> Text:
        return call_text(f"np.{name}", [sizes_text(args)], dtype_keyword(attrs["dtype"]))

    register_create(
        name,
        infer,
        lambda *sizes, dtype: function(tuple(int(s) for s in sizes), dtype),
        text,
        "an uninitialised array" if name == "empty" else f"an array of {name}",
    )

    def infer_like(
        b: Builder, types: Sequence[Type], attrs: dict[str, Any], operands: Any = None
    ) -> Type:
        return _like_type(types[0], attrs["dtype"])

    def text_like(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
        dtype = attrs["dtype"]
        if not types[0].ndim and isinstance(types[0], Scalar):
            value = "1" if name == "ones" else "0"
            value = value if np.dtype(dtype).kind in "iu" else f"{value}.0"
            return _scalar_text(value, dtype)
        return call_text(
            f"np.{name}_like", args, {"dtype": dtype} if dtype != types[0].dtype else {}
        )

    register_create(
        f"{name}_like",
        infer_like,
        lambda x, dtype: (
            like(x, dtype=dtype)[()] if np.ndim(x) == 0 else like(x, dtype=dtype, order="C")
        ),
        text_like,
        f"`{name}` in the shape of x; a scalar if x is one",
    )


def _like_type(x: Type, dtype: str) -> Type:
    if isinstance(x, Array):
        return Array(dtype, x.shape)
    weak = isinstance(x, Scalar) and x.weak and x.dtype == dtype
    return Scalar(dtype, weak)


def _scalar_text(value: str, dtype: str) -> Text:
    if dtype in ("float64", "int64"):
        return value, ATOM
    if dtype == "bool":
        return str(value.startswith("1")), ATOM
    return f"{dtype_text(dtype)}({value})", ATOM


for _name in ("zeros", "ones", "empty"):
    _declare_filled(_name)


def _infer_full(b: Builder, types: Any, attrs: dict[str, Any], operands: Sequence[Operand]) -> Type:
    return Array(attrs["dtype"], tuple(symbolic_size(o) for o in operands[1:]))


def _full_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    keywords = {"dtype": attrs["dtype"]} if attrs["dtype"] != types[0].dtype else {}
    return call_text("np.full", [sizes_text(args[1:]), args[0]], keywords)


def _fill_pullback(at: int) -> Any:
    """The pullback of a fill with operand `at`: the sum of the cotangent."""

    def pullback(
        b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: dict[str, Any], wanted: Any
    ) -> dict[int, Any]:
        if at not in wanted or not is_float(b.sym(args[at]).type) or attrs["dtype"] not in FLOATS:
            return {}
        return {at: unbroadcast(b, g, args[at])}

    return pullback


def _full_pushforward(
    b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: dict[str, Any]
) -> Any:
    if dots[0] is None or attrs["dtype"] not in FLOATS:
        return None
    return b.emit("full", dots[0], *args[1:], dtype=attrs["dtype"])


register_create(
    "full",
    _infer_full,
    lambda fill, *sizes, dtype: np.full(tuple(int(s) for s in sizes), fill, dtype),
    _full_text,
    "an array that holds `fill`, a scalar, everywhere",
    pullback=_fill_pullback(0),
    pushforward=_full_pushforward,
    differentiable=(0,),
)


def _full_like_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    dtype = attrs["dtype"]
    if isinstance(types[0], Scalar):
        return args[1] if dtype == types[1].dtype else call_text(dtype_text(dtype), [args[1]])
    return call_text("np.full_like", args, {"dtype": dtype} if dtype != types[0].dtype else {})


def _full_like_pushforward(
    b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: dict[str, Any]
) -> Any:
    if dots[1] is None or attrs["dtype"] not in FLOATS:
        return None
    return b.emit("full_like", args[0], dots[1], dtype=attrs["dtype"])


register_create(
    "full_like",
    lambda b, types, attrs, operands=None: _like_type(types[0], attrs["dtype"]),
    lambda x, fill, dtype: np.full(np.shape(x), fill, dtype)[()],
    _full_like_text,
    "an array that holds `fill` everywhere, in the shape of x",
    pullback=_fill_pullback(1),
    pushforward=_full_like_pushforward,
    differentiable=(1,),
)


def as_sizes(b: Builder, shape: Any) -> list[Any]:
    """The sizes of a shape argument (an int or a sequence of ints), as ints or int64 Syms."""
    if isinstance(shape, Sym) and shape.ndim == 1:
        raise UnsupportedError("a shape given as an array", advice="give a tuple of sizes")
    sizes = [constant_value(s) for s in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    for s in sizes:
        if isinstance(s, int):
            b.sym(s)  # refuses what does not fit in 64 bits
        dtype = s.dtype if isinstance(s, Sym) else np.asarray(s).dtype.name
        if not dtype.startswith(("int", "uint")):
            raise TypeError(f"'{dtype}' object cannot be interpreted as an integer")
        if not isinstance(s, Sym) and s < 0:
            raise ValueError("negative dimensions are not allowed")
    return [s.astype("int64") if isinstance(s, Sym) else int(s) for s in sizes]


def _filled_surfaces(name: str) -> None:
    @surface(f"numpy.{name}")
    def build(b: Builder, shape: Any, dtype: Any = None, order: Any = "C", **keywords: Any) -> Sym:
        refuse_keywords(f"numpy.{name}", keywords)
        return b.emit(name, *as_sizes(b, shape), dtype=as_dtype(dtype))

    @surface(f"numpy.{name}_like")
    def build_like(
        b: Builder,
        a: Any,
        dtype: Any = None,
        order: Any = "K",
        subok: Any = True,
        shape: Any = None,
    ) -> Sym:
        x = as_operand(b, a)
        dtype = as_dtype(dtype, x.dtype)
        if shape is not None:
            return b.emit(name, *as_sizes(b, shape), dtype=dtype)
        return as_numpy_scalar(b.emit(f"{name}_like", x, dtype=dtype))


for _name in ("zeros", "ones", "empty"):
    _filled_surfaces(_name)


@surface("numpy.full")
def build_full(
    b: Builder, shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **keywords: Any
) -> Sym:
    refuse_keywords("numpy.full", keywords)
    fill = as_operand(b, fill_value)
    dtype, sizes = as_dtype(dtype, fill.dtype), as_sizes(b, shape)
    if fill.ndim:
        return b.emit("broadcast_to", fill.astype(dtype), *sizes)
    _require_integer_fit(b, fill, dtype)
    return b.emit("full", fill, *sizes, dtype=dtype)


def _require_integer_fit(b: Builder, fill: Sym, dtype: str) -> None:
    """The range check of `np.full`: it checks Python integers, and casts floats as `astype`."""
    if fill.dtype == "int64":
        require_in_range(b, fill, dtype)


@surface("numpy.full_like")
def build_full_like(
    b: Builder,
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: Any = True,
    shape: Any = None,
) -> Sym:
    x, fill = as_operand(b, a), as_operand(b, fill_value)
    dtype = as_dtype(dtype, x.dtype)
    if shape is not None:
        return build_full(b, shape, fill, dtype)
    if fill.ndim:
        return b.emit("broadcast_like", fill.astype(dtype), x)
    _require_integer_fit(b, fill, dtype)
    return as_numpy_scalar(b.emit("full_like", x, fill, dtype=dtype))


# ---------------------------------------------------------------- packed from scalars


def _pack_text(args: Sequence[Text], attrs: dict[str, Any], types: Sequence[Type]) -> Text:
    cells = iter([wrap(a, TERNARY) for a in args])

    def rows(shape: tuple[int, ...]) -> str:
        if not shape:
            return next(cells)
        return f"[{', '.join(rows(shape[1:]) for _ in range(shape[0]))}]"

    default = join_dtypes(types) if types else "float64"
    keywords = {"dtype": attrs["dtype"]} if attrs["dtype"] != default else {}
    return call_text("np.array", [(rows(attrs["shape"]), ATOM)], keywords)


def _pack_pullback(
    b: Builder, g: Any, out: Any, args: Sequence[Any], attrs: dict[str, Any], wanted: Any
) -> dict[int, Any]:
    if attrs["dtype"] not in FLOATS:
        return {}
    bars = {}
    shape = attrs["shape"]
    for i in sorted(wanted):
        if is_float(b.sym(args[i]).type):
            position = [int(k) for k in np.unravel_index(i, shape)]
            items = tuple(("int", 1 + k) for k in range(len(shape)))
            bars[i] = b.emit("index", g, *position, items=items).astype(b.sym(args[i]).dtype)
    return bars


def _pack_pushforward(
    b: Builder, dots: Sequence[Any], out: Any, args: Any, attrs: dict[str, Any]
) -> Any:
    if all(d is None for d in dots) or attrs["dtype"] not in FLOATS:
        return None
    return b.emit("pack", *(0.0 if d is None else d for d in dots), **attrs)


register_create(
    "pack",
    lambda b, types, attrs, operands=None: Array(
        attrs["dtype"], tuple(map(Dim.of, attrs["shape"]))
    ),
    lambda *cells, shape, dtype: np.array(cells, dtype).reshape(shape),
    _pack_text,
    "the array of given scalars, in C order",
    pullback=_pack_pullback,
    pushforward=_pack_pushforward,
    differentiable=None,
)


@surface("numpy.array")
def build_array(
    b: Builder,
    object: Any,
    dtype: Any = None,
    copy: Any = True,
    order: Any = "K",
    ndmin: Any = 0,
    **keywords: Any,
) -> Any:
    refuse_keywords("numpy.array", keywords)
    if require_static(ndmin, "ndmin"):
        refuse_keywords("numpy.array", {"ndmin": ndmin})
    x = _as_array(b, object, dtype)
    # A value that was just created needs no copy.
    return (
        b.emit("copy", x)
        if isinstance(object, Sym) and x is object and require_static(copy, "copy")
        else x
    )


@surface("numpy.ascontiguousarray")
def build_ascontiguousarray(b: Builder, a: Any, dtype: Any = None) -> Any:
    x = _as_array(b, a, dtype)
    return x if b.sym(x).ndim else SURFACES["numpy.atleast_1d"](b, x)


@surface("numpy.asarray", "numpy.asanyarray")
def build_asarray(b: Builder, a: Any, dtype: Any = None, order: Any = None, **keywords: Any) -> Any:
    refuse_keywords("numpy.asarray", keywords)
    return _as_array(b, a, dtype)


def _as_array(b: Builder, value: Any, dtype: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return _nested(b, list(value), dtype)
    x = b.sym(value)
    dtype = as_dtype(dtype, x.dtype)
    if isinstance(x.type, Array):
        return x.astype(dtype)
    if isinstance(x.type, Scalar):
        require_in_range(b, x, dtype)
        return b.emit("pack", x, shape=(), dtype=dtype)
    if isinstance(x.type, ListOf):
        return b.emit("list_stack", x).astype(dtype)
    raise UnsupportedError(
        "numpy.array of this", advice="give numbers, arrays or sequences of them"
    )


_INHOMOGENEOUS = (
    "setting an array element with a sequence. The requested array has an inhomogeneous shape"
)


def _nested(b: Builder, rows: list[Any], dtype: Any) -> Sym:
    """The array of a nested sequence: packed if it holds scalars only, otherwise stacked."""
    cells: list[Sym] = []
    shape = _flatten(b, rows, cells)
    if shape is not None:
        if not cells:
            sizes = [int(n) for n in shape]
            return b.emit("zeros", *sizes, dtype=as_dtype(dtype))
        # A Python scalar in a sequence is not weak: NumPy promotes the elements' own dtypes.
        strong = [Scalar(c.dtype) for c in cells]
        dtype = as_dtype(dtype, join_dtypes(strong))
        for cell in cells:
            require_in_range(b, cell, dtype)
        return b.emit("pack", *cells, shape=shape, dtype=dtype)
    parts = [
        _nested(b, list(r), dtype) if isinstance(r, (list, tuple)) else _as_array(b, r, dtype)
        for r in rows
    ]
    if len({p.ndim for p in parts}) > 1:
        raise ValueError(_INHOMOGENEOUS)
    joined = as_dtype(dtype, join_dtypes([p.type for p in parts]))
    return b.emit("stack", *(p.astype(joined) for p in parts), axis=0)


def _flatten(b: Builder, value: Any, cells: list[Sym]) -> tuple[int, ...] | None:
    """Append the scalars of a nested sequence to `cells`.

    Returns its shape, or None if it contains arrays."""
    if not isinstance(value, (list, tuple)):
        x = b.sym(value)
        if not isinstance(x.type, Scalar):
            return None
        cells.append(x)
        return ()
    shapes = [_flatten(b, v, cells) for v in value]
    if None in shapes:
        return None
    if len(set(shapes)) > 1:
        raise ValueError(_INHOMOGENEOUS)
    inner = shapes[0] if shapes else ()
    assert inner is not None
    return (len(value), *inner)
