"""Whether several rounds of a loop are computed at once, and whether two loops that become one
would be slower for it, on loop-level IR."""

from __future__ import annotations

from ..loop_ir import nodes as L
from .cost_model import CHEAP_CALLS


def is_slower(
    first: L.Loop, first_fails: bool, second: L.Loop, second_fails: bool, turned: bool
) -> bool:
    """Whether two loops had better stay two, of which each may fail, and the second may have been
    turned to run forwards."""
    for loop, other, fails in ((second, first, first_fails), (first, second, second_fails)):
        one_by_one = _one_by_one(other)
        if (fails or (turned and one_by_one)) and _loses(loop, other):
            return True
        if one_by_one and not _one_by_one(loop) and calls_slowly(loop.body):
            return True
    return _adds_to_rows(first, second)


def _loses(loop: L.Loop, other: L.Loop) -> bool:
    """Whether a loop would be slower inside of one that may fail, or the rounds of which are
    computed one by one: several of its rounds are no longer computed at once.  That is little
    beside a nest, unless functions are called."""
    if _one_by_one(loop):
        return False
    parts = (p for s in loop.body for p in L.parts_read(s))
    return any(isinstance(p, L.Apply) for p in parts) or len(nested(other)) == 1


def _adds_to_rows(first: L.Loop, second: L.Loop) -> bool:
    """Whether two loops do no more than add to different rows of a buffer: as these may be one and
    the same, rounds would be computed one after the other."""
    puts = [[s for s in loop.body if not isinstance(s, L.Comment)] for loop in (first, second)]
    if [len(found) for found in puts] != [1, 1]:
        return False
    (one,), (other,) = puts
    if not (isinstance(one, L.Store) and isinstance(other, L.Store) and one.add and other.add):
        return False
    return one.buffer == other.buffer and one.index[:-1] != other.index[:-1]


def calls_slowly(body: list[L.Stmt]) -> bool:
    """Whether functions are called of which several at once take hardly longer than one."""
    parts = (p for s in L.walk(body) for p in L.parts_read(s))
    return any(isinstance(p, L.Apply) and p.function not in CHEAP_CALLS for p in parts)


def _one_by_one(loop: L.Loop) -> bool:
    """Whether a loop holds others or branches, or writes to where it has found out only then."""
    if any(isinstance(s, (L.Loop, L.While, L.If)) for s in loop.body):
        return True
    own = {s.name for s in loop.body if isinstance(s, L.Let)}
    places = [i for s in loop.body if isinstance(s, L.Store) for i in s.index]
    indirect = (p for i in places for p in L.walk_expr(i))
    return any(isinstance(p, L.Load) or getattr(p, "name", None) in own for p in indirect)


def nested(loop: L.Loop) -> list[L.Loop]:
    """A loop, its first inner loop, and so on."""
    inner = next((s for s in loop.body if isinstance(s, L.Loop)), None)
    return [loop, *(nested(inner) if inner else ())]
