"""Attacks: programs, inputs and files that were once unsafe, wrong or fatal, and their generators.

One file per class.  Each holds the examples that were found and, where the class can be
enumerated, a generator that compares s2s with an independent judge (CPython, NumPy, mpmath,
TensorFlow's recorded results).  `make attack` runs the generators in full, `make test` a
seeded sample of each (`tests/scale.py`).
"""
