"""Functions of NumPy, SciPy and Python that are short programs, in the language s2s reads.

A call of one is translated as a call of a helper of the user's own.  They are here because no
operation is lost by writing them out; what deserves an operation has a rule instead.
"""

from . import (  # noqa: F401
    calculus,
    distributions,
    fill,
    nans,
    order,
    parts,
    polynomials,
    python,
    scans,
    sets,
    special,
    statistics,
)
from .declare import LIBRARY

__all__ = ["LIBRARY"]
