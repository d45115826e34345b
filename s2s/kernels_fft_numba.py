"""How Numba computes Fourier transforms.

Stockham's algorithm in mixed radix: each pass takes one factor out of the length and leaves the
data in order.  The passes see an array of `n` rows of `wide` neighbours, so that transforms along
an axis that is not the last run through memory as it lies.  A length with a large prime factor is
done as a convolution, after Bluestein; transforms of real numbers of even length are complex ones
of half the length.

Numba compiles a function anew for each number it knows, and for `a[:] = b` all the text of an
error: numbers are made to be unknown (`_ONE`), and whole arrays are written by loops.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from . import kernels_fft, kernels_routines

_OPTIONS: Any = {
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp", "afn"},
    "nogil": True,
    "cache": True,
}
_ONE = np.ones(1, np.int64)  # a number that Numba does not know
# Prime factors up to this are done directly.
_LARGEST = 13
# Cosine and sine of 2 pi / 5, and of twice that.
_C1, _S1, _C2, _S2 = (
    np.cos(0.4 * np.pi),
    np.sin(0.4 * np.pi),
    np.cos(0.8 * np.pi),
    np.sin(0.8 * np.pi),
)


# ---------------------------------------------------------------- plans


@njit(**_OPTIONS)
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


@njit(**_OPTIONS)
def _factors(n):  # type: ignore[no-untyped-def]
    """The radices of the passes, fours first."""
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


@njit(**_OPTIONS)
def _turned(z, sign):  # type: ignore[no-untyped-def]
    """sign i z"""
    return complex(-sign * z.imag, sign * z.real)


@njit(**_OPTIONS)
def _pass2(x, y, m, wide, step, w):  # type: ignore[no-untyped-def]
    for p in range(m):
        w1 = w[p * step]
        for q in range(wide):
            a, b = x[q + wide * p], x[q + wide * (p + m)]
            y[q + wide * 2 * p] = a + b
            y[q + wide * (2 * p + 1)] = (a - b) * w1


@njit(**_OPTIONS)
def _pass4(x, y, m, wide, step, w, sign):  # type: ignore[no-untyped-def]
    for p in range(m):
        w1, w2, w3 = w[p * step], w[2 * p * step], w[3 * p * step]
        for q in range(wide):
            a, b = x[q + wide * p], x[q + wide * (p + m)]
            c, d = x[q + wide * (p + 2 * m)], x[q + wide * (p + 3 * m)]
            even, odd = a + c, b + d
            less, turned = a - c, _turned(b - d, sign)
            y[q + wide * 4 * p] = even + odd
            y[q + wide * (4 * p + 1)] = (less + turned) * w1
            y[q + wide * (4 * p + 2)] = (even - odd) * w2
            y[q + wide * (4 * p + 3)] = (less - turned) * w3


@njit(**_OPTIONS)
def _pass3(x, y, m, wide, step, w, sign, half, height):  # type: ignore[no-untyped-def]
    for p in range(m):
        w1, w2 = w[p * step], w[2 * p * step]
        for q in range(wide):
            a, b = x[q + wide * p], x[q + wide * (p + m)]
            c = x[q + wide * (p + 2 * m)]
            both = b + c
            middle = a - half * both
            turned = _turned(height * (b - c), sign)
            y[q + wide * 3 * p] = a + both
            y[q + wide * (3 * p + 1)] = (middle + turned) * w1
            y[q + wide * (3 * p + 2)] = (middle - turned) * w2


@njit(**_OPTIONS)
def _pass5(x, y, m, wide, step, w, sign, c1, s1, c2, s2):  # type: ignore[no-untyped-def]
    for p in range(m):
        w1, w2, w3, w4 = w[p * step], w[2 * p * step], w[3 * p * step], w[4 * p * step]
        for q in range(wide):
            a, b = x[q + wide * p], x[q + wide * (p + m)]
            c, d = x[q + wide * (p + 2 * m)], x[q + wide * (p + 3 * m)]
            e = x[q + wide * (p + 4 * m)]
            outer, inner = b + e, c + d
            first, second = a + c1 * outer + c2 * inner, a + c2 * outer + c1 * inner
            b, c = b - e, c - d
            one, two = _turned(s1 * b + s2 * c, sign), _turned(s2 * b - s1 * c, sign)
            y[q + wide * 5 * p] = a + outer + inner
            y[q + wide * (5 * p + 1)] = (first + one) * w1
            y[q + wide * (5 * p + 2)] = (second + two) * w2
            y[q + wide * (5 * p + 3)] = (second - two) * w3
            y[q + wide * (5 * p + 4)] = (first - one) * w4


@njit(**_OPTIONS)
def _pass_any(x, y, m, wide, step, w, r, parts):  # type: ignore[no-untyped-def]
    """Any radix: the sums as they are written down."""
    apart = w.size // r  # between the roots of order r
    for p in range(m):
        for q in range(wide):
            for j in range(r):
                parts[j] = x[q + wide * (p + j * m)]
            for k in range(r):
                total = parts[0]
                for j in range(1, r):
                    total += parts[j] * w[(j * k % r) * apart]
                y[q + wide * (r * p + k)] = total * w[p * k * step]


@njit(**_OPTIONS)
def _passes(x, y, wide, w, radices, sign):  # type: ignore[no-untyped-def]
    """The transform of the rows of x, in x or in y: the one that is returned."""
    n = w.size
    rest, step = n, _ONE[0]
    c = np.empty(7, w.real.dtype)
    c[0], c[1], c[2], c[3], c[4], c[5], c[6] = sign, 0.5, np.sqrt(0.75), _C1, _S1, _C2, _S2
    way = c[0]
    parts = np.empty(_LARGEST, w.dtype)
    for r in radices:
        m = rest // r
        if r == 4:
            _pass4(x, y, m, wide, step, w, way)
        elif r == 2:
            _pass2(x, y, m, wide, step, w)
        elif r == 3:
            _pass3(x, y, m, wide, step, w, way, c[1], c[2])
        elif r == 5:
            _pass5(x, y, m, wide, step, w, way, c[3], c[4], c[5], c[6])
        else:
            _pass_any(x, y, m, wide, step, w, r, parts)
        x, y = y, x
        rest, step, wide = m, step * r, wide * r
    return x


# ---------------------------------------------------------------- any length


@njit(**_OPTIONS)
def _chirp(n, sign):  # type: ignore[no-untyped-def]
    """exp(sign pi i k^2 / n): products of these take the place of all roots."""
    w = _roots(2 * n, sign)
    out = np.empty(n, np.complex128)
    for k in range(n):
        out[k] = w[k * k % (2 * n)]
    return out


@njit(**_OPTIONS)
def _copied(x):  # type: ignore[no-untyped-def]
    out = np.empty(x.size, x.dtype)
    for i in range(x.size):
        out[i] = x[i]
    return out


@njit(**_OPTIONS)
def _by_convolution(x, n, wide, sign):  # type: ignore[no-untyped-def]
    """Bluestein: the transform as a convolution with a chirp, of a length of twos."""
    m = 1
    while m < 2 * n - 1:
        m *= 2
    chirp = _chirp(n, sign)
    forth, back, radices = _roots(m, -1.0), _roots(m, 1.0), _factors(m)
    one = _ONE[0]
    kernel = np.zeros(m, np.complex128)
    for k in range(n):
        kernel[k] = chirp[k].conjugate()
        kernel[(m - k) % m] = kernel[k]
    spare = np.empty(m, np.complex128)
    kernel = _copied(_passes(kernel, spare, one, forth, radices, -1.0))
    line = np.empty(m, np.complex128)
    for q in range(wide):
        for k in range(n):
            line[k] = x[q + wide * k] * chirp[k]
        for k in range(n, m):
            line[k] = 0.0
        spectrum = _passes(line, spare, one, forth, radices, -1.0)
        for k in range(m):
            spectrum[k] *= kernel[k]
        other = spare if spectrum is line else line
        done = _passes(spectrum, other, one, back, radices, 1.0)
        for k in range(n):
            x[q + wide * k] = done[k] * chirp[k] / m


@njit(**_OPTIONS)
def _transform(x, lines, n, wide, sign):  # type: ignore[no-untyped-def]
    """Transforms each of `lines` blocks of n rows of x, in place; nothing is divided."""
    if n <= 1:
        return
    radices = _factors(n)
    size = n * wide
    if radices[radices.size - 1] > _LARGEST:
        for i in range(lines):
            _by_convolution(x[i * size : (i + 1) * size], n, wide, sign)
        return
    w = _roots(n, sign).astype(x.dtype)
    spare = np.empty(size, x.dtype)
    for i in range(lines):
        block = x[i * size : (i + 1) * size]
        done = _passes(block, spare, wide, w, radices, sign)
        if radices.size % 2:
            for k in range(size):
                block[k] = done[k]


# ---------------------------------------------------------------- real numbers


@njit(**_OPTIONS)
def _untangle(z, out, lines, n, wide, w):  # type: ignore[no-untyped-def]
    """From the transform of neighbours taken as complex numbers to that of n real numbers."""
    h = n // 2
    for i in range(lines):
        for k in range(h + 1):
            turn = w[k]
            for q in range(wide):
                a = z[(i * h + k % h) * wide + q]
                b = z[(i * h + (h - k) % h) * wide + q].conjugate()
                odd = _turned(a - b, -1.0) * turn
                out[(i * (h + 1) + k) * wide + q] = (a + b + odd) / 2


@njit(**_OPTIONS)
def _tangle(y, z, lines, n, wide, w):  # type: ignore[no-untyped-def]
    """The reverse, times 2."""
    h = n // 2
    for i in range(lines):
        for k in range(h):
            turn = w[k].conjugate()
            for q in range(wide):
                a = y[(i * (h + 1) + k) * wide + q]
                b = y[(i * (h + 1) + h - k) * wide + q]
                if k == 0:  # the imaginary parts of the ends do not count
                    a, b = complex(a.real, a.real - a.real), complex(b.real, b.real - b.real)
                b = b.conjugate()
                z[(i * h + k) * wide + q] = a + b + _turned((a - b) * turn, 1.0)


@njit(**_OPTIONS)
def _scale(x, n, scale):  # type: ignore[no-untyped-def]
    if scale:
        factor = 1.0 / n if scale == 1 else 1.0 / np.sqrt(n)
        for i in range(x.size):
            x[i] *= factor


@njit(**_OPTIONS)
def _fft(x, out, inverse, scale):  # type: ignore[no-untyped-def]
    lines, n, wide = x.shape
    flat = out.reshape(-1)
    source = x.reshape(-1)
    for i in range(flat.size):
        flat[i] = source[i]
    _transform(flat, lines, n, wide, 1.0 if inverse else -1.0)
    _scale(flat, n, scale)


@njit(**_OPTIONS)
def _rfft(x, out, scale):  # type: ignore[no-untyped-def]
    lines, n, wide = x.shape
    half = n // 2
    done, source = out.reshape(-1), x.reshape(-1)
    if n % 2:
        z = source.astype(out.dtype)
        _transform(z, lines, n, wide, -1.0)
        for i in range(lines):
            for k in range((half + 1) * wide):
                done[i * (half + 1) * wide + k] = z[i * n * wide + k]
    else:
        z = np.empty(lines * half * wide, out.dtype)
        for i in range(lines * half):
            for q in range(wide):
                z[i * wide + q] = complex(source[2 * i * wide + q], source[(2 * i + 1) * wide + q])
        _transform(z, lines, half, wide, -1.0)
        _untangle(z, done, lines, n, wide, _roots(n, -1.0).astype(out.dtype))
    _scale(done, n, scale)


@njit(**_OPTIONS)
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
        _transform(z, lines, n, wide, 1.0)
        for i in range(z.size):
            done[i] = z[i].real
    else:
        z = np.empty(lines * half * wide, y.dtype)
        _tangle(source, z, lines, n, wide, _roots(n, -1.0).astype(y.dtype))
        _transform(z, lines, half, wide, 1.0)
        for i in range(lines * half):
            for q in range(wide):
                done[2 * i * wide + q] = z[i * wide + q].real
                done[(2 * i + 1) * wide + q] = z[i * wide + q].imag
    _scale(done, n, scale)


@njit(**_OPTIONS)
def _resize(x, out):  # type: ignore[no-untyped-def]
    lines, n, wide = out.shape
    kept = min(x.shape[1], n)
    for i in range(lines):
        for k in range(n):
            for q in range(wide):
                out[i, k, q] = x[i, k, q] if k < kept else out.dtype.type(0)


# ---------------------------------------------------------------- what lowered code calls

for _routine, _compiled in (
    (kernels_fft.fft, _fft),
    (kernels_fft.rfft, _rfft),
    (kernels_fft.irfft, _irfft),
    (kernels_fft.resize, _resize),
):
    kernels_routines.is_routine(_routine, _compiled)


@overload(kernels_fft.fft)
def _overload_fft(x, out, inverse, scale):  # type: ignore[no-untyped-def]
    return lambda x, out, inverse, scale: _fft(x, out, inverse, scale)


@overload(kernels_fft.rfft)
def _overload_rfft(x, out, scale):  # type: ignore[no-untyped-def]
    return lambda x, out, scale: _rfft(x, out, scale)


@overload(kernels_fft.irfft)
def _overload_irfft(y, out, scale):  # type: ignore[no-untyped-def]
    return lambda y, out, scale: _irfft(y, out, scale)


@overload(kernels_fft.resize)
def _overload_resize(x, out):  # type: ignore[no-untyped-def]
    return lambda x, out: _resize(x, out)
