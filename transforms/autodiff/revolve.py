"""Binomial checkpointing (revolve): the adjoint sweep over a loop that is recomputed from a few
snapshots of its state.

The sweep visits the iterations from the last to the first.  Iteration j needs the state at its
start.  The sweep recomputes that state from the latest snapshot before j, by the loop's own body,
and takes further snapshots on the way, at most `snapshots` at a time.  The optimal schedule is
that of A. Griewank and A. Walther, "Algorithm 799: revolve", ACM Transactions on Mathematical
Software 26, 2000: r repetitions and s snapshots suffice for reach(s, r) = (s + r)! / (s! r!)
iterations.  With the smallest r that suffices, the iterations are split such that neither part
needs more: the part after the new snapshot has one snapshot less, the part before it one
repetition less.

The first snapshot is the state before the loop.  So n iterations cost n - 1 steps for
`snapshots` >= n - 1, and n (n - 1) / 2 steps for a single snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..ir.builder import Builder, Sym, int_const, trip_count
from ..ir.clone import clone_block
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
from ..simplify.dce import eliminate_dead_code


def free_variables(block: Block, results: Sequence[Operand] = ()) -> list[Var]:
    """The variables that a block or `results` read and the block does not define."""
    bound = {v.name for s in walk(block) for v in (*targets_of(s), *inner_targets_of(s))}
    reads = [x for s in walk(block) for x in operands_of(s)]
    found = dict.fromkeys(x for x in (*reads, *results) if isinstance(x, Var))
    return [x for x in found if x.name not in bound]


def prune_carried_state(loop: For, product: Function) -> For:
    """The loop restricted to the carried values that `product` (the VJP of the body) needs,
    directly or through later iterations, and to the statements that compute them."""
    needed = {x.name for x in free_variables(product.body, product.results)}
    while True:
        state = [c for c in loop.carried if c.phi.name in needed]
        nexts = [c.next for c in state]
        body = eliminate_dead_code(Function("step", [], loop.body, nexts)).body
        more = {x.name for x in free_variables(body, nexts)}
        if not any(c.phi.name in more - needed for c in loop.carried):
            return replace(loop, body=body, carried=state)
        needed |= more


def emit_checkpointed_sweep(b: Builder, loop: For, product: Function, bars: list[Carried]) -> None:
    """Emit the sweep over a loop whose carried values are the state of an iteration.

    `product` is the vector-Jacobian product of the body: a function of the index, the state and
    one seed for each of `bars`, the adjoints that the sweep carries.  It yields their `next`s.
    Both `loop` and `product` refer to values from outside the loop by their names in the
    sweep."""
    _Sweep(b, loop, product).run(bars)


class _Sweep:
    def __init__(self, b: Builder, loop: For, product: Function) -> None:
        self.b = b
        self.loop, self.product = loop, product
        self.state = loop.carried
        b.hint = "count"
        self.count = b.sym(trip_count(b, self.loop.start, self.loop.stop, self.loop.step))
        self.snapshots = self.snapshot_limit()

    # ---- the schedule

    def run(self, bars: list[Carried]) -> None:
        """Emit the loop over all iterations in reverse order.  It carries the adjoints, the index
        `top` of the latest snapshot, the iterations `positions` of the snapshots and their
        values `stores`."""
        b = self.b
        positions = b.emit("zeros", self.snapshots, hint="places", dtype="int64")
        stores = [self.snapshot_buffer(c) for c in self.state]
        top = self.carried(int_const(0), "top")
        positions = self.carried(positions.operand, "places")
        stores = [self.carried(s, _store(c)) for s, c in zip(stores, self.state)]
        at = self.index("at")
        body: Block = []
        with b.into(body):
            last, *rest = self.recompute_to(at, top.phi, positions.phi, [s.phi for s in stores])
            positions.next, *kept = rest[: 1 + len(stores)]
            values = rest[1 + len(stores) :]
            self.pull_back(at, values, bars)
            used = b.emit("equal", self.get_row(positions.next, last), at)
            top.next = (b.sym(last) - used.astype("int64")).operand
        for s, after in zip(stores, kept):
            s.next = after
        carried = [*bars, top, positions, *stores]
        zero, one = int_const(0), int_const(1)
        b.block.append(
            For(at, zero, self.count.operand, one, body, carried, reverse=True,
                label=b.names.fresh("loop"), origin=b.origin)
        )  # fmt: skip

    def recompute_to(
        self, at: Operand, top: Operand, positions: Operand, stores: list[Operand]
    ) -> list[Operand]:
        """Recompute the state at the start of iteration `at` from the latest snapshot, and take
        snapshots on the way.  Returns the index of the latest snapshot, the iterations of the
        snapshots, their values, and the state."""
        b = self.b
        top_, positions_ = self.carried(top, "top"), self.carried(positions, "places")
        stores_ = [self.carried(s, _store(c)) for s, c in zip(stores, self.state)]
        b.hint = "here"
        here = self.carried(self.get_row(positions, top), "here")
        values = [self.carried(self.load_snapshot(c, s, top), _name(c))
                  for c, s in zip(self.state, stores)]  # fmt: skip
        test: Block = []
        with b.into(test):
            goes_on = b.emit("less", here.phi, at)
        body: Block = []
        with b.into(body):
            free = b.emit("subtract", self.snapshots, top_.phi, hint="free")
            there = self.next_snapshot(here.phi, at, free)
            moved = self.run_iterations([v.phi for v in values], here.phi, there)
            new: Block = []
            with b.into(new):
                above = (b.sym(top_.phi) + 1).operand
                after = [above, self.set_row(positions_.phi, there, above)]
                after += [self.store_snapshot(s.phi, v, above) for s, v in zip(stores_, moved)]
            before = [top_, positions_, *stores_]
            phis = [Phi(self.fresh_like(c.phi), x, c.phi) for c, x in zip(before, after)]
            is_before = b.emit("less", there, at).operand
            b.block.append(If(is_before, new, [], phis, b.origin))
        for c, phi in zip(before, phis):
            c.next = phi.target
        here.next = there
        for v, x in zip(values, moved):
            v.next = x
        carried = [top_, positions_, *stores_, here, *values]
        label = b.names.fresh("loop")
        b.block.append(While(test, goes_on.operand, body, carried, label=label, origin=b.origin))
        return [c.result for c in (top_, positions_, *stores_, *values)]

    def next_snapshot(self, here: Operand, at: Operand, free: Sym) -> Operand:
        """The iteration of the next snapshot in the optimal schedule, with `free` snapshots for
        the iterations from `here` to `at`."""
        b = self.b
        b.hint = "t"
        left = b.emit("add", b.sym(at) - here, 1, hint="left")
        repetitions = self.carried(int_const(0), "rounds")
        reach = self.carried(int_const(1), "reach")
        test: Block = []
        with b.into(test):
            short = b.emit("less", reach.phi, left)
        body: Block = []
        with b.into(body):
            more = b.sym(repetitions.phi) + 1
            repetitions.next = more.operand
            reach.next = (b.sym(reach.phi) * (free + more) // more).operand
        label = b.names.fresh("loop")
        b.block.append(
            While(test, short.operand, body, [repetitions, reach], label=label, origin=b.origin)
        )
        r = b.sym(repetitions.result)
        both = b.emit("add", free, r, hint="both")
        # reach(free, r - 1) and reach(free - 1, r - 1)
        before = b.emit("floor_divide", b.sym(reach.result) * r, both, hint="before")
        after = b.emit("floor_divide", before * free, both - 1, hint="after")
        far = b.emit("minimum", before, left - after)
        return b.emit("add", here, far, hint="there").operand

    # ---- iterations

    def run_iterations(self, values: list[Operand], here: Operand, there: Operand) -> list[Operand]:
        """The state at the start of iteration `there`, computed from that at the start of
        `here`."""
        b, loop = self.b, self.loop
        bounds = (self.index_at(here), self.index_at(there))
        if loop.reverse:
            bounds = (self.index_at(self.count - there), self.index_at(self.count - here))
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

    def pull_back(self, at: Var, values: list[Operand], bars: list[Carried]) -> None:
        """Emit the vector-Jacobian product of iteration `at`; it sets the `next` of `bars`."""
        b, loop, product = self.b, self.loop, self.product
        position = self.count - at - 1 if loop.reverse else b.sym(at)
        index = self.index_at(position)
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
        """Emit a clone of a block."""
        b = self.b
        copy = clone_block(block, b.names, inside, b.facts)
        for stmt in walk(copy):
            if isinstance(stmt, Assign):
                b.definitions[stmt.target.name] = stmt.op
        b.block += copy

    def index_at(self, position: Sym | Operand) -> Sym:
        """The value of the loop's index in the iteration `position`."""
        b = self.b
        start, step = b.sym(self.loop.start), b.sym(self.loop.step)
        moved = b.sym(position)
        if getattr(step.operand, "value", None) != 1:
            moved = moved * step
        return moved if getattr(start.operand, "value", None) == 0 else start + moved

    # ---- snapshots

    def snapshot_limit(self) -> Sym:
        """The capacity for snapshots: at least one, and at most the number of iterations."""
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

    def snapshot_buffer(self, c: Carried) -> Operand:
        """A buffer for the snapshots of one carried value; row 0 holds its initial value."""
        b = self.b
        sizes = b.sym(c.init).shape
        buffer = b.emit("empty", self.snapshots, *sizes, hint=_store(c), dtype=c.phi.type.dtype)
        return self.store_snapshot(buffer.operand, c.init, int_const(0))

    def store_snapshot(self, store: Operand, value: Operand, row: Operand) -> Operand:
        if isinstance(value.type, Array) and value.type.ndim == 0:
            value = self.b.emit("index", value, items=()).operand
        return self.set_row(store, value, row)

    def set_row(self, store: Operand, value: Operand, row: Operand) -> Operand:
        assert isinstance(store.type, Array)
        items = (("int", 2), *[("all",)] * (store.type.ndim - 1))
        path = (("index", items),)
        hint = getattr(store, "name", "kept")
        return self.b.emit("update", store, value, row, hint=hint, path=path).operand

    def get_row(self, store: Operand, row: Operand) -> Operand:
        assert isinstance(store.type, Array)
        items = (("int", 1), *[("all",)] * (store.type.ndim - 1))
        return self.b.emit("index", store, row, items=items).operand

    def load_snapshot(self, c: Carried, store: Operand, row: Operand) -> Operand:
        """A snapshot of one carried value, with the type that the loop's body expects."""
        b, type_ = self.b, c.phi.type
        value = self.get_row(store, row)
        if isinstance(type_, Array) and type_.ndim == 0:
            return b.emit("full_like", c.init, value, dtype=type_.dtype).operand
        if isinstance(type_, Scalar) and type_.weak:
            return b.emit("cast", value, dtype=type_.dtype, weak=True).operand
        return value

    # ---- names

    def index(self, hint: str) -> Var:
        name = self.b.names.fresh(hint)
        return Var(name, Scalar("int64", True, Dim.of(name)))

    def fresh_like(self, x: Operand, hint: str = "") -> Var:
        """A fresh variable of the type of `x`."""
        name = self.b.names.fresh(hint or getattr(x, "name", "t"))
        type_ = x.type
        if isinstance(type_, Scalar):
            value = Dim.of(name) if type_.dtype == "int64" else None
            type_ = replace(type_, value=value)
        elif isinstance(type_, Array):
            type_ = replace(type_, layout="C")
        return Var(name, type_)

    def carried(self, init: Operand, hint: str) -> Carried:
        """A carried value; its `next` is a placeholder."""
        return Carried(self.fresh_like(init, hint), init, init, self.fresh_like(init, hint))


def _name(c: Carried) -> str:
    return c.phi.user or c.phi.name


def _store(c: Carried) -> str:
    return f"{_name(c)}_kept"
