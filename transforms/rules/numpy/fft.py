"""Discrete Fourier transforms along one axis.

Operations: `fft` (complex, forward or inverse), `rfft` (real input), `irfft` (real output), and
`resize`, which truncates an axis or pads it with zeros.

The matrix of `fft` is symmetric, so its pullback is the same transform.  `rfft` leaves out the half
of the spectrum that is the conjugate of the other half.  The pullbacks of `rfft` and `irfft`
account for it by a weight of 2 on all frequencies that have a mirror image.

NumPy's functions of several axes apply these operations to one axis after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Array, Type, is_complex, real_dtype
from ...ir.op_registry import SURFACES, Rule, register, surface
from ...ir.precedence import ATOM, TERNARY, Text, wrap
from ...ir.symbolic_dims import Dim, floordiv
from ...runtime.helpers import resize_axis
from ..axes_and_sizes import (
    axes_of,
    axis_of,
    constant_value,
    iota,
    require_static,
    size_of,
    symbolic_size,
    value_error,
)
from ..declare import as_operand, constant_like
from .complex_numbers import conjugate

Attrs = dict[str, Any]

# The norm with the scalings of forward and inverse transform exchanged.
_OPPOSITE_NORM = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def complex_dtype(dtype: str) -> str:
    """The dtype of the transform of an array."""
    return "complex64" if dtype in ("float32", "float16", "complex64") else "complex128"


# ---------------------------------------------------------------- the operations


def _resized(shape: tuple[Dim, ...], axis: int, size: Dim) -> tuple[Dim, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _infer_fft(b: Builder, types: Sequence[Any], attrs: Attrs, operands: Any = None) -> Type:
    return Array(complex_dtype(types[0].dtype), types[0].shape)


def _infer_rfft(b: Builder, types: Sequence[Any], attrs: Attrs, operands: Any = None) -> Type:
    x, axis = types[0], attrs["axis"]
    half = floordiv(x.shape[axis], Dim.of(2)) + 1
    return Array(complex_dtype(x.dtype), _resized(x.shape, axis, half))


def _infer_irfft(b: Builder, types: Sequence[Any], attrs: Attrs, operands: Any) -> Type:
    y = types[0]
    shape = _resized(y.shape, attrs["axis"], symbolic_size(operands[1]))
    return Array(real_dtype(complex_dtype(y.dtype)), shape)


def _infer_resize(b: Builder, types: Sequence[Any], attrs: Attrs, operands: Any) -> Type:
    shape = _resized(types[0].shape, attrs["axis"], symbolic_size(operands[1]))
    return Array(types[0].dtype, shape)


def _weights(b: Builder, like: Sym, n: Any, axis: int, mirrored: float) -> Sym:
    """Weights of the frequencies of a real signal of length n, shaped to broadcast against `like`.

    `mirrored` for frequencies that have a mirror image, 1 for 0 and n / 2, which have none."""
    k = iota(b, size_of(b, like, axis))
    own = (k == 0) | (k * 2 == n)
    one = b.sym(constant_like(1.0, b.sym(np.dtype(real_dtype(like.dtype)).type(1))))
    weights = b.emit("where", own, one, one * mirrored)
    axes = tuple(i for i in range(like.ndim) if i != axis)
    return b.emit("expand_dims", weights, axes=axes) if axes else weights


def _pull_fft(b: Builder, g: Sym, x: Sym, attrs: Attrs) -> Sym:
    return b.emit("fft", g, **attrs)


def _pull_rfft(b: Builder, g: Sym, x: Sym, attrs: Attrs) -> Sym:
    axis = attrs["axis"]
    n = size_of(b, x, axis)
    half = conjugate(g) * _weights(b, g, n, axis, 0.5)
    return b.emit("irfft", half, n, axis=axis, norm=_OPPOSITE_NORM[attrs["norm"]])


def _pull_irfft(b: Builder, g: Sym, x: Sym, attrs: Attrs) -> Sym:
    axis = attrs["axis"]
    spectrum = conjugate(b.emit("rfft", g, axis=axis, norm=_OPPOSITE_NORM[attrs["norm"]]))
    return spectrum * _weights(b, spectrum, size_of(b, g, axis), axis, 2.0)


def _pull_resize(b: Builder, g: Sym, x: Sym, attrs: Attrs) -> Sym:
    return b.emit("resize", g, size_of(b, x, attrs["axis"]), **attrs)


def _text(name: str) -> Callable[..., Text]:
    def text(args: Sequence[Text], attrs: Attrs, types: Sequence[Type]) -> Text:
        parts = [wrap(a, TERNARY) for a in args]
        if attrs["axis"] != types[0].ndim - 1:
            parts.append(f"axis={attrs['axis']}")
        if attrs["norm"] != "backward":
            parts.append(f'norm="{attrs["norm"]}"')
        return f"np.fft.{'i' if attrs.get('inverse') else ''}{name}({', '.join(parts)})", ATOM

    return text


def _resize_text(args: Sequence[Text], attrs: Attrs, types: Sequence[Type]) -> Text:
    parts = [wrap(a, TERNARY) for a in args] + [f"axis={attrs['axis']}"]
    return f"resize_axis({', '.join(parts)})", ATOM


def _evaluate_fft(x: Any, axis: int, inverse: bool, norm: str) -> Any:
    return (np.fft.ifft if inverse else np.fft.fft)(x, axis=axis, norm=norm)  # type: ignore[arg-type]


def _declare(name: str, infer: Any, evaluate: Any, text: Any, pull: Any, doc: str) -> None:
    def pullback(b: Builder, g: Any, out: Any, args: Any, attrs: Attrs, wanted: Any) -> Any:
        return {0: pull(b, b.sym(g), b.sym(args[0]), attrs)} if 0 in wanted else {}

    def pushforward(b: Builder, dots: Any, out: Any, args: Any, attrs: Attrs) -> Any:
        return None if dots[0] is None else b.emit(name, dots[0], *args[1:], **attrs)

    register(
        Rule(
            name,
            "opaque",
            infer,
            evaluate=evaluate,
            text=text,
            pullback=pullback,
            pushforward=pushforward,
            differentiable=(0,),
            doc=doc,
        )
    )


_declare(
    "fft", _infer_fft, _evaluate_fft, _text("fft"), _pull_fft,
    "the discrete Fourier transform along an axis, or its inverse",
)  # fmt: skip
_declare(
    "rfft", _infer_rfft, lambda x, axis, norm: np.fft.rfft(x, axis=axis, norm=norm),
    _text("rfft"), _pull_rfft, "the transform of real numbers, without redundant frequencies",
)  # fmt: skip
_declare(
    "irfft", _infer_irfft, lambda y, n, axis, norm: np.fft.irfft(y, n, axis, norm),
    _text("irfft"), _pull_irfft, "n real numbers: the inverse of rfft",
)  # fmt: skip
_declare(
    "resize", _infer_resize, resize_axis, _resize_text, _pull_resize,
    "truncated or padded with zeros to a size along an axis",
)  # fmt: skip


# ---------------------------------------------------------------- one axis


def _norm(norm: Any) -> str:
    norm = require_static(norm, "norm") or "backward"
    if norm not in _OPPOSITE_NORM:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return norm


def _operand(b: Builder, a: Any) -> Sym:
    x = as_operand(b, a)
    if x.ndim == 0:
        raise value_error(b, "tuple index out of range")
    if x.dtype in ("float32", "float64", "complex64", "complex128"):
        return x
    return x.astype("float32" if x.dtype == "float16" else "float64")


def _sized(b: Builder, x: Sym, n: Any, axis: int) -> Sym:
    """x truncated or padded to size n along an axis; x itself if it has that size."""
    n = size_of(b, x, axis) if n is None else constant_value(n)
    _check_size(b, n)
    dim = symbolic_size(n.operand) if isinstance(n, Sym) else Dim.of(n)
    if b.facts.known_equal(dim, x.type.shape[axis]):
        return x
    return b.emit("resize", x, n, axis=axis)


def _check_size(b: Builder, n: Any) -> None:
    size = n if isinstance(n, Sym) else str(n)
    message = ("Invalid number of FFT data points (", size, ") specified.")
    b.check(n >= 1, "ValueError", *message)


def _complex(b: Builder, a: Any, n: Any, axis: Any, norm: Any, inverse: bool) -> Sym:
    x = _operand(b, a)
    at = axis_of(b, axis, x.ndim)
    x = _sized(b, x, n, at).astype(complex_dtype(x.dtype))
    return b.emit("fft", x, axis=at, inverse=inverse, norm=_norm(norm))


@surface("numpy.fft.fft", "scipy.fft.fft")
def build_fft(b: Builder, a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Sym:
    return _complex(b, a, n, axis, norm, inverse=False)


@surface("numpy.fft.ifft", "scipy.fft.ifft")
def build_ifft(b: Builder, a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Sym:
    return _complex(b, a, n, axis, norm, inverse=True)


@surface("numpy.fft.rfft", "scipy.fft.rfft")
def build_rfft(b: Builder, a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Sym:
    x = _operand(b, a)
    if is_complex(x.type):
        raise TypeError("rfft takes real numbers; take the real part, or use fft")
    at = axis_of(b, axis, x.ndim)
    return b.emit("rfft", _sized(b, x, n, at), axis=at, norm=_norm(norm))


@surface("numpy.fft.irfft", "scipy.fft.irfft")
def build_irfft(b: Builder, a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Sym:
    x = _operand(b, a)
    at = axis_of(b, axis, x.ndim)
    half = None if n is None else constant_value(n) // 2 + 1
    n = (size_of(b, x, at) - 1) * 2 if n is None else constant_value(n)
    _check_size(b, n)
    x = _sized(b, x, half, at).astype(complex_dtype(x.dtype))
    return b.emit("irfft", x, n, axis=at, norm=_norm(norm))


@surface("numpy.fft.hfft", "scipy.fft.hfft")
def build_hfft(b: Builder, a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Sym:
    return build_irfft(b, conjugate(_operand(b, a)), n, axis, _OPPOSITE_NORM[_norm(norm)])


@surface("numpy.fft.ihfft", "scipy.fft.ihfft")
def build_ihfft(b: Builder, a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Sym:
    return conjugate(build_rfft(b, a, n, axis, _OPPOSITE_NORM[_norm(norm)]))


# ---------------------------------------------------------------- several axes


def _plan(b: Builder, x: Sym, s: Any, axes: Any) -> list[tuple[int, Any]]:
    """Pairs of an axis and its requested size (None: unchanged)."""
    if s is not None and not isinstance(s, (tuple, list)):
        raise TypeError("s must be a sequence of integers")
    if axes is None:
        count = x.ndim if s is None else len(s)
        axes = range(-count, 0)
    axes = require_static(tuple(axes), "axes")
    chosen = (
        axes_of(b, axes, x.ndim)
        if len(set(axes)) == len(axes)
        else tuple(axis_of(b, a, x.ndim) for a in axes)
    )
    sizes: list[Any] = [None] * len(chosen) if s is None else [constant_value(n) for n in s]
    sizes = [None if isinstance(n, int) and n == -1 else n for n in sizes]
    if len(sizes) != len(chosen):
        raise ValueError("Shape and axes have different lengths.")
    return list(zip(chosen, sizes))


def _several(name: str, axes: Any) -> None:
    """Declare `fftn` or a similar function; names that end in 2 differ in the default axes only."""
    kind = name.rstrip("n2")

    @surface(f"numpy.fft.{name}", f"scipy.fft.{name}")
    def build(
        b: Builder, a: Any, s: Any = None, axes: Any = axes, norm: Any = None, out: Any = None
    ) -> Sym:
        x = _operand(b, a)
        plan = _plan(b, x, s, axes)
        if kind in ("fft", "ifft"):
            for at, n in reversed(plan):
                x = _complex(b, x, n, at, norm, inverse=kind == "ifft")
            return x
        *rest, (last, size) = plan
        if kind == "rfft":
            x = build_rfft(b, x, size, last, norm)
            for at, n in reversed(rest):
                x = build_fft(b, x, n, at, norm)
            return x
        for at, n in rest:
            x = build_ifft(b, x, n, at, norm)
        return build_irfft(b, x, size, last, norm)


for _name in ("fft", "ifft", "rfft", "irfft"):
    _several(f"{_name}n", None)
    _several(f"{_name}2", (-2, -1))


# ---------------------------------------------------------------- frequencies


def _shift(sign: int) -> Callable[..., Sym]:
    def build(b: Builder, x: Any, axes: Any = None) -> Sym:
        x = as_operand(b, x)
        if not x.ndim:
            raise value_error(b, "a number has no axis to shift along")
        for at in range(x.ndim) if axes is None else axes_of(b, axes, x.ndim):
            half = size_of(b, x, at) // 2
            x = SURFACES["numpy.roll"](b, x, half if sign > 0 else -half, at)
        return x

    return build


surface("numpy.fft.fftshift", "scipy.fft.fftshift")(_shift(1))
surface("numpy.fft.ifftshift", "scipy.fft.ifftshift")(_shift(-1))


@surface("numpy.fft.fftfreq", "scipy.fft.fftfreq")
def build_fftfreq(b: Builder, n: Any, d: Any = 1.0) -> Sym:
    k = iota(b, n)
    signed = b.emit("where", k * 2 < n, k, k - n)
    return signed * (1.0 / (b.sym(n) * b.sym(d)))


@surface("numpy.fft.rfftfreq", "scipy.fft.rfftfreq")
def build_rfftfreq(b: Builder, n: Any, d: Any = 1.0) -> Sym:
    k = iota(b, n // 2 + 1)
    return k * (1.0 / (b.sym(n) * b.sym(d)))
