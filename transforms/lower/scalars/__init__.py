"""Scalar optimisations, on loop-level IR.

- `scalar_cse.py`: common subexpression elimination and dead code elimination of scalars.  Start
  reading here.
- `if_conversion.py`: turns branches that select scalars into selects.
- `minmax_recurrence.py`: shortens the loop-carried dependence of a minimum or maximum.
- `exact_quotients.py`: keeps divisions exact where a comparison depends on a quotient.

The passes run in the order given in `lower/lower.py`.  This folder may import `analysis`, `ops`,
`build` and `loop_ir` of `lower`, but not `checks`, `loops`, `memory` or `sparsity`.
"""
