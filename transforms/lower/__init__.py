"""Lowering: memory form -> loop-level IR -> Python text that Numba compiles.

`lower(module, facts)` is the whole; `lower/loop_ir/nodes.py` holds the grammar of what it produces.
"""

from __future__ import annotations

from .lower import LoweredModule, lower

__all__ = ["LoweredModule", "lower"]
