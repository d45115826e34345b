"""Replaces functions of NVIDIA's device library by those of the host's C library or by LLVM IR."""

from __future__ import annotations

import re

from ..errors import UnsupportedError

# Same names and meanings as in C, for double; with the suffix f for float.
_LIBM = frozenset(
    """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1
    fabs floor fma fmax fmin fmod hypot ldexp lgamma log log10 log1p log2 nearbyint nextafter pow
    remainder rint round sin sinh sqrt tan tanh tgamma trunc""".split()
)


def _classify(name: str, condition: str, type_: str) -> str:
    return (
        f"define internal i32 @{name}({type_} %x) alwaysinline {{\n{condition}\n"
        "  %r = zext i1 %c to i32\n  ret i32 %r\n}"
    )


def _is_nan(type_: str) -> str:
    return f"  %c = fcmp uno {type_} %x, %x"


def _is_finite(type_: str) -> str:
    return f"  %d = fsub {type_} %x, %x\n  %c = fcmp ord {type_} %d, %d"


def _is_inf(type_: str) -> str:
    return (
        f"  %d = fsub {type_} %x, %x\n  %a = fcmp uno {type_} %d, %d\n"
        f"  %b = fcmp ord {type_} %x, %x\n  %c = and i1 %a, %b"
    )


def _signbit(type_: str) -> str:
    integer = "i64" if type_ == "double" else "i32"
    return f"  %i = bitcast {type_} %x to {integer}\n  %c = icmp slt {integer} %i, 0"


def _absolute(name: str, type_: str) -> str:
    return (
        f"define internal {type_} @{name}({type_} %x) alwaysinline {{\n"
        f"  %n = sub {type_} 0, %x\n  %c = icmp slt {type_} %x, 0\n"
        f"  %r = select i1 %c, {type_} %n, {type_} %x\n  ret {type_} %r\n}}"
    )


def _high_product(name: str, extend: str) -> str:
    shift = "lshr" if extend == "zext" else "ashr"
    return (
        f"define internal i64 @{name}(i64 %x, i64 %y) alwaysinline {{\n"
        f"  %a = {extend} i64 %x to i128\n  %b = {extend} i64 %y to i128\n"
        f"  %p = mul i128 %a, %b\n  %h = {shift} i128 %p, 64\n"
        "  %r = trunc i128 %h to i64\n  ret i64 %r\n}"
    )


def _power(name: str, type_: str) -> str:
    call = "pow" if type_ == "double" else "powf"
    return (
        f"declare {type_} @{call}({type_}, {type_})\n"
        f"define internal {type_} @{name}({type_} %x, i32 %n) alwaysinline {{\n"
        f"  %y = sitofp i32 %n to {type_}\n"
        f"  %r = call {type_} @{call}({type_} %x, {type_} %y)\n  ret {type_} %r\n}}"
    )


def _reciprocal_root(name: str, type_: str) -> str:
    call = "sqrt" if type_ == "double" else "sqrtf"
    return (
        f"declare {type_} @{call}({type_})\n"
        f"define internal {type_} @{name}({type_} %x) alwaysinline {{\n"
        f"  %y = call {type_} @{call}({type_} %x)\n"
        f"  %r = fdiv {type_} 1.0, %y\n  ret {type_} %r\n}}"
    )


_DEFINED = {
    "__nv_isnand": _classify("__nv_isnand", _is_nan("double"), "double"),
    "__nv_isnanf": _classify("__nv_isnanf", _is_nan("float"), "float"),
    "__nv_isfinited": _classify("__nv_isfinited", _is_finite("double"), "double"),
    "__nv_finitef": _classify("__nv_finitef", _is_finite("float"), "float"),
    "__nv_isinfd": _classify("__nv_isinfd", _is_inf("double"), "double"),
    "__nv_isinff": _classify("__nv_isinff", _is_inf("float"), "float"),
    "__nv_signbitd": _classify("__nv_signbitd", _signbit("double"), "double"),
    "__nv_signbitf": _classify("__nv_signbitf", _signbit("float"), "float"),
    "__nv_llabs": _absolute("__nv_llabs", "i64"),
    "__nv_abs": _absolute("__nv_abs", "i32"),
    "__nv_umul64hi": _high_product("__nv_umul64hi", "zext"),
    "__nv_mul64hi": _high_product("__nv_mul64hi", "sext"),
    "__nv_powi": _power("__nv_powi", "double"),
    "__nv_powif": _power("__nv_powif", "float"),
    "__nv_rsqrt": _reciprocal_root("__nv_rsqrt", "double"),
    "__nv_rsqrtf": _reciprocal_root("__nv_rsqrtf", "float"),
}


def replaced(text: str) -> str:
    """LLVM IR whose calls of the device library are calls of the host's, or of functions defined at
    its end."""
    declared = re.compile(r'^declare \S+ @"?(__nv_\w+)"?\(.*$', re.MULTILINE)
    for name in sorted(set(declared.findall(text))):
        plain = name.removeprefix("__nv_")
        if name in _DEFINED:
            text = re.sub(rf'^declare \S+ @"?{name}"?\(.*$', "", text, flags=re.MULTILINE)
            text += f"\n{_DEFINED[name]}\n"
        elif plain in _LIBM or (plain.endswith("f") and plain[:-1] in _LIBM):
            text = re.sub(rf'"?{name}"?(?=\()', f'"{plain}"', text)
        else:
            raise UnsupportedError(
                f"the emulator of CUDA kernels does not know {name}",
                advice='compile with target="cuda", or without a target',
            )
    return text
