"""The flag of `s2s.debug_nans`, which every call reads."""

from __future__ import annotations

# Empty unless switched on.  C code reads the list object in every call, so it is mutated in place
# and never rebound.
active: list[bool] = []
