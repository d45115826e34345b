"""Batching (vmap): transforms a function of one batch element into a function of a whole batch.

`batch` gives a leading axis to the mapped parameters and to every value that depends on them.  All
other values are computed once, as before.  Operations follow their batching rules
(`rules/batching_rules.py`).  Branches and loops with uniform control flow are kept and carry
batched values.  All other statements run in a loop over the batch elements.

Start with `vmap_plan.py`, the analysis that finds the batched values and the statements that need
a loop.  `vmap.py` is the transformation, `batched_values.py` builds values with the batch axis.

The result is in value form.  Jacobians batch the seed of a derivative, whose control flow depends
on the primal only.  `s2s.vmap` batches any function.

This folder may import `frontend`, `rules`, `simplify`, `ir` and `runtime`.
"""

from .vmap import batch

__all__ = ["batch"]
