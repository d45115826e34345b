"""Names of the matrix products that kernels share."""

from __future__ import annotations

# For vectors, few numbers, more and very many; where their addresses stand.
WAYS, TABLE = ("thin", "little", "blocked", "blas"), "s2s.ways"


NAMES = tuple(f"s2s.{kind}.{bits}" for kind in ("gemm", "scattered") for bits in ("f32", "f64"))
