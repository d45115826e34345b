"""How Numba compiles what `s2s.kernels_linalg` offers: importing this module is enough."""

from __future__ import annotations

from . import kernels_linalg_factors, kernels_linalg_systems  # noqa: F401
