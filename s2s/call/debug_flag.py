"""The switch of `s2s.debug_nans`, which every call reads."""

from __future__ import annotations

# Empty unless switched on.  C code reads it in every call, so it never changes its place.
active: list[bool] = []
