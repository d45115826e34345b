"""Elimination, hoisting and versioning of run-time checks, on loop-level IR.

A check is an `If` whose body is a `Fail`, for instance a bounds check.  A loop without checks can
be vectorised and fused with others.

- `redundant.py`: removes checks that an earlier check implies.
- `in_range.py`: removes checks that value ranges prove to pass.
- `hoist.py`: moves checks from loops to before them.  Start reading here.
- `version_loop.py`: duplicates a loop, once with and once without its checks.

The passes run in the order given in `lower/lower.py`.  This folder may import `analysis`, `ops`,
`build` and `loop_ir` of `lower`, but not `loops`, `memory`, `scalars` or `sparsity`.
"""
