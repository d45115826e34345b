"""Surfaces of Python's builtins and of `math`, in terms of operations.

Start with `builtins.py`, the only file: conversions (`float`, `int`, `numpy.float64`, `astype`),
arithmetic
(`abs`, `pow`, `divmod`, `round`), `max`, `min` and `sum`, functions of `math` that are not plain
ufuncs, and functions that are evaluated at compile time (`numpy.result_type`).

Elementwise functions of `math` are declared with the NumPy ufuncs in `rules/numpy/`.  The folder
may import `transforms/ir` and the helpers in `rules/`.
"""
