"""`for i in s2s.checkpoint(range(n), snapshots=10)`: loops whose iterations the adjoint sweep
computes again from snapshots (`revolve.py`).

A snapshot of an array is a row of one that is allocated once, so what goes from one iteration
to the next keeps its shape.  Where that is not known of the symbols, it is asked of the sizes at
hand and guarded, and the loop is run again with what is known then.
"""

from __future__ import annotations

import ast
from typing import Any, NoReturn

from ..build import Builder
from ..dims import Dim
from ..draws import refuse_second_draw
from ..errors import TypeError_
from ..ir import Array, Budget, Carried, Draw, For, If, ListOf, Raise, Var, operands_of, walk
from .values import CheckpointedVal, Mixin, RangeVal, State, Value


class Checkpoints(Mixin):
    """Mixed into the specialiser."""

    b: Builder
    state: State

    def checkpointed(self, over: Value, kwargs: dict[str, Value], node: Any) -> Value:
        if set(kwargs) not in ({"snapshots"}, {"memory"}):
            raise self.refusal(
                node, "a checkpointed loop needs one of snapshots= and memory=",
                "say how many states may be kept: s2s.checkpoint(range(n), snapshots=10)",
                TypeError_,
            )  # fmt: skip
        ((name, value),) = kwargs.items()
        amount = self._integer(value, node)
        message = f"{name} must be at least 1"
        if amount.known is None:
            failure = Raise("ValueError", (message,), self.b.origin)
            enough = (self.b.sym(amount.operand) >= 1).operand
            self.b.block.append(If(enough, [], [failure], [], self.b.origin))
        elif amount.known[0] < 1:
            raise self.located(ValueError(message), node)
        return CheckpointedVal(over, amount, name == "memory")

    def checkpointed_loop(
        self, target: ast.expr, over: CheckpointedVal, body: Any, until: str | None, node: Any
    ) -> bool:
        if until is not None:
            self.refuse(
                node,
                "a checkpointed loop runs to its end: no `break` and no `return`",
                "let further iterations change nothing, or leave s2s.checkpoint out",
            )
        while True:
            attempt = self.checkpoint()
            if isinstance(over.inner, RangeVal):
                self._range_loop(target, over.inner, body, None, node)
            else:
                with self.holding(over.inner, node):
                    stream = self.stream(over.inner, node)
                    self._stream_loop(target, stream, body, None, node)
            loop = self.b.block[-1]
            assert isinstance(loop, For)
            open_sizes = self._open_sizes(loop, node)
            if not open_sizes:
                break
            self.rollback(attempt)
            equal = [self.b.facts.relate(p, q) == "equal" for _, p, q in open_sizes]
            if not any(equal):
                self._refuse_shapes([c for c, _, _ in open_sizes], node)
        for stmt in walk(loop.body):
            if isinstance(stmt, Draw):
                refuse_second_draw(stmt, self.frame)
        loop.budget = Budget(over.amount.operand, over.in_bytes)
        return False

    def _open_sizes(self, loop: For, node: Any) -> list[tuple[Carried, Dim, Dim]]:
        """The sizes that are not known to stay, of what an iteration reads of the one before."""
        reads = {x for s in walk(loop.body) for x in operands_of(s)}
        found: list[tuple[Carried, Dim, Dim]] = []
        for c in (c for c in loop.carried if c.phi in reads):
            if isinstance(c.phi.type, ListOf):
                self.refuse(
                    node,
                    f"{c.phi.user or 'a list'} grows in this loop, which is checkpointed",
                    "write into an array of fixed shape: ys[i] = y",
                )
            if isinstance(c.init.type, Array) and isinstance(c.next.type, Array):
                sizes = zip(c.init.type.shape, c.next.type.shape, strict=True)
                found += [(c, p, q) for p, q in sizes if not self.b.facts.known_equal(p, q)]
        return found

    def _refuse_shapes(self, carried: list[Carried], node: Any) -> NoReturn:
        for c in carried:
            made = self.b.definitions.get(c.init.name) if isinstance(c.init, Var) else None
            if made is not None and made.name == "undef":
                name = c.phi.user or "an array"
                self.refuse(
                    node,
                    f"{name} goes from one iteration of this checkpointed loop to the next, and "
                    "has no shape before the first",
                    f"bind {name} before the loop",
                )
        name = carried[0].phi.user or "an array"
        self.refuse(
            node,
            f"{name} may change its shape in this loop, which is checkpointed",
            f"keep one shape, as {name}[:] = … does; or leave s2s.checkpoint out",
        )
