"""The passes of Fourier transforms as LLVM IR, vectorised over adjacent elements.

A pass of radix r takes n rows of `wide` complex numbers, with real and imaginary parts in separate
arrays, and produces rows that are r times as wide: rows p, p + m, … are combined into adjacent
elements.  In Numba's loops over so few adjacent elements, LLVM would emit an alias check for each
loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ..codegen.loop_metadata import loop_metadata_node

# Bytes of a vector.
_VECTOR_BYTES = 32
_FLAGS = ("contract",)
_INT = ir.IntType(64)


@dataclass
class _Real:
    """A real scalar or vector IR value with arithmetic operators."""

    builder: Any
    value: Any

    def __add__(self, other: _Real) -> _Real:
        return self._with("fadd", other)

    def __sub__(self, other: _Real) -> _Real:
        return self._with("fsub", other)

    def __mul__(self, other: _Real | float) -> _Real:
        return self._with("fmul", other)

    def _with(self, name: str, other: _Real | float) -> _Real:
        kind = self.value.type
        if not isinstance(other, _Real):
            number = [other] * kind.count if isinstance(kind, ir.VectorType) else other
            other = _Real(self.builder, ir.Constant(kind, number))
        made = getattr(self.builder, name)(self.value, other.value, flags=_FLAGS)
        return _Real(self.builder, made)


@dataclass
class _Complex:
    re: _Real
    im: _Real

    def __add__(self, other: _Complex) -> _Complex:
        return _Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: _Complex) -> _Complex:
        return _Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other: _Complex | float) -> _Complex:
        if not isinstance(other, _Complex):
            return _Complex(self.re * other, self.im * other)
        a, b = self, other
        return _Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)

    def turned(self, sign: _Real) -> _Complex:
        """sign * i * z"""
        return _Complex(self.im * sign * -1.0, self.re * sign)


# ---------------------------------------------------------------- butterflies


def _butterfly2(z: list[_Complex], sign: _Real) -> list[_Complex]:
    a, b = z
    return [a + b, a - b]


def _butterfly3(z: list[_Complex], sign: _Real) -> list[_Complex]:
    a, b, c = z
    both = b + c
    middle, turned = a - both * 0.5, ((b - c) * math.sqrt(0.75)).turned(sign)
    return [a + both, middle + turned, middle - turned]


def _butterfly4(z: list[_Complex], sign: _Real) -> list[_Complex]:
    a, b, c, d = z
    even, odd, less, turned = a + c, b + d, a - c, (b - d).turned(sign)
    return [even + odd, less + turned, even - odd, less - turned]


def _butterfly5(z: list[_Complex], sign: _Real) -> list[_Complex]:
    a, b, c, d, e = z
    (c1, s1), (c2, s2) = ((math.cos(t), math.sin(t)) for t in (0.4 * math.pi, 0.8 * math.pi))
    outer, inner = b + e, c + d
    first, second = a + outer * c1 + inner * c2, a + outer * c2 + inner * c1
    b, c = b - e, c - d
    one, two = (b * s1 + c * s2).turned(sign), (b * s2 - c * s1).turned(sign)
    return [a + outer + inner, first + one, second + two, second - two, first - one]


# ---------------------------------------------------------------- passes


def _pass(radix: int, few: Callable[[list[_Complex], _Real], list[_Complex]]) -> Any:
    @intrinsic
    def one(typingctx, xr, xi, yr, yi, m, wide, step, w, sign):  # type: ignore[no-untyped-def]
        """A pass.  Results are multiplied by the twiddle factors w[k p step], unless m is 1."""
        signature = types.void(xr, xi, yr, yi, m, wide, step, w, sign)
        return signature, lambda *parts: _emit(radix, few, *parts)

    return one


def _emit(radix: int, few: Any, context: Any, builder: Any, signature: Any, args: Any) -> Any:
    arrays = [
        context.make_array(signature.args[i])(context, builder, args[i]) for i in (*range(4), 7)
    ]
    xr, xi, yr, yi, w = (array.data for array in arrays)
    m, wide, step, sign = (args[i] for i in (4, 5, 6, 8))
    number = xr.type.pointee
    item = 4 if isinstance(number, ir.FloatType) else 8
    lanes = _VECTOR_BYTES // item
    w = builder.bitcast(w, number.as_pointer())
    rows = builder.mul(m, wide)

    def spread(value: Any, kind: Any) -> _Real:
        if kind == number:
            return _Real(builder, value)
        empty = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(empty, value, ir.IntType(32)(0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), lanes), None)
        return _Real(builder, builder.shuffle_vector(first, empty, order))

    def neighbours(kind: Any, p: Any, turning: bool) -> None:
        width = lanes if kind != number else 1
        direction = spread(sign, kind)
        twiddles = []
        for k in range(1, radix) if turning else ():
            at = builder.mul(builder.mul(_INT(2 * k), p), step)
            parts = (builder.load(builder.gep(w, [builder.add(at, _INT(i))])) for i in range(2))
            twiddles.append(_Complex(*(spread(part, kind) for part in parts)))
        start = builder.mul(p, wide)
        goal = builder.mul(start, _INT(radix))
        with _plain_loop(builder, wide, width) as q:

            def place(base: Any, at: Any, k: int, step: Any) -> Any:
                offset = builder.add(builder.add(at, q), builder.mul(_INT(k), step))
                return builder.bitcast(builder.gep(base, [offset]), kind.as_pointer())

            given = [
                _Complex(*(
                    _Real(builder, builder.load(place(base, start, k, rows), align=item))
                    for base in (xr, xi)
                ))
                for k in range(radix)
            ]  # fmt: skip
            for k, value in enumerate(few(given, direction)):
                if k and turning:
                    value = value * twiddles[k - 1]
                for base, part in ((yr, value.re), (yi, value.im)):
                    builder.store(part.value, place(base, goal, k, wide), align=item)

    kinds = (ir.VectorType(number, lanes), number)
    even = builder.icmp_signed("==", builder.srem(wide, _INT(lanes)), _INT(0))
    with builder.if_else(even) as (several, single):
        with several, builder.if_else(builder.icmp_signed("==", m, _INT(1))) as (last, other):
            with last:
                neighbours(kinds[0], _INT(0), False)
            with other, _plain_loop(builder, m) as p:
                neighbours(kinds[0], p, True)
        with single, _plain_loop(builder, m) as p:
            neighbours(kinds[1], p, True)
    return context.get_dummy_value()


@contextmanager
def _plain_loop(builder: Any, stop: Any, step: int = 1) -> Iterator[Any]:
    """A loop over 0, step, … that LLVM neither vectorises nor unrolls, which saves compile time."""
    before = builder.block
    head, inside, after = (builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    i = builder.phi(_INT)
    i.add_incoming(_INT(0), before)
    builder.cbranch(builder.icmp_signed("<", i, stop), inside, after)
    builder.position_at_end(inside)
    yield i
    i.add_incoming(builder.add(i, _INT(step)), builder.block)
    hints = [("vectorize.width", 1), ("interleave.count", 1), ("unroll.disable", None)]
    builder.branch(head).set_metadata("llvm.loop", loop_metadata_node(builder.module, hints))
    builder.position_at_end(after)


pass2, pass3, pass4, pass5 = (
    _pass(radix, few)
    for radix, few in ((2, _butterfly2), (3, _butterfly3), (4, _butterfly4), (5, _butterfly5))
)
