"""Symbols of the matrix products that all kernels of a process share."""

from __future__ import annotations

# The variants, for vectors, small, medium and large matrices; the symbol of their address table.
VARIANTS, VARIANT_TABLE = ("thin", "little", "blocked", "blas"), "s2s.ways"


NAMES = tuple(f"s2s.{kind}.{bits}" for kind in ("gemm", "scattered") for bits in ("f32", "f64"))
