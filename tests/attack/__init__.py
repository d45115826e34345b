"""Robustness tests: programs, inputs and files that once crashed, hung or gave wrong results, and
generators of such inputs.

One file per class.  Each has the examples that were found and, where the class can be enumerated, a
generator that compares s2s with an independent oracle (CPython, NumPy, mpmath, TensorFlow's
recorded results).  `make attack` runs the generators in full, `make test` a seeded sample of each
(`tests/scale.py`).
"""
