"""Fourier transforms that lowered code calls, along the middle axis of contiguous arrays of rank 3.

These use NumPy, for `backend="loops"`; `s2s.kernels_numba.fft` has the compiled versions.  `scale`
is 0 for no factor, 1 for 1 / n and 2 for 1 / sqrt(n).
"""

from __future__ import annotations

from typing import Any

import numpy as np

_FORWARD = ("backward", "forward", "ortho")
_BACKWARD = ("forward", "backward", "ortho")


def fft(x: Any, out: Any, inverse: bool, scale: int) -> None:
    if inverse:
        out[...] = np.fft.ifft(x, axis=1, norm=_BACKWARD[scale])  # type: ignore[arg-type]
    else:
        out[...] = np.fft.fft(x, axis=1, norm=_FORWARD[scale])  # type: ignore[arg-type]


def rfft(x: Any, out: Any, scale: int) -> None:
    out[...] = np.fft.rfft(x, axis=1, norm=_FORWARD[scale])  # type: ignore[arg-type]


def irfft(y: Any, out: Any, scale: int) -> None:
    out[...] = np.fft.irfft(y, out.shape[1], axis=1, norm=_BACKWARD[scale])  # type: ignore[arg-type]


def resize(x: Any, out: Any) -> None:
    """Copy x to out, truncated or padded with zeros."""
    kept = min(x.shape[1], out.shape[1])
    out[:, :kept] = x[:, :kept]
    out[:, kept:] = 0
