"""Merge variables of memory form that hold the same value (copy coalescing).

Storage assignment introduces variables that the text does not need: `x_1 = x` before `x_1` is
written to, `s = s_1` at the end of a loop's body.  Readable text only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..ir.nodes import (
    Assign,
    Block,
    Call,
    Draw,
    For,
    Function,
    Op,
    Operand,
    Stmt,
    Var,
    blocks_of,
    map_blocks,
    operands_of,
    substitute,
    targets_of,
    walk,
)
from ..ir.record import replace
from .user_text import UserText


def merge_names(function: Function) -> Function:
    """The function in memory form, with such variables merged."""
    return _Merger(function).run()


class _Merger:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.users = set() if function.source is None else UserText(function.source).locals
        self.params = {p.name for p in function.params}
        self.reads, self.binds = _counted(function.body)
        results = [r.name for r in function.results if isinstance(r, Var)]
        self.reads.update(results)
        self.results = Counter(results)
        self.renamed: dict[str, str] = {}
        self.known: dict[int, tuple[Stmt, Counter[str], Counter[str]]] = {}

    def counted(self, stmt: Stmt) -> tuple[Counter[str], Counter[str]]:
        """How often variables are read in a statement, and bound."""
        found = self.known.get(id(stmt))
        if found is None or found[0] is not stmt:
            found = self.known[id(stmt)] = (stmt, *_counted([stmt]))
        return found[1], found[2]

    def run(self) -> Function:
        body = self.block(self.function.body, top=True)
        results = [
            replace(r, name=self.renamed[r.name], user="")
            if isinstance(r, Var) and r.name in self.renamed
            else r
            for r in self.function.results
        ]
        return replace(self.function, body=body, results=results)

    def block(self, block: Block, top: bool = False) -> Block:
        block = [map_blocks(s, self.block) for s in block]
        i = 0
        while i < len(block):
            stmt = block[i]
            if isinstance(stmt, Assign) and stmt.op.name == "alias":
                source = stmt.op.args[0]
                if isinstance(source, Var) and source.name != stmt.target.name:
                    made = self.forwards(block, i, stmt.target, source, top)
                    made = made or self.backwards(block, i, stmt.target, source)
                    if made is not None:
                        block, i = made
                        continue
            i += 1
        return block

    def forwards(
        self, block: Block, i: int, target: Var, source: Var, top: bool
    ) -> tuple[Block, int] | None:
        """Remove `b = a` where `b` is bound only here, and `a` is not bound again before the last
        read of `b`."""
        if self.is_users(target) or self.binds[target.name] != 1 or target.name in self.params:
            return None
        rest = block[i + 1 :]
        times = [self.counted(s)[0].get(target.name, 0) for s in rest]
        own = self.reads[target.name] - (self.results[target.name] if top else 0)
        if sum(times) != own:
            return None
        last = max((k for k, found in enumerate(times) if found), default=-1)
        if top and self.results[target.name]:
            last = len(rest) - 1
        for s in rest[: last + 1]:
            again = isinstance(s, Assign) and s.op == _alias(target) and s.target == source
            if not again and self.counted(s)[1].get(source.name):
                return None
        if top and self.results[target.name]:
            self.renamed[target.name] = source.name
            self.results[source.name] += self.results.pop(target.name)
        return [*block[:i], *self.rename(rest, target, source)], i

    def backwards(self, block: Block, i: int, target: Var, source: Var) -> tuple[Block, int] | None:
        """Remove `a = b` where it is the last read of `b`, and `a` is not used since `b` was
        bound."""
        if self.is_users(source) or source.name in self.params:
            return None
        reads = binds = 0
        for first in range(i - 1, -1, -1):
            s = block[first]
            found, bound = self.counted(s)
            reads += found.get(source.name, 0)
            binds += bound.get(source.name, 0)
            whole = reads + 1 == self.reads[source.name] and binds == self.binds[source.name]
            if bound.get(target.name):
                return None
            if isinstance(s, Assign) and s.target == source and whole:
                if blocks_of(s) or source in s.op.args:
                    return None
                made = self.rename(block[first:i], source, target)
                return [*block[:first], *made, *block[i + 1 :]], first
            if found.get(target.name):
                return None
        return None

    def rename(self, stmts: Block, old: Var, new: Var) -> Block:
        """Statements in which `new` replaces `old`, without assignments of a variable to itself."""

        def read(x: Operand) -> Operand:
            return replace(x, name=new.name, user="") if x == old else x

        def bound(s: Stmt) -> Stmt:
            s = map_blocks(s, lambda block: _kept(map(bound, block)))
            if isinstance(s, Assign) and s.target == old:
                return replace(s, target=replace(s.target, name=new.name, user=""))
            if isinstance(s, (Call, Draw)) and old in s.targets:
                targets = [replace(v, name=new.name) if v == old else v for v in s.targets]
                return replace(s, targets=targets)
            return s

        self.reads[new.name] += self.reads.pop(old.name, 0)
        self.binds[new.name] += self.binds.pop(old.name, 0) - 1
        out: Block = []
        for s in stmts:
            if old.name in self.counted(s)[0] or old.name in self.counted(s)[1]:
                out += map(bound, substitute([s], read))
            else:
                out.append(s)
        return _kept(out)

    def is_users(self, v: Var) -> bool:
        return v.name in self.users


def _alias(v: Var) -> Op:
    return Op("alias", (v,))


def _kept(stmts: Iterable[Stmt]) -> Block:
    """Statements without assignments of variables to themselves."""
    return [s for s in stmts if not (isinstance(s, Assign) and s.op == _alias(s.target))]


def _counted(block: Block) -> tuple[Counter[str], Counter[str]]:
    """How often variables are read, and bound."""
    reads: Counter[str] = Counter()
    binds: Counter[str] = Counter()
    for stmt in walk(block):
        reads.update(x.name for x in operands_of(stmt) if isinstance(x, Var))
        binds.update(v.name for v in targets_of(stmt))
        if isinstance(stmt, For):
            binds[stmt.index.name] += 1
    return reads, binds
