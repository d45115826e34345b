"""Lowered text to machine code, by way of Numba's back end but not its front end.

Numba infers types, versions and lifetimes for any Python function; lowered text has them by
construction, and inferring them again is most of what compiling costs.  Here the text is read
once, and written down as LLVM code in Numba's calling convention.  Functions of arrays and numbers
(`native`) are entered and kept without Numba; others (`body`) stand inside an otherwise empty
function of Numba's, which does the rest: arguments, errors, memory, caching.  What is not in the
reach of this (`Unsupported`) goes through all of Numba.
"""

from __future__ import annotations

from .apart import check as check_apart
from .infer import Unsupported
from .kernel import body
from .native import KERNEL, listing, native

__all__ = ["KERNEL", "Unsupported", "body", "check_apart", "listing", "native"]
