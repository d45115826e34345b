"""Facts about conditional accumulations in innermost loops, on loop-level IR.

Two facts are computed: whether the element exists even if no iteration accumulates to it, and
whether a load in the loop is certainly from another element.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..loop_ir import nodes as L
from .value_range import ValueRanges


class AccumulationFacts:
    """The facts for all loops of `body`.  `sizes` are those of the array parameters.

    The index of an in-bounds accumulation is kept by the store's identity.  For each load, the axes
    are kept at which its index is some non-negative integer with one bit cleared, with that
    integer: the index is certainly less than it.
    """

    def __init__(
        self,
        body: list[L.Stmt],
        params: Iterable[str],
        sizes: Mapping[str, tuple[L.Expr, ...]],
    ) -> None:
        self._in_bounds: dict[int, L.Index] = {}
        self._less_than: dict[tuple[int, L.Load], list[tuple[int, L.Expr]]] = {}
        if not any(isinstance(s, L.Loop) and conditional_accumulations(s) for s in L.walk(body)):
            return
        known = ValueRanges(body, params)
        self._alive: list[L.Stmt] = []  # keeps statements alive, since the keys hold their ids
        self._sizes = {name: s for name, s in sizes.items() if known.definition_counts[name] == 1}
        for stmt in known.walk(body):
            if isinstance(stmt, L.Alloc) and known.definition_counts[stmt.name] == 1:
                self._sizes[stmt.name] = stmt.sizes
            elif isinstance(stmt, L.Loop):
                for put in conditional_accumulations(stmt):
                    self._record_target(known, put)
            self._record_loads(known, stmt)
            self._alive.append(stmt)

    def _record_target(self, known: ValueRanges, put: L.Store) -> None:
        """Record the index of a store if it is provably within bounds along all axes."""
        sizes = self._sizes.get(put.buffer, ())
        index = tuple(map(known.resolve, put.index))
        if len(sizes) != len(index) or not known.is_fixed(L.Size(put.buffer, 0)):
            return
        if all(
            known.is_nonnegative(e) and known.is_less(e, known.resolve(n))
            for e, n in zip(index, sizes)
        ):
            self._in_bounds[id(put)] = index

    def _record_loads(self, known: ValueRanges, stmt: L.Stmt) -> None:
        """Record for the loads of a statement the integers that their indices are less than."""
        for load in L.subexprs_read(stmt):
            if isinstance(load, L.Load):
                self._less_than[id(stmt), load] = [
                    (axis, whole)
                    for axis, i in enumerate(load.index)
                    if (whole := known.before_clearing_bit(known.resolve(i))) is not None
                    and known.is_nonnegative(whole)
                ]

    def is_in_bounds(self, put: L.Store) -> bool:
        """True if the target of a conditional accumulation is provably within bounds.

        Then the element exists even if no iteration executes the store.
        """
        return id(put) in self._in_bounds

    def is_disjoint_load(self, stmt: L.Stmt, load: L.Load, put: L.Store) -> bool:
        """True if a load is certainly not from the element that the same loop accumulates to."""
        index = self._in_bounds.get(id(put), ())
        found = self._less_than.get((id(stmt), load), ())
        return any(axis < len(index) and index[axis] == e for axis, e in found)


def conditional_accumulations(loop: L.Loop) -> list[L.Store]:
    """The conditional accumulations of an innermost loop; none if the loop is not innermost."""
    inside = list(L.walk(loop.body))
    if any(isinstance(s, (L.Loop, L.While)) for s in inside):
        return []
    unconditional = {id(s) for s in loop.body}
    return [s for s in inside if isinstance(s, L.Store) and s.add and id(s) not in unconditional]
