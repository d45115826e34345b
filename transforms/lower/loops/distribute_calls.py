"""Loop distribution around expensive scalar calls, on loop-level IR.

    for i in range(n):                      for i in range(n):
        z = sum of x[i, j] * w[j]               z = sum of x[i, j] * w[j]
        s = s + np.exp(z)           →           z_rows[i] = z
                                            for i in range(n):
                                                z = z_rows[i]
                                                s = s + np.exp(z)

Beside an inner loop, a function is evaluated for one iteration after the other.  In a loop without
inner loops the calls are vectorised: several take hardly more time than one.  Scalars that a later
loop reads are expanded to arrays (scalar expansion).
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.alias import MayAlias, with_bindings
from ..analysis.cost_model import trip_count
from ..analysis.dependence import loop_reductions
from ..analysis.fusion_profit import has_expensive_calls
from ..analysis.liveness import Names, defs, live_after_loops, upward_exposed
from ..loop_ir import nodes as L

# The statements that the body of a distributed loop may contain.
_ALLOWED = (L.Let, L.Store, L.Comment, L.Loop)
# Inner loops with at most this many iterations are unrolled by the compiler and do not count.
MAX_UNROLLED_TRIPS = 8
# The maximal numbers of loops and of expanded scalars.  With more, memory traffic would cost the
# time that is saved.
MAX_PARTS, MAX_EXPANDED_SCALARS = 4, 8


def distribute_calls(
    body: list[L.Stmt], escaping: set[str], may_alias: MayAlias, new_name: Callable[[str], str]
) -> list[L.Stmt]:
    """Return `body` with loops distributed.

    `escaping` are the buffers whose contents the caller sees even if the call fails.
    """
    if not any(isinstance(s, L.Loop) and len(_parts(s)) > 1 for s in L.walk(body)):
        return body
    return _Distributor(
        live_after_loops(body), escaping, with_bindings(body, may_alias), new_name
    ).block(body)


class _Distributor:
    def __init__(
        self,
        after: dict[int, Names],
        escaping: set[str],
        may_alias: MayAlias,
        new_name: Callable[[str], str],
    ) -> None:
        self.after, self.escaping, self.may_alias, self.new_name = (
            after,
            escaping,
            may_alias,
            new_name,
        )

    def block(self, body: list[L.Stmt]) -> list[L.Stmt]:
        out: list[L.Stmt] = []
        for stmt in body:
            parts = _parts(stmt) if isinstance(stmt, L.Loop) else []
            if len(parts) > 1:
                assert isinstance(stmt, L.Loop)
                common = loop_reductions(stmt, self.after[id(stmt)], self.may_alias, self.escaping)
                if common is not None and not common.private_buffers:
                    new = self._distributed(stmt, parts, {*common.scalar_reductions})
                    if len(new) - len(parts) <= MAX_EXPANDED_SCALARS:
                        out += new
                        continue
            for inner in L.blocks_of(stmt):
                inner[:] = self.block(inner)
            out.append(stmt)
        return out

    def _distributed(
        self, loop: L.Loop, parts: list[list[L.Stmt]], folds: set[str]
    ) -> list[L.Stmt]:
        """Return a loop for each part, after allocations for the scalars that later parts read."""
        allocs: list[L.Stmt] = []
        loops: list[L.Stmt] = []
        expanded: dict[str, tuple[str, str]] = {}
        span = L.index_range(loop)
        assert span is not None
        index = L.sub(L.Name(loop.var), span[0])
        for k, part in enumerate(parts):
            later = {name for p in parts[k + 1 :] for name in upward_exposed(p)} - folds
            new = {
                name: (self.new_name(f"{name}_rows"), dtype)
                for name, dtype in _assigned_scalars(part).items()
                if name in later
            }
            tail: list[L.Stmt] = [
                L.Store(rows, (index,), L.Name(name, dtype)) for name, (rows, dtype) in new.items()
            ]
            wanted = upward_exposed([*part, *tail])
            head: list[L.Stmt] = [
                L.Let(name, L.Load(rows, (index,), dtype))
                for name, (rows, dtype) in expanded.items()
                if name in wanted
            ]
            expanded |= new
            size = L.clamp_to_zero(trip_count(loop))
            allocs += [L.Alloc(rows, dtype, (size,)) for rows, dtype in new.values()]
            loops.append(L.Loop(loop.var, loop.start, loop.stop, loop.step, [*head, *part, *tail]))
        return [*allocs, *loops]


def _parts(loop: L.Loop) -> list[list[L.Stmt]]:
    """Return the statements of a loop's body in groups that are to have loops of their own: those
    with inner loops, and between them those with expensive calls.

    Return at most one group if distribution is not profitable.
    """
    if L.index_range(loop) is None or loop.parallel:
        return []
    if not all(isinstance(s, _ALLOWED) for s in loop.body):
        return []
    if not any(map(_is_long, loop.body)):
        return []
    deep: list[bool] = []
    parts: list[list[L.Stmt]] = []
    for s in loop.body:
        is_deep = _is_long(s)
        if not parts or (is_deep and not deep[-1]):
            # The initialisation of a sum moves to the group of its loop.
            begin: list[L.Stmt] = []
            if is_deep and parts:
                sums = {name for inner in L.walk([s]) for name in defs(inner)}
                while parts[-1] and _initialises(parts[-1][-1], sums):
                    begin.insert(0, parts[-1].pop())
            parts.append([*begin, s])
            deep.append(is_deep)
        elif not is_deep and deep[-1] and not isinstance(s, L.Comment):
            parts.append([s])
            deep.append(False)
        else:
            parts[-1].append(s)
    joined: list[list[L.Stmt]] = []
    was_slow = True
    for part, is_deep in zip(parts, deep, strict=True):
        is_slow = not is_deep and has_expensive_calls(part)
        if joined and not is_slow and not was_slow:
            joined[-1] += part
        elif part:
            joined.append(part)
        else:
            continue
        was_slow = is_slow
    # Only one group may fail: of two errors, that of the earlier iteration must come first.
    fail = [part for part in joined if any(isinstance(s, L.Fail) for s in L.walk(part))]
    return joined if len(joined) <= MAX_PARTS and len(fail) < 2 else []


def _is_long(stmt: L.Stmt) -> bool:
    """True for a loop, or a loop in it, of more than `MAX_UNROLLED_TRIPS` or an unknown number of
    iterations."""
    if not isinstance(stmt, L.Loop):
        return False
    count = trip_count(stmt)
    return (
        not isinstance(count, L.Lit)
        or count.value > MAX_UNROLLED_TRIPS
        or any(map(_is_long, stmt.body))
    )


def _initialises(stmt: L.Stmt, sums: set[str]) -> bool:
    """True for a comment, or an assignment of a literal to one of `sums`."""
    if isinstance(stmt, L.Comment):
        return True
    return isinstance(stmt, L.Let) and stmt.name in sums and isinstance(stmt.expr, L.Lit)


def _assigned_scalars(part: list[L.Stmt]) -> dict[str, str]:
    """Return the scalars that a part assigns, with their dtypes."""
    return {s.name: s.expr.dtype for s in L.walk(part) if isinstance(s, L.Let)}
