"""Profitability of loop fusion, on loop-level IR: would fusion prevent vectorisation?

A loop counts as vectorisable if it is innermost, has no branches and does not store at an indirect
index.
"""

from __future__ import annotations

from ..loop_ir import nodes as L
from ..loop_ir.operations import OPS


def is_fusion_unprofitable(
    first: L.Loop, first_fails: bool, second: L.Loop, second_fails: bool, turned: bool
) -> bool:
    """True if fusing two loops is not profitable.

    `first_fails` and `second_fails` tell whether a loop may raise an error; `turned` tells whether
    the second one was reversed to run in ascending order.
    """
    for loop, other, fails in ((second, first, first_fails), (first, second, second_fails)):
        other_is_scalar = _is_scalar_loop(other)
        if (fails or (turned and other_is_scalar)) and _loses_vectorisation(loop, other):
            return True
        if other_is_scalar and not _is_scalar_loop(loop) and has_expensive_calls(loop.body):
            return True
    return _accumulate_to_rows(first, second)


def _loses_vectorisation(loop: L.Loop, other: L.Loop) -> bool:
    """True if fusion with `other`, which may fail or runs as scalar code, makes a loop slower.

    The loop would no longer be vectorised.  That costs little relative to a loop nest, unless the
    loop calls functions.
    """
    if _is_scalar_loop(loop):
        return False
    parts = (p for s in loop.body for p in L.subexprs_read(s))
    return any(isinstance(p, L.Apply) for p in parts) or len(loop_nest(other)) == 1


def _accumulate_to_rows(first: L.Loop, second: L.Loop) -> bool:
    """True if each of two loops only accumulates to a row of the same buffer, at different indices.

    The two rows may be the same one, so the fused loop could not be vectorised.
    """
    stores = [[s for s in loop.body if not isinstance(s, L.Comment)] for loop in (first, second)]
    if [len(found) for found in stores] != [1, 1]:
        return False
    (one,), (other,) = stores
    if not (isinstance(one, L.Store) and isinstance(other, L.Store) and one.add and other.add):
        return False
    return one.buffer == other.buffer and one.index[:-1] != other.index[:-1]


def has_expensive_calls(body: list[L.Stmt]) -> bool:
    """True if functions are called that profit from vectorisation: all but the cheap ones.

    A vector of calls takes hardly longer than a single call.
    """
    parts = (p for s in L.walk(body) for p in L.subexprs_read(s))
    return any(isinstance(p, L.Apply) and not OPS[p.function].is_cheap for p in parts)


def _is_scalar_loop(loop: L.Loop) -> bool:
    """True if a loop is not vectorisable.

    It contains loops or branches, or a store whose index is loaded or computed by a `Let` in it.
    """
    if any(isinstance(s, (L.Loop, L.While, L.If)) for s in loop.body):
        return True
    own = {s.name for s in loop.body if isinstance(s, L.Let)}
    indices = [i for s in loop.body if isinstance(s, L.Store) for i in s.index]
    subexprs = (p for i in indices for p in L.walk_expr(i))
    return any(isinstance(p, L.Load) or getattr(p, "name", None) in own for p in subexprs)


def loop_nest(loop: L.Loop) -> list[L.Loop]:
    """The loops of a nest: a loop, its first inner loop, and so on."""
    inner = next((s for s in loop.body if isinstance(s, L.Loop)), None)
    return [loop, *(loop_nest(inner) if inner else ())]
