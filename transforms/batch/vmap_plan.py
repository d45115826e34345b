"""What the batch pass does where: which values get the leading axis, and which statements run
element by element.

A value is *batched* if it depends on a mapped parameter (its sizes alone do not count).  It
is *uneven* if the elements' values have no common shape, or are lists or records: such a value
lives inside a loop over the elements only, which therefore spans all its uses.  Statements run
element by element

- if elements go different ways: branches, loops and checks that depend on batched values;
- if they call functions or print, or draw random numbers for themselves;
- if they make or read uneven values;
- if a slot is saved in such a loop, up to its restore.

Such statements form *regions*: runs of a block, one loop each.  What stands in between and
does not depend on the region is computed once, before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..ir.fixpoint import Rounds
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Custom,
    Draw,
    For,
    Function,
    If,
    Operand,
    Print,
    Save,
    Scalar,
    Stmt,
    Type,
    Var,
    While,
    blocks_of,
    operands_of,
    targets_of,
    walk,
)
from ..ir.op_registry import RULES
from ..ir.record import record
from ..rules.batching_index_rules import fixed_extent
from ..rules.batching_rules import batching_of

# Where a statement stands: the blocks around it, outermost first, and its index in each.
Place = tuple[tuple[int, int], ...]
# Operations that ask for sizes only, and the first operand that is a size.
QUERIES = ("shape", "list_len")
_SIZES = {"zeros": 0, "ones": 0, "empty": 0, "full": 1, "reshape": 1, "broadcast_to": 1,
          "arange": 0, "linspace": 2, "eye": 0, "irfft": 1, "resize": 1}  # fmt: skip


@record
class Region:
    """The statements of a block at `members` run element by element, in one loop; those of
    `first` to `last` that are no members come before it."""

    members: set[int]

    @property
    def first(self) -> int:
        return min(self.members)

    @property
    def last(self) -> int:
        return max(self.members)


class Plan:
    def __init__(self, function: Function, mapped: Iterable[str], draws: bool = False) -> None:
        self.function = function
        self.mapped = frozenset(mapped)
        self.draws = draws
        self.batched: set[str] = set()
        self.uneven: set[str] = set()
        self.slots: set[str] = set()
        self.regions: dict[int, list[Region]] = {}
        self.place: dict[int, Place] = {}
        self.blocks: dict[int, Block] = {}
        self.owner: dict[int, Stmt] = {}
        self.home: dict[str, Place] = {}
        self.uses: dict[str, list[Place]] = {}
        self.saves: dict[str, Stmt] = {}
        self.restores: dict[str, Stmt] = {}
        self._survey(function.body, ())
        for x in (*function.results, *(v for _, v in function.effects)):
            self._note_use(x, ())
        rounds = Rounds("batch")
        while True:
            rounds.count()
            self._spread()
            if not self._grow():
                break

    def region_of(self, place: Place) -> tuple[int, Region] | None:
        """The region, and its block, that a statement at this place belongs to."""
        for block, index in place:
            for region in self.regions.get(block, ()):
                if index in region.members:
                    return block, region
        return None

    def escapes(self, name: str, block: int, region: Region) -> bool:
        """Whether a value of a region is read outside it."""
        return any(
            not any(at == block and k in region.members for at, k in place)
            for place in self.uses.get(name, ())
        )

    # ---- what stands where

    def _survey(self, block: Block, around: Place) -> None:
        self.blocks[id(block)] = block
        for index, stmt in enumerate(block):
            place = self.place[id(stmt)] = (*around, (id(block), index))
            for x in operands_of(stmt):
                self._note_use(x, place)
            for v in targets_of(stmt):
                self.home[v.name] = place
            if isinstance(stmt, Save):
                self.saves[stmt.slot.name] = stmt
            elif isinstance(stmt, Assign) and stmt.op.name == "restore":
                self.restores[stmt.op.attrs["slot"].name] = stmt
            for inner in blocks_of(stmt):
                self.owner[id(inner)] = stmt
                self._survey(inner, place)

    def _note_use(self, x: Operand, place: Place) -> None:
        if isinstance(x, Var):
            self.uses.setdefault(x.name, []).append(place)

    # ---- dependence

    def _spread(self) -> None:
        """Finds the batched and the uneven values, given the regions so far."""
        self.batched, self.uneven, self.slots = set(self.mapped), set(), set()
        size = -1
        while size != len(self.batched) + len(self.uneven) + len(self.slots):
            size = len(self.batched) + len(self.uneven) + len(self.slots)
            self._visit(self.function.body)

    def on(self, x: Operand | None) -> bool:
        return isinstance(x, Var) and x.name in self.batched

    def _visit(self, block: Block) -> None:
        for stmt in block:
            if self.region_of(self.place[id(stmt)][-1:]) is not None:
                self._bind_all(stmt)
            elif isinstance(stmt, Assign):
                self._assign(stmt)
            elif isinstance(stmt, Save):
                if self.on(stmt.value):
                    self.slots.add(stmt.slot.name)
            elif isinstance(stmt, If):
                for phi in stmt.phis:
                    self._flow((phi.then_value, phi.else_value), (phi.target,))
            elif isinstance(stmt, (For, While)):
                for c in stmt.carried:
                    self._flow((c.init, c.next), (c.phi, c.result))
            elif isinstance(stmt, Custom):
                self._flow((*stmt.values, *stmt.inputs, *stmt.captured), stmt.targets)
            elif self._parts_ways(stmt):
                self._bind_all(stmt)
            if self.region_of(self.place[id(stmt)][-1:]) is None:
                for inner in blocks_of(stmt):
                    self._visit(inner)

    def _bind_all(self, stmt: Stmt) -> None:
        for v in targets_of(stmt):
            self.batched.add(v.name)
            if self._no_common_shape(v.type, v.name):
                self.uneven.add(v.name)

    def _flow(self, sources: Iterable[Operand], targets: Iterable[Var]) -> None:
        sources = [x for x in sources if isinstance(x, Var)]
        for found in (self.batched, self.uneven):
            if any(x.name in found for x in sources):
                found.update(v.name for v in targets)

    def _assign(self, stmt: Assign) -> None:
        op, target = stmt.op, stmt.target
        if op.name == "restore":
            if op.attrs["slot"].name in self.slots:
                self.batched.add(target.name)
            return
        mapped = [self.on(a) for a in op.args]
        if not any(mapped) or op.name in QUERIES:
            return
        self.batched.add(target.name)
        if self._varies(stmt, mapped):
            self.uneven.add(target.name)

    def _varies(self, stmt: Assign, mapped: list[bool]) -> bool:
        """Whether an operation gives results of different shape to different elements."""
        op = stmt.op
        if op.name in _SIZES:
            return any(mapped[_SIZES[op.name] :])
        if op.name == "index":
            return not fixed_extent(op.attrs["items"], mapped)
        if op.name == "list_get":
            return mapped[1] and self._no_common_shape(stmt.target.type, stmt.target.name)
        if op.name == "list_set" and mapped[1]:
            return True
        if batching_of(RULES[op.name]) is not None:
            return False
        return self._no_common_shape(stmt.target.type, stmt.target.name)

    def _no_common_shape(self, t: Type, name: str) -> bool:
        """Whether a value computed element by element may have another shape each time."""
        if not isinstance(t, Array):
            return not isinstance(t, Scalar)
        for symbol in (s for dim in t.shape for s in dim.symbols):
            base, dot, _ = symbol.partition(".")
            if base == name or base in (self.uneven if dot else self.batched):
                return True
        return False

    # ---- regions

    def _grow(self) -> bool:
        """Extends the regions by what must be in them; tells whether any has grown."""
        wanted: dict[int, list[set[int]]] = {}
        for block, regions in self.regions.items():
            wanted[block] = [set(r.members) for r in regions]

        def want(block: int, *members: int) -> None:
            wanted.setdefault(block, []).append(set(members))

        for stmt in self._outside(self.function.body):
            if self._parts_ways(stmt):
                want(*self.place[id(stmt)][-1])
        for name in sorted(self.uneven):
            self._confine(name, want)
        self._join_slots(want)
        self._join_draws(want)
        before = {b: [r.members for r in regions] for b, regions in self.regions.items()}
        self.regions = {b: self._closed(self.blocks[b], sets) for b, sets in wanted.items()}
        return before != {b: [r.members for r in rs] for b, rs in self.regions.items()}

    def _outside(self, block: Block) -> Iterator[Stmt]:
        """Every statement outside of regions."""
        for stmt in block:
            if self.region_of(self.place[id(stmt)][-1:]) is None:
                yield stmt
                for inner in blocks_of(stmt):
                    yield from self._outside(inner)

    def _parts_ways(self, stmt: Stmt) -> bool:
        if isinstance(stmt, If):
            return self.on(stmt.cond)
        if isinstance(stmt, For):
            budget = stmt.budget and stmt.budget.amount
            bounds = (stmt.start, stmt.stop, stmt.step, stmt.count, stmt.until, budget)
            return any(map(self.on, bounds))
        if isinstance(stmt, While):
            return self.on(stmt.cond) or self.on(stmt.until)
        alike = isinstance(stmt, (Assign, Save, Custom))
        return not alike and any(map(self.on, operands_of(stmt)))

    def _confine(self, name: str, want) -> None:  # type: ignore[no-untyped-def]
        """The uses of an uneven value belong to the region that makes it."""
        if name not in self.home:  # a loop's phi: its sources have been seen to
            return
        block, index = self.home[name][-1]
        want(block, index)
        for place in self.uses.get(name, ()):
            at = next((k for b, k in place if b == block), None)
            if at is not None:
                want(block, index, at)
            elif block in self.owner:  # it leaves the block: as a phi, or into the next iteration
                want(*self.place[id(self.owner[block])][-1])

    def _join_slots(self, want) -> None:  # type: ignore[no-untyped-def]
        """A slot saved or restored in a region: both are, in the same one."""
        for slot, save in self.saves.items():
            if slot not in self.restores:
                continue
            here, there = self.place[id(save)], self.place[id(self.restores[slot])]
            if self.region_of(here) != self.region_of(there):
                block, i, j = next(
                    (b, i, j) for (b, i), (c, j) in reversed(list(zip(here, there))) if b == c
                )
                want(block, i, j)

    def _join_draws(self, want) -> None:  # type: ignore[no-untyped-def]
        """Elements that draw for themselves do so one after another."""
        body = self.function.body
        drawing = [i for i, s in enumerate(body) if any(isinstance(t, Draw) for t in walk([s]))]
        if self.draws and drawing:
            want(id(body), *drawing)

    def _closed(self, block: Block, sets: list[set[int]]) -> list[Region]:
        """Regions that hold the given sets of statements: those that overlap or touch are one,
        and what depends on a region and stands inside it belongs to it."""
        regions: list[Region] = []
        for members in sorted(sets, key=min):
            if regions and min(members) <= regions[-1].last + 1:
                regions[-1].members |= members
            else:
                regions.append(Region(set(members)))
        for region in regions:
            made: set[str] = set()
            for index in range(region.first, region.last + 1):
                if index not in region.members and not made & self._reads(block[index]):
                    continue
                region.members.add(index)
                made |= self._makes(block[index])
        return regions

    def _reads(self, stmt: Stmt) -> set[str]:
        found = {x.name for s in walk([stmt]) for x in operands_of(s) if isinstance(x, Var)}
        for s in walk([stmt]):
            if isinstance(s, Assign) and s.op.name == "restore":
                found.add(f"slot {s.op.attrs['slot'].name}")
        return found | _world(stmt)

    def _makes(self, stmt: Stmt) -> set[str]:
        saved = {f"slot {s.slot.name}" for s in walk([stmt]) if isinstance(s, Save)}
        return saved | {v.name for v in targets_of(stmt)} | _world(stmt)


def _world(stmt: Stmt) -> set[str]:
    """What must stay in order: printing and drawing."""
    kinds = {type(s) for s in walk([stmt])}
    return {f"world {kind.__name__}" for kind in kinds & {Draw, Print}}
