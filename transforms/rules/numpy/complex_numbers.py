"""Complex numbers: real and imaginary parts, conjugate, absolute value, surfaces of `cmath`.

Within an adjoint sweep the adjoint of z = x + iy is dL/dx - i dL/dy.  With this convention the
change of the loss is the real part of the sum of adjoint times change.  The pullback of a
holomorphic function has the same formula as that of a real one, and the pullback of a product or a
sum is its plain transpose, without conjugation.  Only functions that are not holomorphic need rules
of their own; they are in this file.  The adjoint of a real value is the real part; the reverse pass
takes it, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.errors import UnsupportedError
from ...ir.nodes import Array, Scalar, Type, is_complex, real_dtype
from ...ir.op_registry import RULES, Rule, register, surface
from .. import operation_text
from ..declare import as_numpy_scalar, as_operand, as_python_scalar
from ..promotion import is_weak
from . import arithmetic  # noqa: F401  (`absolute` is declared there)

Attrs = dict[str, Any]

# ---------------------------------------------------------------- parts


def _infer_part(b: Builder, types: Sequence[Type], attrs: Attrs, operands: Any = None) -> Type:
    (x,) = types
    assert isinstance(x, (Scalar, Array)), x
    dtype = real_dtype(x.dtype)
    return Array(dtype, x.shape) if isinstance(x, Array) else Scalar(dtype, is_weak(x))


def _declare_part(name: str, factor: complex) -> None:
    """Register `real` or `imag`: the real part of `factor` times the operand."""

    def pullback(b: Builder, g: Any, out: Any, args: Any, attrs: Attrs, wanted: Any) -> Any:
        if 0 not in wanted or not is_complex(b.sym(args[0]).type):
            return {}
        g = b.sym(g)
        return {0: (g if factor == 1 else g * factor).astype(b.sym(args[0]).dtype)}

    def pushforward(b: Builder, dots: Any, out: Any, args: Any, attrs: Attrs) -> Any:
        return None if dots[0] is None else b.emit(name, dots[0])

    register(
        Rule(
            name,
            "elementwise",
            _infer_part,
            evaluate=lambda x: getattr(np, name)(x).copy()[()],
            text=operation_text.attribute(name),
            pullback=pullback,
            pushforward=pushforward,
            differentiable=(0,),
        )
    )


_declare_part("real", 1)
_declare_part("imag", complex(0.0, -1.0))


def _conjugate_pullback(
    b: Builder, g: Any, out: Any, args: Any, attrs: Attrs, wanted: Any
) -> dict[int, Any]:
    return {0: conjugate(b.sym(g))} if 0 in wanted else {}


def _conjugate_pushforward(b: Builder, dots: Any, out: Any, args: Any, attrs: Attrs) -> Any:
    return None if dots[0] is None else conjugate(b.sym(dots[0]))


def conjugate(x: Sym) -> Sym:
    """The conjugate of a complex operand; a real operand itself."""
    return x.b.emit("conjugate", x) if is_complex(x.type) else x


def _infer_same(b: Builder, types: Sequence[Type], attrs: Attrs, operands: Any = None) -> Type:
    (x,) = types
    assert isinstance(x, (Scalar, Array)), x
    return Array(x.dtype, x.shape) if isinstance(x, Array) else Scalar(x.dtype, is_weak(x))


register(
    Rule(
        "conjugate",
        "elementwise",
        _infer_same,
        evaluate=np.conjugate,
        text=operation_text.by_weakness(
            operation_text.method("conjugate"), operation_text.call("np.conj")
        ),
        pullback=_conjugate_pullback,
        pushforward=_conjugate_pushforward,
        differentiable=(0,),
    )
)

# ---------------------------------------------------------------- absolute value


def _direction(b: Builder, x: Sym, out: Any) -> Sym:
    """x / |x|, and 0 at 0."""
    return x / b.emit("where", b.sym(out) == 0.0, 1.0, out)


def _complex_absolute() -> None:
    """Extend the pullback and pushforward of `absolute` to complex operands."""
    rule = RULES["absolute"]
    real_pullback, real_pushforward = rule.pullback, rule.pushforward
    assert real_pullback is not None and real_pushforward is not None

    def pullback(b: Builder, g: Any, out: Any, args: Any, attrs: Attrs, wanted: Any) -> Any:
        x = b.sym(args[0])
        if not is_complex(x.type):
            return real_pullback(b, g, out, args, attrs, wanted)
        return {0: b.sym(g) * conjugate(_direction(b, x, out))} if 0 in wanted else {}

    def pushforward(b: Builder, dots: Any, out: Any, args: Any, attrs: Attrs) -> Any:
        x = b.sym(args[0])
        if not is_complex(x.type) or dots[0] is None:
            return real_pushforward(b, dots, out, args, attrs)
        return b.emit("real", conjugate(_direction(b, x, out)) * dots[0])

    rule.pullback, rule.pushforward = pullback, pushforward


_complex_absolute()

# ---------------------------------------------------------------- surfaces


@surface("numpy.conj", "numpy.conjugate", "numpy.ndarray.conj", "numpy.ndarray.conjugate")
def build_conjugate(b: Builder, x: Any) -> Sym:
    x = as_operand(b, x)
    if x.dtype == "bool":
        raise UnsupportedError("conjugate of bools", advice="bools are their own conjugates")
    return (
        as_numpy_scalar(conjugate(x))
        if is_complex(x.type)
        else as_numpy_scalar(b.emit("positive", x))
    )


@surface("numpy.real")
def build_real(b: Builder, val: Any) -> Sym:
    x = as_operand(b, val)
    return as_numpy_scalar(b.emit("real", x) if is_complex(x.type) else _bool_as_int(x))


def _bool_as_int(x: Sym) -> Sym:
    """A Python bool as an int."""
    return x.astype("int64") if is_weak(x.type) and x.dtype == "bool" else x


@surface("numpy.imag")
def build_imag(b: Builder, val: Any) -> Sym:
    x = as_operand(b, val)
    if is_complex(x.type):
        return as_numpy_scalar(b.emit("imag", x))
    x = _bool_as_int(x)
    return as_numpy_scalar(b.emit("zeros_like", x, dtype=x.dtype))


@surface("numpy.angle")
def build_angle(b: Builder, z: Any, deg: Any = False) -> Sym:
    x = as_operand(b, z)
    if not is_complex(x.type):
        angle = b.emit("arctan2", 0, x)
        return as_numpy_scalar(np.degrees(angle) if deg else angle)
    angle = b.emit("arctan2", b.emit("imag", x), b.emit("real", x))
    return as_numpy_scalar(np.degrees(angle) if deg else angle)


@surface("builtins.complex")
def build_complex(b: Builder, real: Any = 0.0, imag: Any = None) -> Sym:
    x = b.sym(real)
    if imag is not None:
        x = x + b.sym(imag) * 1j
    if x.ndim or not isinstance(x.type, Scalar):
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return as_python_scalar(x if is_complex(x.type) else x.astype("complex128"))


@surface("numpy.iscomplexobj")
def build_iscomplexobj(b: Builder, x: Any) -> bool:
    return is_complex(as_operand(b, x).type)


@surface("numpy.isrealobj")
def build_isrealobj(b: Builder, x: Any) -> bool:
    return not is_complex(as_operand(b, x).type)


@surface("numpy.iscomplex")
def build_iscomplex(b: Builder, x: Any) -> Sym:
    return build_imag(b, x) != 0


@surface("numpy.isreal")
def build_isreal(b: Builder, x: Any) -> Sym:
    return build_imag(b, x) == 0


def _cmath(name: str) -> None:
    @surface(f"cmath.{name}")
    def build(b: Builder, x: Any) -> Sym:
        return as_python_scalar(b.emit(_CMATH.get(name, f"arc{name[1:]}"), build_complex(b, x)))


_CMATH = {n: n for n in "exp log sqrt sin cos tan sinh cosh tanh log10".split()}
for _name in (*_CMATH, "asin", "acos", "atan", "asinh", "atanh"):
    _cmath(_name)


@surface("cmath.phase")
def build_phase(b: Builder, x: Any) -> Sym:
    return as_python_scalar(build_angle(b, build_complex(b, x)))
