"""Library functions of NumPy, SciPy and Python written as programs in the subset that s2s compiles.

A call of such a function is compiled like a call of a function that the user wrote.  A function is
a program if nothing is lost by expanding it to other operations.  A function that needs an
operation of its own has a rule in `rules/numpy/` or `rules/scipy/`.

`declare_program.py` holds the table `LIBRARY` and its decorator.  Start with `statistics.py`, then
`order.py` (sorting, quantiles).  Names of functions and local variables appear in emitted code.
The programs may call NumPy, `math`, each other and `runtime/special_functions.py`;
`declare_program.py` may also import `transforms/ir` and the helpers in `rules/`.
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
