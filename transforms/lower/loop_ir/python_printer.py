"""Printer from loop-level IR to a Python module, which Numba compiles and CPython can run.

Scalars must behave alike under both.  Under CPython an operand of arithmetic is a NumPy scalar, so
that 1.0 / 0.0 is inf.  Under Numba every operand has the dtype it is printed with.
"""

from __future__ import annotations

import math
from typing import Any

from ...ir.quote import python_comment
from . import nodes as L

_PRECEDENCE = {
    "or": 1, "and": 2, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
    "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9,
    "*": 10, "/": 10, "//": 10, "%": 10, "**": 13,
}  # fmt: skip
_SELECT, _NOT, _UNARY, _ATOM = 0, 3, 11, 20
_WRAPPED_DTYPES = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")

HEADER = """import numpy as np

from s2s import kernels as rt
"""


def print_module(routines: list[L.Routine], header: str = "") -> str:
    """The source of a Python module with the given routines."""
    parts = [header + HEADER]
    parts += [_routine(r) for r in routines]
    return "\n\n".join(parts)


def _routine(routine: L.Routine) -> str:
    lines = [f"def {routine.name}({', '.join(p.name for p in routine.params)}):"]
    _block(routine.body, 1, lines)
    return "\n".join(lines) + "\n"


def _block(body: list[L.Stmt], depth: int, lines: list[str]) -> None:
    pad = "    " * depth
    if all(isinstance(s, L.Comment) for s in body):
        body = [*body, L.Comment("")]
    for stmt in body:
        _stmt(stmt, pad, depth, lines)
    if all(isinstance(s, L.Comment) for s in body):
        lines.append(pad + "pass")


def _stmt(s: L.Stmt, pad: str, depth: int, lines: list[str]) -> None:
    if isinstance(s, L.Let):
        lines.append(f"{pad}{s.name} = {print_typed(s.expr)}")
    elif isinstance(s, L.Alloc):
        lines.append(f"{pad}{s.name} = np.empty({tuple_(s.sizes)}, np.{_np(s.dtype)})")
    elif isinstance(s, L.View):
        lines.append(f"{pad}{s.name} = {s.buffer}.reshape({tuple_(s.sizes)})")
    elif isinstance(s, L.Rebind):
        lines.append(f"{pad}{s.name} = {s.other}")
    elif isinstance(s, L.Store):
        op = "+=" if s.add else "="
        lines.append(f"{pad}{s.buffer}[{index(s.index)}] {op} {expr(s.expr)}")
    elif isinstance(s, L.Loop):
        lines.append(f"{pad}for {s.var} in {_range(s)}:")
        _block(s.body, depth + 1, lines)
    elif isinstance(s, L.While):
        lines.append(f"{pad}while True:")
        _block(s.body, depth + 1, lines)
    elif isinstance(s, L.Break):
        lines.append(f"{pad}break")
    elif isinstance(s, L.If):
        _branch(s, pad, depth, lines)
    elif isinstance(s, L.Fail):
        if s.site is None:
            lines.append(f"{pad}raise {s.exception}({_string(s.message)})")
        else:
            args = ", ".join([str(s.site), *(print_typed(v) for v in s.values)])
            lines.append(f"{pad}raise rt.Failure({args})")
    elif isinstance(s, L.Call):
        lines.append(f"{pad}{s.function}({_args(s.args)})")
    elif isinstance(s, L.CallBuffers):
        lines.append(f"{pad}{', '.join(s.names)} = {s.function}({_args(s.args)})")
    elif isinstance(s, L.CallRoutine):
        args = [
            f"rt.lent({_arg(a)})" if isinstance(a, L.Subview) and i not in s.owned else _arg(a)
            for i, a in enumerate(s.args)
        ]
        call = f"{s.function}({', '.join(args)})"
        names = f"({', '.join(s.names)}{',' if len(s.names) == 1 else ''})"
        lines.append(f"{pad}{names} = {call}" if s.names else pad + call)
    elif isinstance(s, L.Print):
        codes = " ".join("array" if isinstance(v, L.Subview) else v.dtype for v in s.values)
        args = [_string(s.template), _string(codes), *(_arg(v) for v in s.values)]
        lines.append(f"{pad}rt.show({', '.join(args)})")
    elif isinstance(s, L.Comment):
        if s.text:
            lines.append(f"{pad}# {python_comment(s.text)}")
    else:
        assert isinstance(s, L.Return), s
        items = [_arg(r) if isinstance(r, L.Subview) else print_typed(r) for r in s.results]
        lines.append(f"{pad}return ({', '.join(items)}{',' if len(items) == 1 else ''})")


def _branch(s: L.If, pad: str, depth: int, lines: list[str]) -> None:
    word = "if"
    while True:
        lines.append(f"{pad}{word} {expr(s.cond)}:")
        _block(s.then, depth + 1, lines)
        rest = [x for x in s.orelse if not isinstance(x, L.Comment)]
        if len(rest) == 1 and len(s.orelse) == 1 and isinstance(rest[0], L.If):
            word, s = "elif", rest[0]
            continue
        if rest:
            lines.append(f"{pad}else:")
            _block(s.orelse, depth + 1, lines)
        return


