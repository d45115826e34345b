"""Rules and surfaces of NumPy functions.

Elementwise: `ufuncs.py` (elementary functions), `arithmetic.py` (operators, `where`, `cast`,
`strong_mul`), `nondifferentiable.py`, `complex_numbers.py`.  Reductions and contractions:
`reductions.py`, `cumulative.py`, `product_derivative.py`, `matmul.py`, `einsum.py`, `bilinear.py`.
Shapes and indices: `shape.py` (view operations), `shape_functions.py` (their surfaces),
`indexing.py`, `joining.py`, `roll.py`, `selection.py`, `padding.py`, `composed.py`.  New arrays:
`creation.py`, `ranges.py`, `random.py`, `random_checks.py`.  Transforms: `fft.py`.  Linear algebra
is in `linalg/`.

Start with `ufuncs.py`, then `reductions.py` and `indexing.py`.  The folder may import
`transforms/ir`, `transforms/runtime` and the helpers in `rules/`.
"""
