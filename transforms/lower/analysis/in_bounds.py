"""Which elements are there before a loop that adds to them in some rounds, and which ones are read
that are certainly others, on loop-level IR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..loop_ir import nodes as L
from .value_range import Known


class Elsewhere:
    """`sizes` are those of the arrays among the parameters."""

    def __init__(
        self,
        body: list[L.Stmt],
        params: Iterable[str],
        sizes: Mapping[str, tuple[L.Expr, ...]],
    ) -> None:
        self._there: dict[int, L.Index] = {}
        self._others: dict[tuple[int, L.Load], list[tuple[int, L.Expr]]] = {}
        if not any(isinstance(s, L.Loop) and additions(s) for s in L.walk(body)):
            return
        known = Known(body, params)
        self._alive: list[L.Stmt] = []  # statements are known by their identity
        self._sizes = {name: s for name, s in sizes.items() if known.times[name] == 1}
        for stmt in known.walk(body):
            if isinstance(stmt, L.Alloc) and known.times[stmt.name] == 1:
                self._sizes[stmt.name] = stmt.sizes
            elif isinstance(stmt, L.Loop):
                for put in additions(stmt):
                    self._look_up(known, put)
            self._look_at(known, stmt)
            self._alive.append(stmt)

    def _look_up(self, known: Known, put: L.Store) -> None:
        sizes = self._sizes.get(put.buffer, ())
        index = tuple(map(known.spelt, put.index))
        if len(sizes) != len(index) or not known.is_fixed(L.Size(put.buffer, 0)):
            return
        if all(
            known.is_natural(e) and known.is_below(e, known.spelt(n)) for e, n in zip(index, sizes)
        ):
            self._there[id(put)] = index

    def _look_at(self, known: Known, stmt: L.Stmt) -> None:
        for load in L.parts_read(stmt):
            if isinstance(load, L.Load):
                self._others[id(stmt), load] = [
                    (axis, whole)
                    for axis, i in enumerate(load.index)
                    if (whole := known.without_bit(known.spelt(i))) is not None
                    and known.is_natural(whole)
                ]

    def is_there(self, put: L.Store) -> bool:
        """Whether an element exists to which a loop adds in some rounds, even if in none."""
        return id(put) in self._there

    def is_other(self, stmt: L.Stmt, load: L.Load, put: L.Store) -> bool:
        """Whether what is read is not the element that the same loop adds to."""
        index = self._there.get(id(put), ())
        found = self._others.get((id(stmt), load), ())
        return any(axis < len(index) and index[axis] == e for axis, e in found)


def additions(loop: L.Loop) -> list[L.Store]:
    """What an innermost loop adds in some of its rounds."""
    inside = list(L.walk(loop.body))
    if any(isinstance(s, (L.Loop, L.While)) for s in inside):
        return []
    always = {id(s) for s in loop.body}
    return [s for s in inside if isinstance(s, L.Store) and s.add and id(s) not in always]
