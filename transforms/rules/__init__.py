"""The rules: what each operation means, and what users write for it.

A rule is found by its NumPy path; importing the package fills the two tables."""

# ruff: noqa: F401

from ..ir.op_registry import RULES, SURFACES, Accumulate, NeedStatic, Rule
from . import batching_index_rules, batching_rules, broadcasting
from .internal import identity, lists, log_domain_rules, update, value_operations
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
