"""How Numba compiles what `s2s.kernels.linalg` offers: importing this module is enough."""

from __future__ import annotations

from . import linalg_factor, linalg_solve  # noqa: F401
