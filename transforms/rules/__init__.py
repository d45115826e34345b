"""Operation definitions: one `Rule` per IR operation, one surface per library function.

A rule holds type inference, NumPy evaluation, source text, pullback (VJP), pushforward (JVP) and
batching of one operation.  A surface is the builder of a user-visible function such as `numpy.sum`:
it emits operations.  Importing the package fills both tables, `RULES` (by operation name) and
`SURFACES` (by dotted path, for example "numpy.sum").

Start with `declare.py` (elementwise operations) and `numpy/ufuncs.py`, which uses it.  Then read
`broadcasting.py`, `promotion.py`, `batching_rules.py` and `axes_and_sizes.py`, the shared helpers.
Folders: `numpy/` and `scipy/` hold rules and surfaces by library, `python/` those of the builtins
and `math`, `internal/` operations that the compiler itself emits, `library/` functions that are
programs compiled by s2s.  `docs_table.py` generates docs/rules.md.

The folder may import `transforms/ir` and `transforms/runtime` only.
"""

# ruff: noqa: F401

from ..ir.op_registry import RULES, SURFACES, Accumulate, NeedStatic, Rule
from . import batching_index_rules, batching_rules, broadcasting
from .internal import identity, lists, log_domain_rules, packs, update, value_operations
from .numpy import (
    arithmetic,
    complex_numbers,
    composed,
    creation,
    cumulative,
    einsum,
    fft,
    indexing,
    joining,
    matmul,
    nondifferentiable,
    padding,
    random,
    ranges,
    reductions,
    roll,
    selection,
    shape,
    shape_functions,
    ufuncs,
)
from .numpy.linalg import (
    factorizations,
    pinv_norms,
    product_functions,
    solve,
    triangles,
    triangular,
)
from .python import builtins
from .scipy import banded, expm, linalg_names, lu, special

__all__ = ["RULES", "SURFACES", "Accumulate", "NeedStatic", "Rule"]
