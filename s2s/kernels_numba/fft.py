"""Fourier transforms, compiled by Numba.

Stockham's algorithm in mixed radix: each pass (`fft_llvm.py`) splits off one factor of the length
and leaves the data in order.  The passes work on an array of `n` rows of adjacent elements.  Some
lines at a time are gathered into such rows, whatever axis they lie along, and stay in the cache
until they are transformed.  A length with a large prime factor is transformed as a convolution
(Bluestein).  Real transforms of even length are complex transforms of half the length.

Numba compiles a function again for each literal argument, and for `a[:] = b` it compiles all the
code of an error message.  So scalars are hidden from its literal types (`_OPAQUE_ONE`), and whole
arrays are written by loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from ..codegen.numba_bridge.numba_cache import cached
from ..kernels import fft, registry
from .fft_llvm import pass2, pass3, pass4, pass5

_OPTIONS: Any = {
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp", "afn"},
    "nogil": True,
}
_compiled = cached(njit(**_OPTIONS))
_OPAQUE_ONE = np.ones(1, np.int64)  # 1, but not a literal to Numba
# The largest prime factor that a pass handles directly; Bluestein's algorithm is used above it.
_MAX_DIRECT_FACTOR = 13
# The number of lines that are transformed together.  Half as many if they are longer than
# _LONG_LINE, so that they stay in the L1 cache, and twice as many if they are adjacent in memory.
_BATCH_LINES, _LONG_LINE = 8, 128


# ---------------------------------------------------------------- plans


@_compiled
def _roots(n, sign):  # type: ignore[no-untyped-def]
    """exp(sign 2 pi i k / n) for all k."""
    w = np.empty(n, np.complex128)
    if n % 8:
        for k in range(n // 2 + 1):
            angle = 2.0 * np.pi * k / n
            w[k] = complex(np.cos(angle), sign * np.sin(angle))
            w[(n - k) % n] = complex(np.cos(angle), -sign * np.sin(angle))
        return w
    for k in range(n // 8 + 1):
        angle = 2.0 * np.pi * k / n
        c, s = np.cos(angle), np.sin(angle)
        w[k] = complex(c, sign * s)
        w[n // 4 - k] = complex(s, sign * c)
    for k in range(n // 4):
        w[n // 4 + k] = complex(-sign * w[k].imag, sign * w[k].real)
    for k in range(n // 2):
        w[n // 2 + k] = -w[k]
    return w


@_compiled
def _factors(n):  # type: ignore[no-untyped-def]
    """The radices of the passes, radix 4 first."""
    out = np.empty(64, np.int64)
    count = 0
    p = 4
    while n > 1:
        while n % p == 0:
            out[count] = p
            count += 1
            n //= p
        if p == 4:
            p = 2
        elif p == 2:
            p = 3
        else:
            p += 2
            if p * p > n and n > 1:
                p = n
    return out[:count]


# ---------------------------------------------------------------- passes


@_compiled
def _turned(z, sign):  # type: ignore[no-untyped-def]
    """sign * i * z"""
    return complex(-sign * z.imag, sign * z.real)


@_compiled
def _pass_any(xr, xi, yr, yi, m, wide, step, w, r):  # type: ignore[no-untyped-def]
    """A pass of any radix, by the definition of the transform."""
    apart = w.size // r  # distance in `w` between roots of order r
    for p in range(m):
        for k in range(r):
            turn = w[p * k * step]
            for q in range(wide):
                real, imag = xr[q + wide * p], xi[q + wide * p]
                for j in range(1, r):
                    root = w[(j * k % r) * apart]
                    a, b = xr[q + wide * (p + j * m)], xi[q + wide * (p + j * m)]
                    real += a * root.real - b * root.imag
                    imag += a * root.imag + b * root.real
                yr[q + wide * (r * p + k)] = real * turn.real - imag * turn.imag
                yi[q + wide * (r * p + k)] = real * turn.imag + imag * turn.real


@_compiled
def _passes(xr, xi, yr, yi, wide, w, radices, sign):  # type: ignore[no-untyped-def]
    """Transform the rows of x, with y as work space; returns whichever of them holds the result."""
    rest, step = w.size, _OPAQUE_ONE[0]
    signs = np.empty(1, xr.dtype)
    signs[0] = sign
    way = signs[0]
    for r in radices:
        m = rest // r
        if r == 4:
            pass4(xr, xi, yr, yi, m, wide, step, w, way)
        elif r == 2:
            pass2(xr, xi, yr, yi, m, wide, step, w, way)
        elif r == 3:
            pass3(xr, xi, yr, yi, m, wide, step, w, way)
        elif r == 5:
            pass5(xr, xi, yr, yi, m, wide, step, w, way)
        else:
            _pass_any(xr, xi, yr, yi, m, wide, step, w, r)
        xr, xi, yr, yi = yr, yi, xr, xi
        rest, step, wide = m, step * r, wide * r
    return xr, xi


# ---------------------------------------------------------------- any length


@_compiled
def _chirp(n, sign):  # type: ignore[no-untyped-def]
    """The chirp exp(sign pi i k^2 / n) of Bluestein's algorithm, for all k."""
    w = _roots(2 * n, sign)
    out = np.empty(n, np.complex128)
    for k in range(n):
        out[k] = w[k * k % (2 * n)]
    return out


