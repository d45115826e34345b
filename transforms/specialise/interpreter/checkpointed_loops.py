"""Loops whose adjoint sweep computes iterations again."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ...ir.fixpoint import IterationLimit
from ...ir.nodes import Array, Budget, Carried, Draw, For, If, ListOf, Raise, Var, operands_of, walk
from ...ir.record import record
from ...ir.scopes import dims_of
from ...ir.symbolic_dims import Dim
from ...rules.random_draws import refuse_second_draw
from ...syntax import core
from ..operations.iterators import Iterators
from ..operations.streams import Streams
from ..places import Places
from ..session import Part
from ..values import CheckpointedVal, RangeVal
from .run_time_loops import RunTimeLoops


@record(eq=False)
class CheckpointedLoops(Part):
    """Loops whose adjoint sweep computes iterations again."""

    places: Places
    streams: Streams
    iterators: Iterators
    run_time_loops: RunTimeLoops

    def checkpointed_loop(
        self,
        target: core.Expr,
        over: CheckpointedVal,
        body: Callable[[], bool],
        until: str | None,
        node: core.Node,
    ) -> bool:
        if until is not None:
            self.places.refuse(
                node,
                "a checkpointed loop runs to its end: no `break` and no `return`",
                "let further iterations change nothing, or leave s2s.checkpoint out",
            )
        rounds = IterationLimit("specialise: sizes of a checkpointed loop")
        inner = self.iterators.whole(over.inner, node)
        while True:
            rounds.count()
            attempt = self.session.checkpoint()
            if isinstance(inner, RangeVal):
                self.run_time_loops.range_loop(target, inner, body, None, node)
            else:
                with self.streams.holding(inner, node):
                    stream = self.streams.stream(inner, node)
                    self.run_time_loops.stream_loop(target, stream, body, None, node)
            loop = self.b.block[-1]
            assert isinstance(loop, For)
            found = self._open_sizes(loop, node)
            if found and self.b.facts.sizes is None:
                self._check_sizes(loop, found)
            if not found or self.b.facts.sizes is None:
                break
            self.session.rollback(attempt)
            equal = [self.b.facts.relate(*self._sizes(*place)) == "equal" for place in found]
            if not any(equal):
                self._refuse_shapes([c for c, _ in found], node)
        for stmt in walk(loop.body):
            if isinstance(stmt, Draw):
                refuse_second_draw(stmt, self.places.frame)
        loop.budget = Budget(over.amount.operand, over.in_bytes)
        return False

    def _open_sizes(self, loop: For, node: core.Node) -> list[tuple[Carried, int]]:
        """The axes that are not known to keep their sizes, of what an iteration reads of the one
        before."""
        reads = {x for s in walk(loop.body) for x in operands_of(s)}
        found: list[tuple[Carried, int]] = []
        for c in (c for c in loop.carried if c.phi in reads):
            if isinstance(c.phi.type, ListOf):
                self.places.refuse(
                    node,
                    f"{_name(c)} grows in this loop, which is checkpointed",
                    "write into an array of fixed shape: ys[i] = y",
                )
            made = self.b.definitions.get(c.init.name) if isinstance(c.init, Var) else None
            if made is not None and made.name == "undef" and isinstance(c.init.type, Array):
                self.places.refuse(
                    node,
                    f"{_name(c)} goes from one iteration of this checkpointed loop to the next, "
                    "and has no shape before the first",
                    f"bind {_name(c)} before the loop",
                )
            equal = self.b.facts.known_equal
            axes = range(c.phi.type.ndim)
            found += [(c, axis) for axis in axes if not equal(*self._sizes(c, axis))]
        return found

    def _sizes(self, c: Carried, axis: int) -> tuple[Dim, Dim]:
        return dims_of(c.init)[axis], dims_of(c.next)[axis]

    def _refuse_shapes(self, carried: list[Carried], node: core.Node) -> NoReturn:
        name = _name(carried[0])
        self.places.refuse(
            node,
            f"{name} may change its shape in this loop, which is checkpointed",
            f"keep one shape, as {name}[:] = … does; or leave s2s.checkpoint out",
        )

    def _check_sizes(self, loop: For, places: list[tuple[Carried, int]]) -> None:
        with self.b.into(loop.body):
            for c, axis in places:
                sizes = [self.b.emit("shape", x, axis=axis) for x in (c.init, c.next)]
                message = f"{_name(c)} changes its shape in a checkpointed loop"
                failure = Raise("ValueError", (message,), self.b.origin)
                same = (sizes[0] == sizes[1]).operand
                self.b.block.append(If(same, [], [failure], [], self.b.origin))


def _name(c: Carried) -> str:
    return c.phi.user or "an array"
