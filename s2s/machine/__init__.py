"""Lowered text to machine code.

Numba infers types, versions and lifetimes for any Python function; lowered text has them by
construction, and inferring them again is most of what compiling costs.  Here the text is read
once, and written down in LLVM's language.  Functions of arrays and numbers (`native`) are compiled,
entered and kept without Numba, which is asked only for functions that nobody here knows; others
(`inside`) stand inside an otherwise empty function of Numba's, which does the rest: arguments,
errors, memory, caching.  What is not in reach of this (`Unsupported`) goes through all of Numba.
"""

from __future__ import annotations

from . import kinds
from .infer import Unsupported
from .native import KERNEL, Source, listing, native, pays

__all__ = ["KERNEL", "Source", "Unsupported", "kinds", "listing", "native", "pays"]