def _range(s: L.Loop) -> str:
    start, stop, step = expr(s.start), expr(s.stop), expr(s.step)
    if s.parallel:
        return f"rt.prange({stop})"
    if not L.is_lit(s.step, 1):
        return f"range({start}, {stop}, {step})"
    if not L.is_lit(s.start, 0):
        return f"range({start}, {stop})"
    return f"range({stop})"


def _args(args: tuple[L.Expr | L.Subview, ...]) -> str:
    return ", ".join(_arg(a) for a in args)


def _arg(a: L.Expr | L.Subview) -> str:
    if isinstance(a, L.Subview):
        return f"{a.buffer}[{index(a.index)}]" if a.index else a.buffer
    return print_typed(a)


def _string(text: str) -> str:
    body = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{body}"'


def _np(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


def tuple_(items: tuple[L.Expr, ...]) -> str:
    return f"({', '.join(expr(i) for i in items)}{',' if len(items) == 1 else ''})"


def index(items: tuple[L.Expr, ...]) -> str:
    return ", ".join(expr(i) for i in items) if items else "()"


def print_typed(e: L.Expr) -> str:
    """The source of a value that is stored or passed on: a literal gets its NumPy type."""
    if isinstance(e, L.Lit) and e.dtype != "bool":
        return f"np.{e.dtype}({_literal(e.value, e.dtype)})"
    return expr(e)


def expr(e: L.Expr) -> str:
    """The source of an expression."""
    return _expr(e)[0]


def _paren(e: L.Expr, precedence: int) -> str:
    """The source of an operand, in parentheses if it binds less tightly than `precedence`."""
    text, p = _expr(e)
    return text if p >= precedence else f"({text})"


def _expr(e: L.Expr) -> tuple[str, int]:
    """The source of an expression and the precedence of its outermost operator."""
    if isinstance(e, L.Lit):
        return _lit(e)
    if isinstance(e, L.Name):
        return e.name, _ATOM
    if isinstance(e, L.Load):
        return f"{e.buffer}[{index(e.index)}]", _ATOM
    if isinstance(e, L.Size):
        return f"{e.buffer}.shape[{e.axis}]", _ATOM
    if isinstance(e, L.Cast):
        # Arithmetic of narrow integers is printed with this conversion already.
        return _expr(e.x) if _wraps(e.x, e.dtype) else (f"np.{_np(e.dtype)}({expr(e.x)})", _ATOM)
    if isinstance(e, L.Apply):
        return f"{e.function}({', '.join(print_typed(a) for a in e.args)})", _ATOM
    if isinstance(e, L.Select):
        return f"{_operand(e.x, 1)} if {_paren(e.cond, 1)} else {_operand(e.y, 0)}", _SELECT
    if isinstance(e, L.Field):
        return f"{_paren(e.x, _ATOM)}[{_string(e.name)}]", _ATOM
    if isinstance(e, L.Un):
        if e.op == "not":
            return f"not {_paren(e.x, _NOT)}", _NOT
        text = f"{e.op}{_paren(e.x, _UNARY)}"
        return (f"np.{e.dtype}({text})", _ATOM) if _wraps(e, e.dtype) else (text, _UNARY)
    assert isinstance(e, L.Bin), e
    return (f"np.{e.dtype}({_bin(e)[0]})", _ATOM) if _wraps(e, e.dtype) else _bin(e)


def _wraps(e: L.Expr, dtype: str) -> bool:
    """True for arithmetic of dtype `dtype` that would not wrap around at its width.

    Numba promotes narrow integers to 64 bits.
    """
    return isinstance(e, (L.Bin, L.Un)) and e.dtype == dtype and dtype in _WRAPPED_DTYPES


def _operand(e: L.Expr, precedence: int) -> str:
    if isinstance(e, L.Lit) and e.dtype not in ("bool", "int64"):
        return print_typed(e)
    return _paren(e, precedence)


def _bin(e: L.Bin) -> tuple[str, int]:
    p = _PRECEDENCE[e.op]
    left, right = e.left, e.right
    if isinstance(left, L.Lit) and isinstance(right, L.Lit):
        return f"{print_typed(left)} {e.op} {print_typed(right)}", p
    if e.op == "<<" and isinstance(left, L.Lit):
        return f"{print_typed(left)} << {_paren(right, p + 1)}", p  # a Python int never wraps
    if e.op == "**" or e.op in _COMPARISONS:
        return f"{_paren(left, p + 1)} {e.op} {_paren(right, p + 1)}", p
    return f"{_paren(left, p)} {e.op} {_paren(right, p + 1)}", p


def _lit(e: L.Lit) -> tuple[str, int]:
    if e.dtype == "bool":
        return str(bool(e.value)), _ATOM
    if e.dtype in ("float64", "int64"):
        text = _literal(e.value, e.dtype)
        return text, _UNARY if text.startswith("-") else _ATOM
    return f"np.{e.dtype}({_literal(e.value, e.dtype)})", _ATOM


def _literal(value: Any, dtype: str) -> str:
    if dtype.startswith("complex"):
        parts = (_literal(part, "float64") for part in (value.real, value.imag))
        return f"complex({', '.join(parts)})" if value.imag else _literal(value.real, "float64")
    if not dtype.startswith("float"):
        return repr(int(value))
    value = float(value)
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)
