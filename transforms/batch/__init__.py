"""Batching: a function of one element becomes a function of many.

`batch` gives the mapped parameters a leading axis, and every value that depends on them; all
else is computed once, as before.  Operations follow their batching rules
(`rules/batching_rules.py`), branches and loops that all elements take alike are kept and carry
batched values, and whatever is left runs in a loop over the elements (`vmap_plan.py`).  The result
is in value form: Jacobians batch the seed of a derivative, whose control flow the primal
decides alone; `s2s.vmap` batches any function.
"""

from .vmap import batch

__all__ = ["batch"]
