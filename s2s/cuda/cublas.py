"""Matrix products by cuBLAS, where it is installed; otherwise by a kernel of the emitted module."""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any

_NONE, _TRANSPOSE = 0, 1  # cublasOperation_t


class Gemm:
    """Matrix products on one stream, with the arguments of `dev.gemm_batched` but the kernel."""

    def __init__(self, stream: int) -> None:
        self._stream = stream
        self._handle: int | None = None
        self._library: Any = None
        self._is_missing = False

    def __call__(
        self, swap_a: bool, swap_b: bool, m: int, n: int, k: int, alpha: Any, a: Any, a_at: int,
        b: Any, b_at: int, beta: Any, c: Any, c_at: int, batch: int, a_step: int, b_step: int,
        c_step: int,
    ) -> bool:  # fmt: skip
        """Whether the product is computed."""
        if k < 1 or not self._is_open():
            return False
        double = c.dtype.itemsize == 8
        function = getattr(self._library, f"{'d' if double else 's'}gemm_strided_batched_64")
        scalar = ctypes.c_double if double else ctypes.c_float
        factor_new, factor_old = scalar(float(alpha)), scalar(float(beta))
        # cuBLAS stores by columns: c.T = op(b).T @ op(a).T, and row-major x is column-major x.T.
        function(
            self._handle,
            _TRANSPOSE if swap_b else _NONE,
            _TRANSPOSE if swap_a else _NONE,
            n, m, k,
            ctypes.addressof(factor_new),
            _at(b, b_at), k if swap_b else n, b_step,
            _at(a, a_at), m if swap_a else k, a_step,
            ctypes.addressof(factor_old),
            _at(c, c_at), n, c_step,
            batch,
        )  # fmt: skip
        return True

    def _is_open(self) -> bool:
        if self._handle is None and not self._is_missing:
            try:
                cublas = import_module("nvmath.bindings.cublas")
                self._handle = cublas.create()
                cublas.set_stream(self._handle, self._stream)
                self._library = cublas
            except Exception:  # not installed, or without its library
                self._is_missing = True
        return self._handle is not None


def _at(array: Any, index: int) -> int:
    return array.address + index * array.dtype.itemsize