@_compiled
def _multiply(re, im, wide, by, n):  # type: ignore[no-untyped-def]
    """Multiply each of the first n rows by its complex factor, and set the others to 0."""
    for k in range(n):
        real, imag = by[k].real, by[k].imag
        for q in range(wide):
            a, b = re[k * wide + q], im[k * wide + q]
            re[k * wide + q] = a * real - b * imag
            im[k * wide + q] = a * imag + b * real
    for i in range(n * wide, re.size):
        re[i] = im[i] = 0.0


# ---------------------------------------------------------------- batches of lines


@_compiled
def _gather(x, first, lines, n, wide, left, across, re, im):  # type: ignore[no-untyped-def]
    """Gather some columns of some blocks into rows of adjacent elements.  A contiguous line is read
    in order."""
    for i in range(lines):
        block = x[(first + i) * n * wide : (first + i + 1) * n * wide]
        if wide == 1:
            for k in range(n):
                z = block[k]
                re[k * lines + i] = z.real
                im[k * lines + i] = z.imag
        else:
            for k in range(n):
                start, goal = k * wide + left, (k * lines + i) * across
                for q in range(across):
                    z = block[start + q]
                    re[goal + q] = z.real
                    im[goal + q] = z.imag


@_compiled
def _scatter(x, first, lines, n, wide, left, across, re, im, factor):  # type: ignore[no-untyped-def]
    for i in range(lines):
        block = x[(first + i) * n * wide : (first + i + 1) * n * wide]
        if wide == 1:
            for k in range(n):
                block[k] = complex(re[k * lines + i] * factor, im[k * lines + i] * factor)
        else:
            for k in range(n):
                start, goal = k * wide + left, (k * lines + i) * across
                for q in range(across):
                    block[start + q] = complex(re[goal + q] * factor, im[goal + q] * factor)


