"""The adjoint sweep over a loop that is computed again from a few snapshots of its state.

Iteration j, from the last to the first, needs the state in which it began.  The sweep goes on
from the latest snapshot before it, by the loop's own body, and leaves further snapshots on the
way, at most `snapshots` at a time.  Where they are best left is known (A. Griewank and A. Walther,
"Algorithm 799: revolve", ACM Transactions on Mathematical Software 26, 2000): r repetitions and
s snapshots reach over reach(s, r) = (s + r)! / (s! r!) iterations.  With the smallest r that
suffices, the iterations are split such that neither part needs more: the part after the new
snapshot has one snapshot less, the part before it one repetition less.

The first snapshot is the state before the loop, so n iterations cost n - 1 steps for
`snapshots` >= n - 1, and n (n - 1) / 2 for a single one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..ir.builder import Builder, Sym, int_const, trip_count
from ..ir.clone import copy_block
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Carried,
    For,
    Function,
    If,
    Operand,
    Phi,
    Scalar,
    Var,
    While,
    inner_targets_of,
    operands_of,
    targets_of,
    walk,
)
from ..ir.symbolic_dims import Dim
from ..simplify.dce import drop_dead


def free_variables(block: Block, results: Sequence[Operand] = ()) -> list[Var]:
    """What a block reads and does not define."""
    bound = {v.name for s in walk(block) for v in (*targets_of(s), *inner_targets_of(s))}
    reads = [x for s in walk(block) for x in operands_of(s)]
    found = dict.fromkeys(x for x in (*reads, *results) if isinstance(x, Var))
    return [x for x in found if x.name not in bound]


def without_the_rest(loop: For, product: Function) -> For:
    """The loop with nothing but what `product` needs of the state at the start of an iteration."""
    needed = {x.name for x in free_variables(product.body, product.results)}
    while True:
        state = [c for c in loop.carried if c.phi.name in needed]
        nexts = [c.next for c in state]
        body = drop_dead(Function("step", [], loop.body, nexts)).body
        more = {x.name for x in free_variables(body, nexts)}
        if not any(c.phi.name in more - needed for c in loop.carried):
            return replace(loop, body=body, carried=state)
        needed |= more


def sweep_back(b: Builder, loop: For, product: Function, bars: list[Carried]) -> None:
    """Emits the sweep over a loop that carries nothing but the state of an iteration.

    `product` is the vector-Jacobian product of the body: a function of the index, the state and
    one seed for each of `bars`, the adjoints that the sweep carries, which yields their nexts.
    Both read values from outside the loop as they are called in the sweep."""
    _Sweep(b, loop, product).run(bars)


class _Sweep:
    def __init__(self, b: Builder, loop: For, product: Function) -> None:
        self.b = b
        self.loop, self.product = loop, product
        self.state = loop.carried
        b.hint = "count"
        self.count = b.sym(trip_count(b, self.loop.start, self.loop.stop, self.loop.step))
        self.snapshots = self.limit()

    # ---- the schedule

    def run(self, bars: list[Carried]) -> None:
        b = self.b
        places = b.emit("zeros", self.snapshots, hint="places", dtype="int64")
        stores = [self.stored(c) for c in self.state]
        top = self.carried(int_const(0), "top")
        places = self.carried(places.operand, "places")
        stores = [self.carried(s, _store(c)) for s, c in zip(stores, self.state)]
        at = self.index("at")
        body: Block = []
        with b.into(body):
            last, *rest = self.arrive(at, top.phi, places.phi, [s.phi for s in stores])
            places.next, *kept = rest[: 1 + len(stores)]
            values = rest[1 + len(stores) :]
            self.pull(at, values, bars)
            used = b.emit("equal", self.row(places.next, last), at)
            top.next = (b.sym(last) - used.astype("int64")).operand
        for s, after in zip(stores, kept):
            s.next = after
        carried = [*bars, top, places, *stores]
        zero, one = int_const(0), int_const(1)
        b.block.append(
            For(at, zero, self.count.operand, one, body, carried, reverse=True,
                label=b.names.fresh("loop"), origin=b.origin)
        )  # fmt: skip

    def arrive(
        self, at: Operand, top: Operand, places: Operand, stores: list[Operand]
    ) -> list[Operand]:
        """From the latest snapshot to the state at the start of iteration `at`: the number of
        the latest snapshot then, their places, their values, and the state."""
        b = self.b
        top_, places_ = self.carried(top, "top"), self.carried(places, "places")
        stores_ = [self.carried(s, _store(c)) for s, c in zip(stores, self.state)]
        b.hint = "here"
        here = self.carried(self.row(places, top), "here")
        values = [self.carried(self.fetched(c, s, top), _name(c))
                  for c, s in zip(self.state, stores)]  # fmt: skip
        test: Block = []
        with b.into(test):
            goes_on = b.emit("less", here.phi, at)
        body: Block = []
        with b.into(body):
            free = b.emit("subtract", self.snapshots, top_.phi, hint="free")
            there = self.split(here.phi, at, free)
            moved = self.advance([v.phi for v in values], here.phi, there)
            new: Block = []
            with b.into(new):
                above = (b.sym(top_.phi) + 1).operand
                after = [above, self.put(places_.phi, there, above)]
                after += [self.kept(s.phi, v, above) for s, v in zip(stores_, moved)]
            before = [top_, places_, *stores_]
            phis = [Phi(self.like(c.phi), x, c.phi) for c, x in zip(before, after)]
            worth = b.emit("less", there, at).operand
            b.block.append(If(worth, new, [], phis, b.origin))
        for c, phi in zip(before, phis):
            c.next = phi.target
        here.next = there
        for v, x in zip(values, moved):
            v.next = x
        carried = [top_, places_, *stores_, here, *values]
        label = b.names.fresh("loop")
        b.block.append(While(test, goes_on.operand, body, carried, label=label, origin=b.origin))
        return [c.result for c in (top_, places_, *stores_, *values)]

    def split(self, here: Operand, at: Operand, free: Sym) -> Operand:
        """Where the next snapshot is best left, with `free` of them for `here` up to `at`."""
        b = self.b
        b.hint = "t"
        left = b.emit("add", b.sym(at) - here, 1, hint="left")
        rounds = self.carried(int_const(0), "rounds")
        reach = self.carried(int_const(1), "reach")
        test: Block = []
        with b.into(test):
            short = b.emit("less", reach.phi, left)
        body: Block = []
        with b.into(body):
            more = b.sym(rounds.phi) + 1
            rounds.next = more.operand
            reach.next = (b.sym(reach.phi) * (free + more) // more).operand
        label = b.names.fresh("loop")
        b.block.append(
            While(test, short.operand, body, [rounds, reach], label=label, origin=b.origin)
        )
        r = b.sym(rounds.result)
        both = b.emit("add", free, r, hint="both")
        # reach(free, r - 1) and reach(free - 1, r - 1)
        before = b.emit("floor_divide", b.sym(reach.result) * r, both, hint="before")
        after = b.emit("floor_divide", before * free, both - 1, hint="after")
        far = b.emit("minimum", before, left - after)
        return b.emit("add", here, far, hint="there").operand

    # ---- iterations

    def advance(self, values: list[Operand], here: Operand, there: Operand) -> list[Operand]:
        """The state at the start of iteration `there`, from that at the start of `here`."""
        b, loop = self.b, self.loop
        bounds = (self.element(here), self.element(there))
        if loop.reverse:
            bounds = (self.element(self.count - there), self.element(self.count - here))
        again = replace(
            loop,
            start=bounds[0].operand,
            stop=bounds[1].operand,
            carried=[Carried(c.phi, v, c.next, c.result) for c, v in zip(self.state, values)],
            trips=None,
            budget=None,
            origin=b.origin,
        )
        inside: dict[str, Operand] = {}
        self.emit([again], inside)
        return [inside[c.result.name] for c in self.state]

    def pull(self, at: Var, values: list[Operand], bars: list[Carried]) -> None:
        """The product of iteration `at`."""
        b, loop, product = self.b, self.loop, self.product
        position = self.count - at - 1 if loop.reverse else b.sym(at)
        index = self.element(position)
        if index.operand.type != loop.index.type:
            index = b.emit("cast", index, dtype="int64", weak=True)
        inside: dict[str, Operand] = {loop.index.name: index.operand}
        inside.update((c.phi.name, v) for c, v in zip(self.state, values))
        seeds = product.params[-len(bars) :]
        inside.update((s.name, bar.phi) for s, bar in zip(seeds, bars))
        self.emit(product.body, inside)
        for bar, x in zip(bars, product.results, strict=True):
            bar.next = inside.get(x.name, x) if isinstance(x, Var) else x

    def emit(self, block: Block, inside: dict[str, Operand]) -> None:
        b = self.b
        copy = copy_block(block, b.names, inside, b.facts)
        for stmt in walk(copy):
            if isinstance(stmt, Assign):
                b.definitions[stmt.target.name] = stmt.op
        b.block += copy

    def element(self, position: Sym | Operand) -> Sym:
        """The loop's index at a position."""
        b = self.b
        start, step = b.sym(self.loop.start), b.sym(self.loop.step)
        moved = b.sym(position)
        if getattr(step.operand, "value", None) != 1:
            moved = moved * step
        return moved if getattr(start.operand, "value", None) == 0 else start + moved

    # ---- snapshots

    def limit(self) -> Sym:
        """How many snapshots are kept: at least one, and not more than there are iterations."""
        b, budget = self.b, self.loop.budget
        assert budget is not None
        amount = b.sym(budget.amount)
        if budget.in_bytes:
            size = b.sym(int_const(0))
            for c in self.state:
                own = b.sym(int_const(np.dtype(c.phi.type.dtype).itemsize))
                for n in b.sym(c.init).shape:
                    own = own * n
                size = size + own
            amount = amount // b.emit("maximum", size, int_const(1))
        fewest = b.emit("minimum", amount.astype("int64"), self.count)
        return b.emit("maximum", fewest, int_const(1), hint="snapshots")

    def stored(self, c: Carried) -> Operand:
        """Room for the snapshots of one value, with its first value in it."""
        b = self.b
        sizes = b.sym(c.init).shape
        room = b.emit("empty", self.snapshots, *sizes, hint=_store(c), dtype=c.phi.type.dtype)
        return self.kept(room.operand, c.init, int_const(0))

    def kept(self, store: Operand, value: Operand, row: Operand) -> Operand:
        if isinstance(value.type, Array) and value.type.ndim == 0:
            value = self.b.emit("index", value, items=()).operand
        return self.put(store, value, row)

    def put(self, store: Operand, value: Operand, row: Operand) -> Operand:
        assert isinstance(store.type, Array)
        items = (("int", 2), *[("all",)] * (store.type.ndim - 1))
        path = (("index", items),)
        hint = getattr(store, "name", "kept")
        return self.b.emit("update", store, value, row, hint=hint, path=path).operand

    def row(self, store: Operand, row: Operand) -> Operand:
        assert isinstance(store.type, Array)
        items = (("int", 1), *[("all",)] * (store.type.ndim - 1))
        return self.b.emit("index", store, row, items=items).operand

    def fetched(self, c: Carried, store: Operand, row: Operand) -> Operand:
        """A snapshot of one value, as the loop's body takes it."""
        b, type_ = self.b, c.phi.type
        value = self.row(store, row)
        if isinstance(type_, Array) and type_.ndim == 0:
            return b.emit("full_like", c.init, value, dtype=type_.dtype).operand
        if isinstance(type_, Scalar) and type_.weak:
            return b.emit("cast", value, dtype=type_.dtype, weak=True).operand
        return value

    # ---- names

    def index(self, hint: str) -> Var:
        name = self.b.names.fresh(hint)
        return Var(name, Scalar("int64", True, Dim.of(name)))

    def like(self, x: Operand, hint: str = "") -> Var:
        """A new name for values of the type of `x`."""
        name = self.b.names.fresh(hint or getattr(x, "name", "t"))
        type_ = x.type
        if isinstance(type_, Scalar):
            value = Dim.of(name) if type_.dtype == "int64" else None
            type_ = replace(type_, value=value)
        elif isinstance(type_, Array):
            type_ = replace(type_, layout="C")
        return Var(name, type_)

    def carried(self, init: Operand, hint: str) -> Carried:
        """A carried value whose next is still to be found."""
        return Carried(self.like(init, hint), init, init, self.like(init, hint))


def _name(c: Carried) -> str:
    return c.phi.user or c.phi.name


def _store(c: Carried) -> str:
    return f"{_name(c)}_kept"
