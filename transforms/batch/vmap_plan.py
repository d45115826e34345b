"""Analysis of the batching pass: which values get the batch axis, and which statements need a loop.

A value is *batched* if it depends on a mapped parameter (a dependence on sizes alone does not
count).  It is *uneven* if its values have no common shape across the batch, or are lists or
records.  An uneven value exists only inside a loop over the batch elements, so that loop contains
all its uses.  Statements run in a loop over the batch elements

- if control flow diverges: branches, loops and checks that depend on batched values;
- if they call functions or print with batched operands, or draw random numbers per element;
- if they define or read uneven values;
- from the save of a slot to its restore, if one of the two is in such a loop.

Such statements form *regions* of a block, with one loop each.  Statements between the members of a
region that do not depend on it are computed once, before the loop.

The batched values and the regions depend on each other.  `Plan` iterates to a fixpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..ir.fixpoint import IterationLimit
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
from ..rules.batching_index_rules import has_uniform_extent
from ..rules.batching_rules import batching_of

# The location of a statement: the enclosing blocks (by id), outermost first, and its index in each.
Location = tuple[tuple[int, int], ...]
# Operations that only query sizes.
SIZE_QUERIES = ("shape", "list_len")
# The position of the first operand that is a size of the result.
_FIRST_SIZE = {"zeros": 0, "ones": 0, "empty": 0, "full": 1, "reshape": 1, "broadcast_to": 1,
          "arange": 0, "linspace": 2, "eye": 0, "irfft": 1, "resize": 1}  # fmt: skip


@record
class Region:
    """Statements of a block, at the indices `members`, that run in one loop over the batch.

    Statements from `first` to `last` that are not members are emitted before the loop.
    """

    members: set[int]

    @property
    def first(self) -> int:
        return min(self.members)

    @property
    def last(self) -> int:
        return max(self.members)


class Plan:
    """The plan for batching a function with the parameters `mapped`.

    `batched` and `uneven` are names of values, `slots` are names of batched slots, `regions` holds
    the regions of each block by its id.  With `draws`, each batch element draws its own random
    numbers.
    """

    def __init__(self, function: Function, mapped: Iterable[str], draws: bool = False) -> None:
        self.function = function
        self.mapped = frozenset(mapped)
        self.draws = draws
        self.batched: set[str] = set()
        self.uneven: set[str] = set()
        self.slots: set[str] = set()
        self.regions: dict[int, list[Region]] = {}
        self.location: dict[int, Location] = {}
        self.blocks: dict[int, Block] = {}
        self.owner: dict[int, Stmt] = {}
        self.definition: dict[str, Location] = {}
        self.uses: dict[str, list[Location]] = {}
        self.saves: dict[str, Stmt] = {}
        self.restores: dict[str, Stmt] = {}
        self._locate(function.body, ())
        for x in (*function.results, *(v for _, v in function.effects)):
            self._note_use(x, ())
        iterations = IterationLimit("batch")
        while True:
            iterations.count()
            self._analyse()
            if not self._grow():
                break

    def region_of(self, location: Location) -> tuple[int, Region] | None:
        """The outermost region that contains a statement, and the id of its block; or None."""
        for block, index in location:
            for region in self.regions.get(block, ()):
                if index in region.members:
                    return block, region
        return None

    def escapes(self, name: str, block: int, region: Region) -> bool:
        """True if a value defined in a region is read outside it."""
        return any(
            not any(at == block and k in region.members for at, k in location)
            for location in self.uses.get(name, ())
        )

    # ---- locations of statements, definitions and uses

    def _locate(self, block: Block, around: Location) -> None:
        self.blocks[id(block)] = block
        for index, stmt in enumerate(block):
            location = self.location[id(stmt)] = (*around, (id(block), index))
            for x in operands_of(stmt):
                self._note_use(x, location)
            for v in targets_of(stmt):
                self.definition[v.name] = location
            if isinstance(stmt, Save):
                self.saves[stmt.slot.name] = stmt
            elif isinstance(stmt, Assign) and stmt.op.name == "restore":
                self.restores[stmt.op.attrs["slot"].name] = stmt
            for inner in blocks_of(stmt):
                self.owner[id(inner)] = stmt
                self._locate(inner, location)

    def _note_use(self, x: Operand, location: Location) -> None:
        if isinstance(x, Var):
            self.uses.setdefault(x.name, []).append(location)

    # ---- data-flow analysis

    def _analyse(self) -> None:
        """Compute the batched and the uneven values, given the current regions."""
        self.batched, self.uneven, self.slots = set(self.mapped), set(), set()
        size = -1
        while size != len(self.batched) + len(self.uneven) + len(self.slots):
            size = len(self.batched) + len(self.uneven) + len(self.slots)
            self._visit(self.function.body)

    def is_batched(self, x: Operand | None) -> bool:
        """True if `x` is batched."""
        return isinstance(x, Var) and x.name in self.batched

    def _visit(self, block: Block) -> None:
        """One pass of the analysis over a block."""
        for stmt in block:
            if self.region_of(self.location[id(stmt)][-1:]) is not None:
                self._bind_all(stmt)
            elif isinstance(stmt, Assign):
                self._assign(stmt)
            elif isinstance(stmt, Save):
                if self.is_batched(stmt.value):
                    self.slots.add(stmt.slot.name)
            elif isinstance(stmt, If):
                for phi in stmt.phis:
                    self._flow((phi.then_value, phi.else_value), (phi.target,))
            elif isinstance(stmt, (For, While)):
                for c in stmt.carried:
                    self._flow((c.init, c.next), (c.phi, c.result))
            elif isinstance(stmt, Custom):
                self._flow((*stmt.values, *stmt.inputs, *stmt.captured), stmt.targets)
            elif self._diverges(stmt):
                self._bind_all(stmt)
            if self.region_of(self.location[id(stmt)][-1:]) is None:
                for inner in blocks_of(stmt):
                    self._visit(inner)

    def _bind_all(self, stmt: Stmt) -> None:
        """All targets of a statement in a region are batched."""
        for v in targets_of(stmt):
            self.batched.add(v.name)
            if self._shape_differs(v.type, v.name):
                self.uneven.add(v.name)

    def _flow(self, sources: Iterable[Operand], targets: Iterable[Var]) -> None:
        """Propagate the properties of `sources` to `targets`."""
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
        mapped = [self.is_batched(a) for a in op.args]
        if not any(mapped) or op.name in SIZE_QUERIES:
            return
        self.batched.add(target.name)
        if self._varies(stmt, mapped):
            self.uneven.add(target.name)

    def _varies(self, stmt: Assign, mapped: list[bool]) -> bool:
        """True if the shape of an operation's result may differ between batch elements."""
        op = stmt.op
        if op.name in _FIRST_SIZE:
            return any(mapped[_FIRST_SIZE[op.name] :])
        if op.name == "index":
            return not has_uniform_extent(op.attrs["items"], mapped)
        if op.name == "list_get":
            return mapped[1] and self._shape_differs(stmt.target.type, stmt.target.name)
        if op.name == "list_set" and mapped[1]:
            return True
        if batching_of(RULES[op.name]) is not None:
            return False
        return self._shape_differs(stmt.target.type, stmt.target.name)

    def _shape_differs(self, t: Type, name: str) -> bool:
        """True if a value computed in a loop over the batch may have another shape per element."""
        if not isinstance(t, Array):
            return not isinstance(t, Scalar)
        for symbol in (s for dim in t.shape for s in dim.symbols):
            base, dot, _ = symbol.partition(".")
            if base == name or base in (self.uneven if dot else self.batched):
                return True
        return False

    # ---- regions

    def _grow(self) -> bool:
        """Extend the regions by the statements that must belong to them; True if any changed."""
        wanted: dict[int, list[set[int]]] = {}
        for block, regions in self.regions.items():
            wanted[block] = [set(r.members) for r in regions]

        def want(block: int, *members: int) -> None:
            wanted.setdefault(block, []).append(set(members))

        for stmt in self._outside(self.function.body):
            if self._diverges(stmt):
                want(*self.location[id(stmt)][-1])
        for name in sorted(self.uneven):
            self._confine(name, want)
        self._join_slots(want)
        self._join_draws(want)
        before = {b: [r.members for r in regions] for b, regions in self.regions.items()}
        self.regions = {b: self._closed(self.blocks[b], sets) for b, sets in wanted.items()}
        return before != {b: [r.members for r in rs] for b, rs in self.regions.items()}

    def _outside(self, block: Block) -> Iterator[Stmt]:
        """All statements outside of regions, inner blocks included."""
        for stmt in block:
            if self.region_of(self.location[id(stmt)][-1:]) is None:
                yield stmt
                for inner in blocks_of(stmt):
                    yield from self._outside(inner)

    def _diverges(self, stmt: Stmt) -> bool:
        """True if a statement needs a loop over the batch by itself.

        Its control flow depends on a batched value, or it is a call, a check or an effect with a
        batched operand.
        """
        if isinstance(stmt, If):
            return self.is_batched(stmt.cond)
        if isinstance(stmt, For):
            budget = stmt.budget and stmt.budget.amount
            bounds = (stmt.start, stmt.stop, stmt.step, stmt.count, stmt.until, budget)
            return any(map(self.is_batched, bounds))
        if isinstance(stmt, While):
            return self.is_batched(stmt.cond) or self.is_batched(stmt.until)
        batchable = isinstance(stmt, (Assign, Save, Custom))
        return not batchable and any(map(self.is_batched, operands_of(stmt)))

    def _confine(self, name: str, want) -> None:  # type: ignore[no-untyped-def]
        """Request that all uses of an uneven value are in the region that defines it."""
        if (
            name not in self.definition
        ):  # a loop's phi: its sources are uneven, too, and are handled
            return
        block, index = self.definition[name][-1]
        want(block, index)
        for location in self.uses.get(name, ()):
            at = next((k for b, k in location if b == block), None)
            if at is not None:
                want(block, index, at)
            elif block in self.owner:  # used outside the block: by a phi, or in the next iteration
                want(*self.location[id(self.owner[block])][-1])

    def _join_slots(self, want) -> None:  # type: ignore[no-untyped-def]
        """Request that the save and the restore of a slot are in the same region, or in none."""
        for slot, save in self.saves.items():
            if slot not in self.restores:
                continue
            here, there = self.location[id(save)], self.location[id(self.restores[slot])]
            if self.region_of(here) != self.region_of(there):
                block, i, j = next(
                    (b, i, j) for (b, i), (c, j) in reversed(list(zip(here, there))) if b == c
                )
                want(block, i, j)

    def _join_draws(self, want) -> None:  # type: ignore[no-untyped-def]
        """Request one region for all draws, if each batch element draws its own numbers.

        Each element then makes all its draws before the next one begins.
        """
        body = self.function.body
        drawing = [i for i, s in enumerate(body) if any(isinstance(t, Draw) for t in walk([s]))]
        if self.draws and drawing:
            want(id(body), *drawing)

    def _closed(self, block: Block, sets: list[set[int]]) -> list[Region]:
        """The regions that contain the given sets of statements.

        Sets that overlap or are adjacent are merged.  A statement between members that depends on
        the region becomes a member.
        """
        regions: list[Region] = []
        for members in sorted(sets, key=min):
            if regions and min(members) <= regions[-1].last + 1:
                regions[-1].members |= members
            else:
                regions.append(Region(set(members)))
        for region in regions:
            defined: set[str] = set()
            for index in range(region.first, region.last + 1):
                if index not in region.members and not defined & self._reads(block[index]):
                    continue
                region.members.add(index)
                defined |= self._defines(block[index])
        return regions

    def _reads(self, stmt: Stmt) -> set[str]:
        """The values, slots and effects that a statement depends on, inner blocks included."""
        found = {x.name for s in walk([stmt]) for x in operands_of(s) if isinstance(x, Var)}
        for s in walk([stmt]):
            if isinstance(s, Assign) and s.op.name == "restore":
                found.add(f"slot {s.op.attrs['slot'].name}")
        return found | _side_effects(stmt)

    def _defines(self, stmt: Stmt) -> set[str]:
        """The values, slots and effects that a statement defines."""
        saved = {f"slot {s.slot.name}" for s in walk([stmt]) if isinstance(s, Save)}
        return saved | {v.name for v in targets_of(stmt)} | _side_effects(stmt)


def _side_effects(stmt: Stmt) -> set[str]:
    """The side effects of a statement, which must stay in order: printing and drawing."""
    kinds = {type(s) for s in walk([stmt])}
    return {f"world {kind.__name__}" for kind in kinds & {Draw, Print}}
