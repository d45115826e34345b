"""The rules: what each operation means, and what users write for it.

A rule is found by its NumPy path; importing the package fills the two tables."""

from . import (  # noqa: F401
    batching,
    batching_index,
    broadcast,
    complex,
    composed,
    create,
    einsum,
    elementwise,
    elementwise_math,
    elementwise_special,
    fft,
    gather,
    identity,
    index,
    join,
    linalg,
    linalg_banded,
    linalg_expm,
    linalg_factor,
    linalg_lu,
    linalg_parts,
    linalg_pinv,
    linalg_scipy,
    linalg_solve,
    linalg_surfaces,
    linalg_triangular,
    lists,
    log_domain,
    nondiff,
    padding,
    python,
    random,
    ranges,
    reduce,
    roll,
    scan,
    shape,
    shape_surfaces,
    special,
    update,
)
from .registry import RULES, SURFACES, Accumulate, NeedStatic, Rule

__all__ = ["RULES", "SURFACES", "Accumulate", "NeedStatic", "Rule"]