@_compiled
def _share(lines, n, wide):  # type: ignore[no-untyped-def]
    """The number of blocks, and of columns of each, that are transformed together."""
    if wide >= _BATCH_LINES:
        return _OPAQUE_ONE[0], min(wide, 2 * _BATCH_LINES)
    together = _BATCH_LINES if n <= _LONG_LINE else _BATCH_LINES // 2
    return max(1, min(lines, together // max(1, wide))), max(1, wide)


@_compiled
def _by_convolution(x, out, lines, n, wide, sign, factor):  # type: ignore[no-untyped-def]
    """Bluestein's algorithm: a convolution with a chirp, of power-of-two length."""
    m = _OPAQUE_ONE[0]
    while m < 2 * n - 1:
        m *= 2
    at_once, across = _share(lines, n, wide)
    chirp = _chirp(n, sign)
    forth, back, radices = _roots(m, -1.0), _roots(m, 1.0), _factors(m)
    room = np.zeros((4, m * at_once * across))
    kernel = np.empty(m, np.complex128)
    # Iteration -1 transforms the convolution kernel, by which all lines are multiplied.
    groups = -(-lines // at_once)
    for turn in range(-1, groups):
        first = turn * at_once
        some = min(at_once, lines - first) if turn >= 0 else 1
        for left in range(0, wide if turn >= 0 else 1, across):
            few = min(across, wide - left) if turn >= 0 else 1
            v = some * few
            a, b, c, d = room[0, : m * v], room[1, : m * v], room[2, : m * v], room[3, : m * v]
            if turn < 0:
                for k in range(n):
                    a[k], b[k] = chirp[k].real / m, -chirp[k].imag / m
                    a[(m - k) % m], b[(m - k) % m] = a[k], b[k]
            else:
                _gather(x, first, some, n, wide, left, few, a, b)
                _multiply(a, b, v, chirp, n)
            for way in range(2):
                re, im = _passes(a, b, c, d, v, back if way else forth, radices, 2.0 * way - 1.0)
                if radices.size % 2:
                    a, b, c, d = c, d, a, b
                if turn < 0:
                    for k in range(m):
                        kernel[k] = complex(re[k], im[k])
                    break
                if way:
                    _multiply(re, im, v, chirp, n)
                    _scatter(out, first, some, n, wide, left, few, re, im, factor)
                else:
                    _multiply(re, im, v, kernel, m)


@_compiled
def _fft(source, goal, inverse, scale):  # type: ignore[no-untyped-def]
    """Complex transform; `source` and `goal` may be the same array.  (Numba processes all callees
    again for each caller, so there are few functions.)"""
    lines, n, wide = source.shape
    x, out = source.reshape(-1), goal.reshape(-1)
    sign = 1.0 if inverse else -1.0
    if n <= 1:
        for i in range(x.size):
            out[i] = x[i]
        return
    factors = np.ones(1, out.real.dtype)
    if scale:
        factors[0] = 1.0 / n if scale == 1 else 1.0 / np.sqrt(n)
    factor = factors[0]
    radices = _factors(n)
    if radices[radices.size - 1] > _MAX_DIRECT_FACTOR:
        _by_convolution(x, out, lines, n, wide, sign, factor)
        return
    at_once, across = _share(lines, n, wide)
    w = _roots(n, sign).astype(out.dtype)
    room = np.empty((4, n * at_once * across), out.real.dtype)
    for first in range(0, lines, at_once):
        some = min(at_once, lines - first)
        for left in range(0, wide, across):
            few = min(across, wide - left)
            _gather(x, first, some, n, wide, left, few, room[0], room[1])
            re, im = _passes(room[0], room[1], room[2], room[3], some * few, w, radices, sign)
            _scatter(out, first, some, n, wide, left, few, re, im, factor)


# ---------------------------------------------------------------- real transforms


@_compiled
def _untangle(z, out, lines, n, wide, w):  # type: ignore[no-untyped-def]
    """The transform of n real numbers from the complex one of the pairs (x[2k], x[2k+1])."""
    h = n // 2
    for i in range(lines):
        for k in range(h + 1):
            turn = w[k]
            for q in range(wide):
                a = z[(i * h + k % h) * wide + q]
                b = z[(i * h + (h - k) % h) * wide + q].conjugate()
                odd = _turned(a - b, -1.0) * turn
                out[(i * (h + 1) + k) * wide + q] = (a + b + odd) / 2


@_compiled
def _tangle(y, z, lines, n, wide, w):  # type: ignore[no-untyped-def]
    """The inverse of `_untangle`, times 2."""
    h = n // 2
    for i in range(lines):
        for k in range(h):
            turn = w[k].conjugate()
            for q in range(wide):
                a = y[(i * (h + 1) + k) * wide + q]
                b = y[(i * (h + 1) + h - k) * wide + q]
                if k == 0:  # the imaginary parts of the first and last element are ignored
                    a, b = complex(a.real, a.real - a.real), complex(b.real, b.real - b.real)
                b = b.conjugate()
                z[(i * h + k) * wide + q] = a + b + _turned((a - b) * turn, 1.0)


@_compiled
def _scale(x, n, scale):  # type: ignore[no-untyped-def]
    if scale:
        factor = 1.0 / n if scale == 1 else 1.0 / np.sqrt(n)
        for i in range(x.size):
            x[i] *= factor


@_compiled
def _rfft(x, out, scale):  # type: ignore[no-untyped-def]
    lines, n, wide = x.shape
    half = n // 2
    done, source = out.reshape(-1), x.reshape(-1)
    if n % 2:
        z = source.astype(out.dtype)
        _fft(z.reshape((lines, n, wide)), z.reshape((lines, n, wide)), False, 0)
        for i in range(lines):
            for k in range((half + 1) * wide):
                done[i * (half + 1) * wide + k] = z[i * n * wide + k]
    else:
        z = np.empty(lines * half * wide, out.dtype)
        for i in range(lines * half):
            for q in range(wide):
                z[i * wide + q] = complex(source[2 * i * wide + q], source[(2 * i + 1) * wide + q])
        _fft(z.reshape((lines, half, wide)), z.reshape((lines, half, wide)), False, 0)
        _untangle(z, done, lines, n, wide, _roots(n, -1.0).astype(out.dtype))
    _scale(done, n, scale)


@_compiled
def _irfft(y, out, scale):  # type: ignore[no-untyped-def]
    lines, n, wide = out.shape
    half = n // 2
    done, source = out.reshape(-1), y.reshape(-1)
    if n % 2:
        z = np.empty(lines * n * wide, y.dtype)
        for i in range(lines):
            for q in range(wide):
                end = source[i * (half + 1) * wide + q]
                z[i * n * wide + q] = complex(end.real, end.real - end.real)
                for k in range(1, half + 1):
                    value = source[(i * (half + 1) + k) * wide + q]
                    z[(i * n + k) * wide + q] = value
                    z[(i * n + n - k) * wide + q] = value.conjugate()
        _fft(z.reshape((lines, n, wide)), z.reshape((lines, n, wide)), True, 0)
        for i in range(z.size):
            done[i] = z[i].real
    else:
        z = np.empty(lines * half * wide, y.dtype)
        _tangle(source, z, lines, n, wide, _roots(n, -1.0).astype(y.dtype))
        _fft(z.reshape((lines, half, wide)), z.reshape((lines, half, wide)), True, 0)
        for i in range(lines * half):
            for q in range(wide):
                done[2 * i * wide + q] = z[i * wide + q].real
                done[(2 * i + 1) * wide + q] = z[i * wide + q].imag
    _scale(done, n, scale)


@_compiled
def _resize(x, out):  # type: ignore[no-untyped-def]
    lines, n, wide = out.shape
    kept = min(x.shape[1], n)
    for i in range(lines):
        for k in range(n):
            for q in range(wide):
                out[i, k, q] = x[i, k, q] if k < kept else out.dtype.type(0)


# ---------------------------------------------------------------- registration

for _routine, _function in (
    (fft.fft, _fft),
    (fft.rfft, _rfft),
    (fft.irfft, _irfft),
    (fft.resize, _resize),
):
    registry.register(_routine, _function)


@overload(fft.fft)
def _overload_fft(x, out, inverse, scale):  # type: ignore[no-untyped-def]
    return lambda x, out, inverse, scale: _fft(x, out, inverse, scale)


@overload(fft.rfft)
def _overload_rfft(x, out, scale):  # type: ignore[no-untyped-def]
    return lambda x, out, scale: _rfft(x, out, scale)


@overload(fft.irfft)
def _overload_irfft(y, out, scale):  # type: ignore[no-untyped-def]
    return lambda y, out, scale: _irfft(y, out, scale)


@overload(fft.resize)
def _overload_resize(x, out):  # type: ignore[no-untyped-def]
    return lambda x, out: _resize(x, out)
