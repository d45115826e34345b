"""Rules and surfaces of `numpy.linalg`, and of the functions of `scipy.linalg` with equal meaning.

`matrix_rules.py` declares matrix operations, which broadcast over stacks of matrices, and holds the
expressions that their derivatives share.  `solve.py` holds `solve`, `inv`, `det` and `slogdet`,
`triangular.py` triangular systems and Cholesky factors, `factorizations.py` QR, `eigh` and SVD,
`pinv_norms.py` pseudo-inverse, least squares, rank, condition and norms, `product_functions.py`
functions composed of products, `triangles.py` `tril` and `triu`, `complex_systems.py` complex
linear systems.

Start with `matrix_rules.py`, then `solve.py`.  The folder may import `transforms/ir`,
`transforms/runtime`, the helpers in `rules/` and `rules/numpy/`.
"""
