"""Analyses on loop-level IR: facts about a program, without changing it.

Start with `liveness.py` (def and use sets, live names), `single_assignment.py` (names with a single
definition) and `alias.py` (which buffers may share memory).  `buffer_uses.py` and `footprint.py`
list the accesses of buffers and of statements.  `dependence.py` is the dependence test for loops,
`access_region.py` the disjointness test for index ranges, `value_range.py` the range analysis of
integers.  `zero_product.py`, `accumulation.py`, `in_bounds.py`, `stored_scalars.py` and `bounds.py`
serve single transformations.  `cost_model.py` estimates work; `parallel_profit.py` and
`fusion_profit.py` decide with it what is profitable.

May import `ops`, `build` and `loop_ir` of `lower`, and `ir`.  The transformations in `checks`,
`loops`, `memory`, `scalars` and `sparsity` import this folder.
"""
