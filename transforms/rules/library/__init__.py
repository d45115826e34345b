"""Functions of NumPy, SciPy and Python that are short programs, in the language s2s reads.

A call of one is translated as a call of a helper of the user's own.  They are here because no
operation is lost by writing them out; what deserves an operation has a rule instead.
"""

# ruff: noqa: F401

from . import (
    calculus,
    distributions,
    fill,
    manipulation,
    nans,
    order,
    polynomials,
    python_standard,
    scans,
    scipy_special,
    sets,
    statistics,
)
from .declare_program import LIBRARY

__all__ = ["LIBRARY"]
