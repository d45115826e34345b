"""Loop transformations, on loop-level IR.

- Fusion: `fusion.py` (start reading here), `gemm_accumulate.py` for updates by a matrix product.
- Distribution: `distribute_calls.py`, `distribute_shifted.py`.
- Interchange, reversal, collapsing: `interchange.py`, `reversal.py`, `reverse_scatter.py`,
  `reverse_from_one.py`, `collapse.py`.
- Index-set splitting: `split_interior.py`, `split_wraparound.py`.
- Unroll-and-jam: `unroll_and_jam.py`, its rewriting in `unroll_and_jam_rewrite.py`, and
  `unroll_and_jam_sums.py` for sums of rows.
- Others: `scatter_to_gather.py` for adjoints of stencils, `privatize_index.py` for loop variables
  that are read after their loop, `parallelize.py` for chunks that may run on threads.

The passes run in the order given in `lower/lower.py`.  This folder may import `analysis`, `ops`,
`build` and `loop_ir` of `lower`, but not `checks`, `memory`, `scalars` or `sparsity`.
"""
