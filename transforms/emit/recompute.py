"""Recompute cheap subexpressions in a sweep, so that the user's statement prints as written.

The sweep of `error = np.mean(np.abs(guess - y) ** 1.5)` needs `guess - y`.  If the text computes
the difference once more there, the statement itself need not be split.  Readable text only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..ir.builder import NameSupply
from ..ir.nodes import (
    Assign,
    Block,
    Const,
    Function,
    Module,
    Operand,
    Origin,
    Span,
    Stmt,
    Var,
    blocks_of,
    inner_targets_of,
    map_blocks,
    operands_of,
    substitute,
    targets_of,
    walk,
)
from ..ir.record import replace
from ..ir.scopes import names_of

# Operations that cost a pass over their operands and no more.
_CHEAP = ("add", "subtract", "multiply", "negative", "absolute", "square")
_SIZES = ("shape", "size")


def recompute_subexpressions(module: Module) -> Module:
    """The module in value form, with cheap subexpressions computed where its entry's sweep needs
    them."""
    return module.with_main(_Recompute(module.main).run())


class _Recompute:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.names = NameSupply(names_of(function))
        self.definitions = {s.target.name: s for s in walk(function.body) if isinstance(s, Assign)}
        bound = [v for s in walk(function.body) for v in (*targets_of(s), *inner_targets_of(s))]
        self.versions = Counter(v.user for v in [*function.params, *bound])
        self.written = {
            x.name
            for s in walk(function.body)
            if isinstance(s, Assign) and s.op.name.startswith(("update", "list_"))
            for x in s.op.args[:1]
            if isinstance(x, Var)
        }
        kept = [*function.results, *(v for _, v in function.effects)]
        self.kept = {x.name for x in kept if isinstance(x, Var)}

    def run(self) -> Function:
        return replace(self.function, body=self.block(self.function.body))

    def block(self, block: Block) -> Block:
        block = [map_blocks(s, self.block) for s in block]
        for statement in dict.fromkeys(_own_statements(block)):
            block = self.with_recomputation(block, statement)
        return block

    def with_recomputation(self, block: Block, statement: Span) -> Block:
        """The block with a statement's subexpressions computed again where a sweep reads them, if
        that is possible for all of them."""
        inside = [s for s in block if _statement(s) == statement]
        if not all(isinstance(s, Assign) for s in inside):
            return block
        own = {s.target.name for s in inside if isinstance(s, Assign) and not s.target.user}
        own = {n for n in own if self.definitions[n].op.name not in _SIZES}
        outside = [s for s in block if _statement(s) != statement]
        read: dict[str, int] = {}
        for at, stmt in enumerate(outside):
            for name in own & _read_in(stmt):
                if not _in_sweep(stmt):
                    return block
                read.setdefault(name, at)
        if not read or read.keys() & self.kept or not all(self.is_cheap(n, own) for n in read):
            return block
        again: dict[str, Operand] = {}
        first = block.index(outside[min(read.values())])
        origin = block[first].origin
        made: Block = []
        for name in read:
            self.clone(name, own, again, made, origin)
        self.definitions.update({s.target.name: s for s in made if isinstance(s, Assign)})

        def new(x: Operand) -> Operand:
            return again.get(x.name, x) if isinstance(x, Var) else x

        return [*block[:first], *made, *substitute(block[first:], new)]

    def is_cheap(self, name: str, own: set[str]) -> bool:
        op = self.definitions[name].op
        if op.name not in _CHEAP:
            return False
        return all(
            isinstance(x, Const) or (self.is_cheap(x.name, own) if x.name in own else self.stays(x))
            for x in op.args
        )

    def stays(self, v: Var) -> bool:
        """Whether a variable of the user's keeps its value."""
        return bool(v.user) and self.versions[v.user] == 1 and v.name not in self.written

    def clone(
        self,
        name: str,
        own: set[str],
        again: dict[str, Operand],
        made: Block,
        origin: Origin | None,
    ) -> Operand:
        if name not in again:
            stmt = self.definitions[name]
            args = tuple(
                self.clone(x.name, own, again, made, origin)
                if isinstance(x, Var) and x.name in own
                else x
                for x in stmt.op.args
            )
            target = replace(stmt.target, name=self.names.fresh(name))
            made.append(Assign(target, replace(stmt.op, args=args), origin))
            again[name] = target
        return again[name]


def _statement(stmt: Stmt) -> Span | None:
    o = stmt.origin
    return o.stmt if o is not None and o.as_written else None


def _own_statements(block: Block) -> Iterator[Span]:
    for stmt in block:
        found = _statement(stmt)
        if found is not None and not blocks_of(stmt):
            yield found


def _in_sweep(stmt: Stmt) -> bool:
    return stmt.origin is not None and stmt.origin.sweep > 0


def _read_in(stmt: Stmt) -> set[str]:
    return {x.name for s in walk([stmt]) for x in operands_of(s) if isinstance(x, Var)}
