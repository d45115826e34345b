"""Memory optimisations on loop-level IR.  Each pass rewrites the body of a function.

- Fewer buffers: `scalar_replacement.py`, `array_contraction.py`, `forward_copies.py`,
  `forward_scaled_copies.py`.
- Fewer stores: `dead_stores.py`, `store_first_accumulate.py`, `fuse_zero_accumulate.py`,
  `carried_zeros.py`, `canonicalize_accumulate.py`.
- Registers instead of memory: `promote_accumulators.py`, `carry_registers.py`.
- Loop-invariant code motion: `hoist_allocations.py`, `hoist_fills.py`, `hoist_reserve.py`.
- Axis order: `layout.py`, `duplicate_layout.py`.

Start with `scalar_replacement.py`, the shortest, or `layout.py`.  `run_loop_passes` in
`lower/lower.py` has the order of the passes.

May import `analysis`, `ops`, `build` and `loop_ir` of `lower`, and `ir`; not the sibling folders
`checks`, `loops` and `scalars`.
"""
