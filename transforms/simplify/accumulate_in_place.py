"""Adjoints that a callee accumulates from zero, accumulated onto those of its caller.

`f_rev` returns adjoints of parameters, and its caller adds each to the adjoint that it has already.
After inlining, `g` starts at zero, contributions are added to it, and in the end it is added to
`h`.  Contributions are then added to `h` directly, as where the callee is inlined at once.
"""

from __future__ import annotations

from ..ir.nodes import (
    Assign,
    Block,
    Carried,
    For,
    Function,
    If,
    Op,
    Operand,
    Phi,
    Stmt,
    Var,
    While,
    blocks_of,
    inner_targets_of,
    operands_of,
    substitute,
    targets_of,
    walk,
)
from ..ir.record import replace


def accumulate_in_place(function: Function, adjoints: set[str]) -> Function:
    """The function with the values `adjoints`, which inlined calls returned, accumulated in the
    arrays that they are added to.  Its statements are changed."""
    if not adjoints:
        return function
    return _Accumulator(function).run(adjoints)


class _Accumulator:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.binder: dict[str, Stmt | Phi | Carried] = {}
        self.uses: dict[str, int] = {}
        self.renamed: dict[str, Operand] = {}
        # By id of a statement, its position; by name of a value, the position from which on it is
        # available.  Parameters have none.
        self.position: dict[int, int] = {}
        self.available: dict[str, int] = {}
        self._number(function.body)
        for x in (*function.results, *(v for _, v in function.effects)):
            self._use(x)
        for stmt in walk(function.body):
            for x in operands_of(stmt):
                self._use(x)
            self.binder.update((v.name, stmt) for v in targets_of(stmt))
            if isinstance(stmt, If):
                self.binder.update((p.target.name, p) for p in stmt.phis)
            elif isinstance(stmt, (For, While)):
                self.binder.update((c.result.name, c) for c in stmt.carried)

    def _number(self, block: Block) -> None:
        for stmt in block:
            here = self.position[id(stmt)] = len(self.position)
            self.available.update((v.name, here) for v in inner_targets_of(stmt))
            for inner in blocks_of(stmt):
                self._number(inner)
            self.available.update((v.name, len(self.position) - 1) for v in targets_of(stmt))

    def _use(self, x: Operand) -> None:
        if isinstance(x, Var):
            self.uses[x.name] = self.uses.get(x.name, 0) + 1

    def run(self, adjoints: set[str]) -> Function:
        for stmt in [*walk(self.function.body)]:
            if not (isinstance(stmt, Assign) and stmt.op.name == "update_add"):
                continue
            base, value = (self._read(x) for x in stmt.op.args[:2])
            if stmt.op.attrs["path"] == () and isinstance(value, Var) and value.name in adjoints:
                since = self.available.get(base.name, -1) if isinstance(base, Var) else -1
                if self._starts_at_zero(value, since):
                    self.renamed[stmt.target.name] = self._onto(value, base)
        f = self.function
        body = substitute(self._rebuilt(f.body), self._read)
        effects = [(p, self._read(v)) for p, v in f.effects]
        results = [self._read(r) for r in f.results]
        return replace(f, body=body, results=results, effects=effects)

    def _read(self, x: Operand) -> Operand:
        while isinstance(x, Var) and x.name in self.renamed:
            x = self.renamed[x.name]
        return x

    def _rebuilt(self, block: Block) -> Block:
        out: Block = []
        for stmt in block:
            for inner in blocks_of(stmt):
                inner[:] = self._rebuilt(inner)
            if not (isinstance(stmt, Assign) and stmt.target.name in self.renamed):
                out.append(stmt)
        return out

    def _starts_at_zero(self, x: Operand, since: int) -> bool:
        """Whether a value is zero, or a sum of contributions that starts at zero after the position
        `since`, and is read only where the next one is added."""
        if not isinstance(x, Var) or self.uses.get(x.name) != 1 or x.name in self.renamed:
            return False
        made = self.binder.get(x.name)
        if isinstance(made, Phi):
            sides = (made.then_value, made.else_value)
            return all(self._starts_at_zero(side, since) for side in sides)
        if isinstance(made, Carried):
            return self._starts_at_zero(made.init, since) and self._adds_to(made.next, made.phi)
        if not isinstance(made, Assign):
            return False
        if made.op.name == "update_add":
            return self._starts_at_zero(made.op.args[0], since)
        return made.op.name == "zeros_like" and self.position[id(made)] > since

    def _adds_to(self, x: Operand, phi: Var) -> bool:
        """Whether a value is `phi` and contributions added to it."""
        if not isinstance(x, Var) or self.uses.get(x.name) != 1 or x.name in self.renamed:
            return False
        if x == phi:
            return True
        made = self.binder.get(x.name)
        if isinstance(made, Phi):
            return self.uses.get(phi.name) == 2 and all(
                side == phi or self._adds_to(side, phi)
                for side in (made.then_value, made.else_value)
            )
        if isinstance(made, Carried):
            return self._adds_to(made.init, phi) and self._adds_to(made.next, made.phi)
        if not isinstance(made, Assign) or made.op.name != "update_add":
            return False
        return self._adds_to(made.op.args[0], phi)

    def _onto(self, x: Operand, base: Operand) -> Operand:
        """The sum that starts at `base` in place of zero."""
        assert isinstance(x, Var)
        made = self.binder[x.name]
        if isinstance(made, Phi):
            made.then_value = self._onto(made.then_value, base)
            made.else_value = self._onto(made.else_value, base)
        elif isinstance(made, Carried):
            made.init = self._onto(made.init, base)
        else:
            assert isinstance(made, Assign)
            if made.op.name == "zeros_like":
                return base
            first = self._onto(made.op.args[0], base)
            made.op = Op(made.op.name, (first, *made.op.args[1:]), made.op.attrs)
        return x
