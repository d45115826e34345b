"""Registers the compiled versions of `s2s.kernels.linalg` with Numba on import."""

from __future__ import annotations

from . import linalg_factor, linalg_solve  # noqa: F401
