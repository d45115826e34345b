"""The command `s2s`: looks at, checks and times the gradients of functions in files."""

from __future__ import annotations

from .main import main

__all__ = ["main"]
