"""Numbers that take long get a loop of their own, on loop-level IR.

    for i in range(n):                      for i in range(n):
        z = sum of x[i, j] * w[j]               z = sum of x[i, j] * w[j]
        s = s + np.exp(z)           →           z_rows[i] = z
                                            for i in range(n):
                                                z = z_rows[i]
                                                s = s + np.exp(z)

Beside another loop a function is computed for one round after the other; in a loop without others
it is for several at once, in hardly more time than for one.
"""

from __future__ import annotations

from collections.abc import Callable

from ..analysis.alias import MayAlias, with_bindings
from ..analysis.cost_model import trips
from ..analysis.dependence import loop_reductions
from ..analysis.fusion_profit import calls_slowly
from ..analysis.liveness import Names, after_loops, defs, exposed
from ..loop_ir import nodes as L

# A round may hold this, and loops.
_PLAIN = (L.Let, L.Store, L.Comment, L.Loop)
# Loops with so few rounds are written out by the compiler and do not count.
SHORT = 8
# With more parts, or numbers to keep, memory would take the time that is saved.
PARTS, KEPT = 4, 8


def distribute_calls(
    body: list[L.Stmt], escaping: set[str], may_alias: MayAlias, new_name: Callable[[str], str]
) -> list[L.Stmt]:
    """`visible` are the buffers whose contents the caller sees even if the call fails."""
    if not any(isinstance(s, L.Loop) and len(_parts(s)) > 1 for s in L.walk(body)):
        return body
    return _Parter(after_loops(body), escaping, with_bindings(body, may_alias), new_name).block(
        body
    )


class _Parter:
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
                if common is not None and not common.scratch:
                    new = self._written(stmt, parts, {*common.folds})
                    if len(new) - len(parts) <= KEPT:
                        out += new
                        continue
            for inner in L.blocks_of(stmt):
                inner[:] = self.block(inner)
            out.append(stmt)
        return out

    def _written(self, loop: L.Loop, parts: list[list[L.Stmt]], folds: set[str]) -> list[L.Stmt]:
        """A loop for each part; what a later part needs of a number, each round keeps."""
        allocs: list[L.Stmt] = []
        loops: list[L.Stmt] = []
        kept: dict[str, tuple[str, str]] = {}
        span = L.span(loop)
        assert span is not None
        place = L.sub(L.Name(loop.var), span[0])
        for k, part in enumerate(parts):
            later = {name for p in parts[k + 1 :] for name in exposed(p)} - folds
            new = {
                name: (self.new_name(f"{name}_rows"), dtype)
                for name, dtype in _numbers(part).items()
                if name in later
            }
            tail: list[L.Stmt] = [
                L.Store(rows, (place,), L.Name(name, dtype)) for name, (rows, dtype) in new.items()
            ]
            wanted = exposed([*part, *tail])
            head: list[L.Stmt] = [
                L.Let(name, L.Load(rows, (place,), dtype))
                for name, (rows, dtype) in kept.items()
                if name in wanted
            ]
            kept |= new
            size = L.at_least_none(trips(loop))
            allocs += [L.Alloc(rows, dtype, (size,)) for rows, dtype in new.values()]
            loops.append(L.Loop(loop.var, loop.start, loop.stop, loop.step, [*head, *part, *tail]))
        return [*allocs, *loops]


def _parts(loop: L.Loop) -> list[list[L.Stmt]]:
    """The statements of a round in groups that are to have loops of their own: those with other
    loops, and between them those that take long.  Only one group if nothing is gained."""
    if L.span(loop) is None or loop.parallel:
        return []
    if not all(isinstance(s, _PLAIN) for s in loop.body):
        return []
    if not any(map(_is_long, loop.body)):
        return []
    deep: list[bool] = []
    parts: list[list[L.Stmt]] = []
    for s in loop.body:
        is_deep = _is_long(s)
        if not parts or (is_deep and not deep[-1]):
            # A sum begins where its loop stands.
            begin: list[L.Stmt] = []
            if is_deep and parts:
                sums = {name for inner in L.walk([s]) for name in defs(inner)}
                while parts[-1] and _begins(parts[-1][-1], sums):
                    begin.insert(0, parts[-1].pop())
            parts.append([*begin, s])
            deep.append(is_deep)
        elif not is_deep and deep[-1] and not isinstance(s, L.Comment):
            parts.append([s])
            deep.append(False)
        else:
            parts[-1].append(s)
    joined: list[list[L.Stmt]] = []
    slow_before = True
    for part, is_deep in zip(parts, deep, strict=True):
        slow = not is_deep and calls_slowly(part)
        if joined and not slow and not slow_before:
            joined[-1] += part
        elif part:
            joined.append(part)
        else:
            continue
        slow_before = slow
    # Of two errors, that of the earlier round comes first.
    fail = [part for part in joined if any(isinstance(s, L.Fail) for s in L.walk(part))]
    return joined if len(joined) <= PARTS and len(fail) < 2 else []


def _is_long(stmt: L.Stmt) -> bool:
    if not isinstance(stmt, L.Loop):
        return False
    count = trips(stmt)
    return not isinstance(count, L.Lit) or count.value > SHORT or any(map(_is_long, stmt.body))


def _begins(stmt: L.Stmt, sums: set[str]) -> bool:
    if isinstance(stmt, L.Comment):
        return True
    return isinstance(stmt, L.Let) and stmt.name in sums and isinstance(stmt.expr, L.Lit)


def _numbers(part: list[L.Stmt]) -> dict[str, str]:
    """What is set in a part, and the dtypes."""
    return {s.name: s.expr.dtype for s in L.walk(part) if isinstance(s, L.Let)}
