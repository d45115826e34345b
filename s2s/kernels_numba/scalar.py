"""Registers the compiled versions of the functions of `s2s.kernels` with Numba on import."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import objmode, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import signature
from numba.extending import intrinsic, overload, register_jitable

from .. import kernels
from ..codegen import stack_limit
from ..codegen.numba_bridge.external_call import ADDRESS, external
from ..transforms.runtime import special_functions

_OPTIONS: Any = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz", "arcp", "afn"}}

# ---------------------------------------------------------------- gemm

_xxgemm = external(
    "numba_xxgemm", types.intc,
    types.char, types.char, types.char, types.intp, types.intp, types.intp,
    ADDRESS, ADDRESS, types.intp, ADDRESS, types.intp, ADDRESS, ADDRESS, types.intp,
)  # fmt: skip

# Up to this number of multiplications, plain loops are faster than a call of BLAS.
_MAX_LOOP_PRODUCTS = 512


@overload(kernels.gemm, jit_options=_OPTIONS)
def _gemm(swap_a, swap_b, alpha, a, b, beta, c):  # type: ignore[no-untyped-def]
    letters = dict(zip((types.float32, types.float64, types.complex64, types.complex128), "sdcz"))
    kind = ord(letters[c.dtype]) if c.dtype in letters else None

    def gemm(swap_a, swap_b, alpha, a, b, beta, c):  # type: ignore[no-untyped-def]
        m, n = c.shape
        k = a.shape[0] if swap_a else a.shape[1]
        if kind is None or m * n * k <= _MAX_LOOP_PRODUCTS:
            _loops(swap_a, swap_b, alpha, a, b, beta, c)
            return
        # BLAS is column-major, so it computes c.T = b.T @ a.T.
        t = np.int8(ord("t"))
        no = np.int8(ord("n"))
        _xxgemm(
            np.int8(kind),
            t if swap_b else no,
            t if swap_a else no,
            n,
            m,
            k,
            alpha,
            b,
            b.shape[1],
            a,
            a.shape[1],
            beta,
            c,
            n,
        )

    def loops_only(swap_a, swap_b, alpha, a, b, beta, c):  # type: ignore[no-untyped-def]
        _loops(swap_a, swap_b, alpha, a, b, beta, c)

    return gemm if kind is not None else loops_only


@register_jitable
def _loops(swap_a, swap_b, alpha, a, b, beta, c):  # type: ignore[no-untyped-def]
    m, n = c.shape
    k = a.shape[0] if swap_a else a.shape[1]
    for i in range(m):
        for j in range(n):
            c[i, j] = c[i, j] * beta if beta != 0 else beta
        for p in range(k):
            x = alpha * (a[p, i] if swap_a else a[i, p])
            if swap_b:
                for j in range(n):
                    c[i, j] += x * b[j, p]
            else:
                for j in range(n):
                    c[i, j] += x * b[p, j]


@overload(kernels.gemm_at, jit_options=_OPTIONS)
def _gemm_at(a, rows, columns, b, add, c):  # type: ignore[no-untyped-def]
    def gemm_at(a, rows, columns, b, add, c):  # type: ignore[no-untyped-def]
        m, n = c.shape
        flat = a.reshape(a.size)
        for i in range(m):
            if not add:
                for j in range(n):
                    c[i, j] = 0
            for p in range(b.shape[0]):
                x = flat[rows[i] + columns[p]]
                for j in range(n):
                    c[i, j] += x * b[p, j]

    return gemm_at


# ---------------------------------------------------------------- print


def _show_tuple(template: str, dtypes: str, values: tuple[Any, ...]) -> None:
    kernels.show(template, dtypes, *values)


@overload(kernels.show)
def _show(template, dtypes, *values):  # type: ignore[no-untyped-def]
    def show(template, dtypes, *values):  # type: ignore[no-untyped-def]
        with objmode():
            _show_tuple(template, dtypes, values)

    return show


# ---------------------------------------------------------------- calls


@intrinsic
def _lend(typingctx: Any, a: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return impl_ret_borrowed(context, builder, sig.return_type, args[0])

    return signature(a.copy(readonly=True), a), codegen


@overload(kernels.lent, jit_options=_OPTIONS)
def _lent(a):  # type: ignore[no-untyped-def]
    return lambda a: _lend(a)  # pyright: ignore[reportCallIssue]


@intrinsic
def _stack_limit(typingctx: Any, reserve: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return stack_limit.stack_limit(builder, args[0])

    return signature(types.int64, types.int64), codegen


@intrinsic
def _stack_is_low(typingctx: Any, limit: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return stack_limit.stack_is_low(builder, args[0])

    return signature(types.boolean, types.int64), codegen


@overload(kernels.stack_limit, jit_options=_OPTIONS)
def _limit(reserve):  # type: ignore[no-untyped-def]
    return lambda reserve: _stack_limit(reserve)  # pyright: ignore[reportCallIssue]


@overload(kernels.stack_is_low, jit_options=_OPTIONS)
def _is_low(limit):  # type: ignore[no-untyped-def]
    return lambda limit: _stack_is_low(limit)  # pyright: ignore[reportCallIssue]


# ---------------------------------------------------------------- scalar functions

# Numba compiles these from their Python source.
for _function in (
    kernels.chunks,
    kernels.across,
    kernels.reserve,
    kernels.arange_count,
    kernels.slice_start,
    kernels.slice_stop,
):
    register_jitable(**_OPTIONS)(_function)


@overload(kernels.trip_count, jit_options=_OPTIONS)
def _trip_count(start, stop, step):  # type: ignore[no-untyped-def]
    most = np.uint64(kernels.INT64_MAX)
    one = np.uint64(1)

    def trip_count(start, stop, step):  # type: ignore[no-untyped-def]
        if not (start < stop if step > 0 else start > stop):
            return 0
        # The distance of two int64 needs uint64.
        first, last, by = np.uint64(start), np.uint64(stop), np.uint64(step)
        span = last - first if step > 0 else first - last
        times = (span - one) // (by if step > 0 else np.uint64(0) - by)
        return np.int64(times + one) if times < most else np.int64(most)

    return trip_count


@overload(kernels.to_int, jit_options=_OPTIONS)
def _to_int(x):  # type: ignore[no-untyped-def]
    return lambda x: np.int64(x)


@overload(kernels.natural_power, jit_options=_OPTIONS)
def _natural_power(x, n):  # type: ignore[no-untyped-def]
    def natural_power(x, n):  # type: ignore[no-untyped-def]
        out = np.int64(1)
        base = np.int64(x)
        left = np.int64(n)
        while left > 0:
            if left & 1:
                out *= base
            left >>= 1
            base *= base
        return out

    return natural_power


# Floor division and remainder must not be reassociated.
_EXACT_OPTIONS: Any = {"error_model": "numpy"}


@overload(kernels.floor_divide, jit_options=_EXACT_OPTIONS)
def _floor_divide(x, y):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Integer):
        if not x.signed:  # pyright: ignore[reportAttributeAccessIssue]
            return lambda x, y: x // y if y != 0 else x - x
        # The smallest integer divided by -1 is itself; Numba's own `//` gives another result.
        return lambda x, y: -x if y == -1 else x // y if y != 0 else x - x
    one = np.float32(1.0) if x == types.float32 else np.float64(1.0)
    half = one / 2
    zero = one * 0

    def floor_divide(x, y):  # type: ignore[no-untyped-def]
        if y == zero:
            return x / y
        rest = np.fmod(x, y)
        times = (x - rest) / y
        if rest != zero and (y < zero) != (rest < zero):
            times = times - one
        if times == zero:
            return np.copysign(zero, x / y)
        whole = np.floor(times)
        return whole + one if times - whole > half else whole

    return floor_divide


@overload(kernels.remainder, jit_options=_EXACT_OPTIONS)
def _remainder(x, y):  # type: ignore[no-untyped-def]
    if isinstance(x, types.Integer):
        return lambda x, y: x % y if y != 0 else x - x
    zero = np.float32(0.0) if x == types.float32 else np.float64(0.0)

    def remainder(x, y):  # type: ignore[no-untyped-def]
        rest = np.fmod(x, y)
        if rest == zero:
            return np.copysign(zero, y)
        return rest + y if (y < zero) != (rest < zero) else rest

    return remainder


@overload(kernels.fmod, jit_options=_EXACT_OPTIONS)
def _fmod(x, y):  # type: ignore[no-untyped-def]
    def fmod(x, y):  # type: ignore[no-untyped-def]
        rest = x % y if y != 0 else x - x
        return rest - y if rest != 0 and (x < 0) != (y < 0) else rest

    return fmod if isinstance(x, types.Integer) else lambda x, y: np.fmod(x, y)


@overload(kernels.erf, jit_options=_OPTIONS)
def _erf(x):  # type: ignore[no-untyped-def]
    return lambda x: math.erf(x)


@overload(kernels.erfc, jit_options=_OPTIONS)
def _erfc(x):  # type: ignore[no-untyped-def]
    return lambda x: math.erfc(x)


@overload(kernels.cbrt, jit_options=_OPTIONS)
def _cbrt(x):  # type: ignore[no-untyped-def]
    def cbrt(x):  # type: ignore[no-untyped-def]
        if x == 0 or x != x or abs(x) == np.inf:
            return x
        root = math.copysign(abs(x) ** (1.0 / 3.0), x)
        return root - (root * root * root - x) / (3.0 * root * root)

    return cbrt


@overload(kernels.sinc, jit_options=_OPTIONS)
def _sinc(x):  # type: ignore[no-untyped-def]
    def sinc(x):  # type: ignore[no-untyped-def]
        y = np.pi * (x if x != 0 else 1.0e-20)
        return np.sin(y) / y

    return sinc


@overload(kernels.heaviside, jit_options=_OPTIONS)
def _heaviside(x, at_zero):  # type: ignore[no-untyped-def]
    number = np.float32 if x == at_zero == types.float32 else np.float64

    def heaviside(x, at_zero):  # type: ignore[no-untyped-def]
        if x != x:
            return number(x)
        return number(0) if x < 0 else (number(1) if x > 0 else number(at_zero))

    return heaviside


@overload(kernels.float_power, jit_options=_OPTIONS)
def _float_power(x, y):  # type: ignore[no-untyped-def]
    return lambda x, y: np.float64(x) ** np.float64(y)


# ---------------------------------------------------------------- special functions


def _special(function: Any) -> None:
    compiled = register_jitable(function)
    two = function.__code__.co_argcount == 2
    one, both = (lambda x: compiled(x)), (lambda n, x: compiled(n, x))
    types_of = (lambda n, x: both) if two else (lambda x: one)
    overload(getattr(kernels, function.__name__), jit_options=_EXACT_OPTIONS)(types_of)


for _function in (*special_functions.HELPERS, *special_functions.FUNCTIONS):
    _special(_function) if hasattr(kernels, _function.__name__) else register_jitable(_function)
