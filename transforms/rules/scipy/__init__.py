"""Rules and surfaces of SciPy functions that have no NumPy counterpart.

`special.py` holds the elementwise functions of `scipy.special` and `math` (erf, gamma, Bessel
functions).  `linalg_names.py` holds surfaces of `scipy.linalg` in terms of `rules/numpy/linalg/`,
and structured matrices (`toeplitz`).  `lu.py`, `banded.py` and `expm.py` declare matrix operations.

SciPy itself is not imported: evaluation is in `transforms/runtime`.  Functions that are programs
are in `rules/library/` (`scipy_special.py`, `distributions.py`).  Start with `special.py`.  The
folder may import `transforms/ir`, `transforms/runtime`, the helpers in `rules/` and `rules/numpy/`.
"""
