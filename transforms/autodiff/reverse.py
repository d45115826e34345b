"""Reverse mode: a function becomes its vector-Jacobian product.

The forward part is the function's own body, unchanged except for `Save`s and recorded trip
counts.  The adjoint sweep follows: each block in reverse order, each loop mirrored, each active
operation replaced by its rule's pullback.  The result is in value form, so that it can be
differentiated like any other function:

- a `restore` in the primal becomes a `Save` of its adjoint in the mirrored loop, and the
  matching `Save` becomes a `restore` of that adjoint;
- the mirror of a mirrored loop runs forward again.

The adjoint of a call is a pair of functions (`callee_pairs.py`).  Where there is none, it is a call
of the callee's own vector-Jacobian product (`callee_vjps.py`), which recomputes the callee's
forward values.

A slot has one `Save` and one `restore`, in loop nests of the same trip counts that run in
opposite directions.

Statements of the sweep carry the origin of their primal statement, with `Origin.sweep`
incremented; `notes["sweeps"]` is the number of sweeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..ir.builder import Builder, NameSupply, int_const, slot_for, trip_count
from ..ir.errors import S2STypeError, UnsupportedError
from ..ir.index_bounds import with_index_bounds
from ..ir.nodes import (
    Assign,
    Block,
    Call,
    Carried,
    Const,
    Custom,
    Draw,
    For,
    Function,
    If,
    Module,
    Op,
    Operand,
    Origin,
    Phi,
    Save,
    Scalar,
    Slot,
    Stmt,
    Var,
    While,
    blocks_of,
    inner_targets_of,
    is_complex,
    is_float,
    operands_of,
    substitute,
    targets_of,
    walk,
)
from ..ir.op_registry import RULES, Accumulate
from ..ir.record import field, record, replace
from ..ir.scopes import Scope, Scopes, dims_of, names_of
from ..ir.symbolic_dims import Dim, Facts
from ..rules.random_draws import refuse_active_draw
from ..simplify.dce import eliminate_dead_code
from .activity import Activity, differentiable
from .callee_pairs import CalleePair, CutVjp, PairCall, PairKey, cut_vjp, make_pair
from .callee_vjps import CalleeVjps
from .cotangents import Adjoints, Bars, LoopBars, bar_type, with_own_sizes
from .custom_derivative import inline
from .detach_tests import detach_tests
from .log_domain import mark_log_domain
from .recursive_pairs import RecursivePairs
from .revolve import emit_checkpointed_sweep, free_variables, prune_carried_state
from .tape_stacks import Stacks, create_stacks


def reverse(
    module: Module, wrt: tuple[str, ...], result: int = 0, facts: Facts | None = None
) -> Module:
    """The module of `<name>_vjp`.  It takes the primal's parameters and the seed `out_bar`; it
    yields the primal's results and the adjoint of each parameter in `wrt`."""
    main = module.main
    params = {p.name: p for p in main.params}
    for name in wrt:
        if not is_float(params[name].type):
            raise S2STypeError(f"{name} is {params[name].type.dtype}; a gradient needs floats")
    products = CalleeVjps(module)
    name = products.names.fresh(f"{main.name}_vjp")
    vjp = reverse_function(main, wrt, (result,), facts, products)
    vjp = replace(vjp, name=name, results=[*main.results, *vjp.results])
    generate_callee_vjps(products)
    return Module({vjp.name: vjp, **products.functions}, vjp.name)


def generate_callee_vjps(products: CalleeVjps) -> None:
    """Generate every requested VJP of a callee, and those that these request in turn."""
    while products.todo:
        product = products.todo.pop(0)
        f = products.without_effects(products.functions[product.function])
        names = tuple(f.params[i].name for i in product.wanted)
        made = reverse_function(f, names, product.seeded, f.notes.get("facts"), products)
        notes = {**made.notes, "product": product, "primal_results": 0}
        products.functions[product.name] = replace(made, name=product.name, notes=notes)


def callee_pair(
    products: CalleeVjps, function: str, wanted: tuple[int, ...], seeded: tuple[int, ...]
) -> CalleePair | None:
    """The adjoint of a call as two functions (`callee_pairs.py`); None for a function whose product
    cannot be split."""
    f = products.functions[function]
    cycle = products.cycle(function)
    if not products.split or not f.notes.get("callee"):
        return None
    demanded = tuple(sorted(products.demanded.get(function, wanted)))
    for group in products.groups:
        if function in group.members:
            return group.request((function, demanded, seeded))
    for positions in (demanded, wanted):
        key = (function, positions, seeded)
        if key not in products.pairs:
            products.pairs[key] = None
            try:
                _make_pairs(products, key, cycle)
            except UnsupportedError:
                if positions == wanted:
                    raise
        if products.pairs[key] is not None or positions == wanted:
            return products.pairs[key]
    return None


def _make_pairs(products: CalleeVjps, key: PairKey, cycle: frozenset[str]) -> None:
    """Make the pair of a function, and of those in a cycle of calls with it."""
    if cycle:
        group = RecursivePairs(cycle, products.names)
        group.request(key)
        products.groups.append(group)
        try:
            pairs = group.make(lambda key: _cut_vjp(products, key, True)) or {}
        finally:
            products.groups.remove(group)
    else:
        cut = _cut_vjp(products, key)
        pairs = {} if cut is None else {key: make_pair(cut, key[1], products.names)}
    for own, (fwd, rev, pair) in pairs.items():
        rev.notes["pair"] = (own, pair)
        products.functions |= {fwd.name: fwd, rev.name: rev}
        products.pairs[own] = pair


def _cut_vjp(products: CalleeVjps, key: PairKey, recursive: bool = False) -> CutVjp | None:
    function, wanted, seeded = key
    f = products.functions[function]
    names, facts = tuple(f.params[i].name for i in wanted), f.notes["facts"].copy()
    f = replace(f, notes={**f.notes, "facts": facts})
    vjp = _vjp_with_pair_calls(f, names, seeded, facts, products)
    return cut_vjp(f, vjp, vjp.notes.pop("pair_calls"), recursive)


def reverse_function(
    function: Function,
    wrt: tuple[str, ...],
    seeded: tuple[int, ...],
    facts: Facts | None,
    products: CalleeVjps,
    names: NameSupply | None = None,
    inner: tuple[str, ...] = (),
    within: bool = False,
) -> Function:
    """A function that yields the adjoints of the parameters `wrt` and of the values `inner`,
    which the body defines.  The adjoints of the results `seeded` are its last parameters.  New
    names come from `names`.

    `notes["forward"]` is the number of statements before the sweep; `notes["places"]` are the
    indices of the original statements of the body among them.  `within` is true if the function
    is part of a sweep."""
    made = _vjp_with_pair_calls(function, wrt, seeded, facts, products, names, inner, within)
    stacks: Stacks = {}
    calls: dict[int, tuple[str, ...]] = {}
    names = names or NameSupply(names_of(made))
    for call in made.notes.pop("pair_calls"):
        own = call.pair.stacks_at(call.original.args, names)
        stacks |= own
        calls |= {id(call.fwd): tuple(own), id(call.rev): tuple(own)}
    return create_stacks(made, calls, stacks, names)


def _vjp_with_pair_calls(
    function: Function,
    wrt: tuple[str, ...],
    seeded: tuple[int, ...],
    facts: Facts | None,
    products: CalleeVjps,
    names: NameSupply | None = None,
    inner: tuple[str, ...] = (),
    within: bool = False,
) -> Function:
    """As `reverse_function`, but calls lack the stacks that they take; `notes["pair_calls"]` are
    those that may take some."""
    outs = [function.results[i] for i in seeded]
    if names is None:
        names, facts = NameSupply(names_of(function)), with_index_bounds(function, facts)
    facts = facts or Facts()
    function, places = mark_log_domain(function, wrt, outs, facts, names, inner)
    function, active = detach_tests(function, (*wrt, *inner), outs, names)
    reverser = _Reverser(function, active, facts, products, names, within)
    made = reverser.run(wrt, outs, inner)
    made.notes["places"] = [made.notes["places"][k] for k in places]
    return made


def transpose_pullback(
    pullback: Function, captured: int, facts: Facts, names: NameSupply
) -> Function:
    """The transpose of a pullback, which is linear in the parameters after the first `captured`.
    It takes the pullback's parameters and one tangent per result, and yields one tangent per
    linear parameter."""
    products = CalleeVjps(Module({pullback.name: pullback}, pullback.name))
    wrt = tuple(p.name for p in pullback.params[captured:])
    everything = tuple(range(len(pullback.results)))
    return reverse_function(pullback, wrt, everything, facts, products, names)


@record
class _Mirror:
    """The mirrored block under construction for one forward scope.  `restored` maps forward
    values to their operands in the mirrored block."""

    head: Block = field(default_factory=list)
    restored: dict[str, Operand] = field(default_factory=dict)


class _Reverser:
    def __init__(
        self,
        function: Function,
        active: Activity,
        facts: Facts,
        products: CalleeVjps,
        names: NameSupply,
        within: bool,
    ) -> None:
        self.function = function
        self.active = active
        self.products = products
        self.within = within
        self.scopes = Scopes(function)
        self.names = names
        inner = function.notes.get("inner_sweeps", 0)
        self.sweep = max(function.notes.get("sweeps", 0), inner) + 1
        self.b = Builder(self.names, facts)
        self.b.checks = False
        # Rules inspect the definitions of their operands.
        for stmt in walk(function.body):
            if isinstance(stmt, Assign):
                self.b.definitions[stmt.target.name] = stmt.op
        self.adjoints = Adjoints(self.b, self.scopes, self.need)
        self.mirrors: dict[Scope, _Mirror] = {}
        # Additions to the forward part: saves by value, trip counts and labels by loop.
        self.saves: dict[str, Save] = {}
        # Calls of functions that also return what their sweep needs, by id of the original call.
        self.fwd_calls: dict[int, Call] = {}
        self.pair_calls: list[PairCall] = []
        for stmt in walk(function.body):
            if isinstance(stmt, Call):
                wanted = {i for i, x in enumerate(stmt.args) if x in active}
                products.demanded.setdefault(stmt.function, set()).update(wanted)
        self.trips: dict[int, Var] = {}
        self.labels: dict[int, str] = {}
        self.bar_slots: dict[str, Slot] = {}
        # The adjoints of the values `inner` of `reverse_function`.
        self.inner_bars: dict[str, Operand | None] = {}

    def run(
        self, wrt: tuple[str, ...], outs: list[Operand], inner: tuple[str, ...] = ()
    ) -> Function:
        f = self.function
        self.inner_bars = dict.fromkeys(inner)
        bars = Bars()
        seeds = []
        for out in outs:
            name = self.names.fresh("out_bar")
            seeds.append(Var(name, bar_type(out.type), name))
            if isinstance(out, Var) and out in self.active:
                seed = self.at_boundary(seeds[-1])
                if out.name in bars.values:
                    self.adjoints.add(bars, out, seed)
                else:
                    bars.values[out.name] = seed
        self.walk(f.body, bars)
        grads = []
        for p in (p for n in wrt for p in f.params if p.name == n):
            bar = bars.pop(p)
            grads.append(self.adjoints.zeros(p) if bar is None else self.at_boundary(bar, p))
        for name, bar in self.inner_bars.items():
            v = self.scopes.var[name]
            grads.append(self.adjoints.zeros(v) if bar is None else self.at_boundary(bar, v))
        used = _used(self.b.block, grads)
        sweep = self.prune(self.b.block, used, {s.slot.name: v for v, s in self.saves.items()})
        forward: Block = []
        places: list[int] = []
        for stmt in f.body:
            places.append(len(forward))
            forward += self.forward([stmt])
        body = [*forward, *sweep]
        notes = {**f.notes, "sweeps": self.sweep, "seeds": len(seeds)}
        notes |= {"forward": len(forward), "places": places, "pair_calls": self.pair_calls}
        notes.pop("inout", None)
        return replace(f, params=[*f.params, *seeds], body=body, results=grads, notes=notes)

    def at_boundary(self, bar: Operand, of: Var | None = None) -> Operand:
        """An adjoint at the boundary of this function: conjugated unless it is part of a sweep."""
        return bar if self.within else self.conjugate(bar, of)

    def conjugate(self, bar: Operand, of: Var | None = None) -> Operand:
        """The conjugate of a complex adjoint, for the boundary of a function; real adjoints
        are unchanged.

        Within the sweep the adjoint of z = x + iy is dL/dx - i dL/dy, so that pullbacks are
        plain transposes.  Outside, it is the direction of steepest ascent, dL/dx + i dL/dy, which
        is the conjugate."""
        if not is_complex(bar.type):
            return bar
        name = f"{of.user or of.name}_bar" if of is not None else ""
        user = name if of is not None and of.user else ""
        return self.b.emit("conjugate", bar, hint=name, user=user).operand

    # ---- forward values in the sweep

    def need(self, x: Operand) -> Operand:
        """A forward value at the current point of the sweep: the value itself where it is in
        scope, otherwise a `restore` at the head of the mirrored block."""
        if isinstance(x, Const):
            return x
        home = self.scopes.home[x.name]
        if home is self.scopes.top:
            return x
        mirror = self.mirrors[home]
        if x.name not in mirror.restored:
            binder = self.scopes.binder[x.name]
            if isinstance(binder, Assign) and binder.op.name == "literal":
                return binder.op.args[0]
            slot, target = slot_for(x, binder, self.names)
            self.saves[x.name] = Save(slot, x, binder.origin)
            mirror.restored[x.name] = target
            if x.name in self.b.definitions:
                self.b.definitions[target.name] = self.b.definitions[x.name]
            op = Op("restore", (), {"slot": slot})
            mirror.head.append(Assign(target, op, self.origin(binder)))
        return mirror.restored[x.name]

    def origin(self, stmt: Stmt) -> Origin | None:
        return stmt.origin and replace(stmt.origin, sweep=self.sweep, tangent=False)

    @contextmanager
    def mirroring(self, scope: Scope) -> Iterator[_Mirror]:
        """A context that emits the mirror of a forward scope.  On exit the mirrored block is
        `mirror.head`."""
        mirror = self.mirrors[scope] = _Mirror()
        body: Block = []
        with self.b.into(body):
            yield mirror
        mirror.head += body
        del self.mirrors[scope]

    # ---- statements, in reverse order

    def walk(self, block: Block, bars: Bars) -> None:
        for stmt in reversed(block):
            for v in targets_of(stmt):
                if v.name in self.inner_bars:
                    self.inner_bars[v.name] = bars.values.get(v.name)
            with self.b.at(self.origin(stmt)):
                if isinstance(stmt, Assign):
                    self.assign(stmt, bars)
                elif isinstance(stmt, Call):
                    self.call(stmt, bars)
                elif isinstance(stmt, Custom):
                    self.custom(stmt, bars)
                elif isinstance(stmt, Draw):
                    refuse_active_draw(stmt, self.active, self.function)
                elif isinstance(stmt, Save):
                    self.save(stmt, bars)
                elif isinstance(stmt, If):
                    self.branch(stmt, bars)
                elif isinstance(stmt, (For, While)):
                    self.loop(stmt, bars)

    def contribute(self, bars: Bars, x: Operand, g: Operand | None) -> None:
        """Add `g` to the adjoint of `x` if `x` is active."""
        if g is not None and x in self.active:
            assert isinstance(x, Var)
            self.adjoints.add(bars, x, g)

    def assign(self, stmt: Assign, bars: Bars) -> None:
        out, op = stmt.target, stmt.op
        if op.name == "restore" and op.attrs["slot"].name in self.active.slots:
            g = bars.pop(out)
            g = self.adjoints.zeros(out) if g is None else g
            self.b.block.append(Save(self.bar_slot(op.attrs["slot"]), g, self.b.origin))
            return
        g = bars.pop(out)
        wanted = tuple(i for i in differentiable(op) if op.args[i] in self.active)
        if g is None or not wanted:
            return
        pullback = RULES[op.name].pullback
        if pullback is None:
            span = stmt.origin and stmt.origin.span
            raise UnsupportedError(f"the derivative of {op.name} is not known", span=span)
        b, mark = self.b, len(self.b.block)
        b.hint = out.user or out.name
        args = tuple(b.sym(self.need(a)) for a in op.args)
        parts = pullback(b, b.sym(g), b.sym(self.need(out)), args, op.attrs, wanted)
        shares: dict[Var, list[Any]] = {}
        for i in wanted:
            x = op.args[i]
            if parts.get(i) is not None:
                assert isinstance(x, Var)
                shares.setdefault(x, []).append(parts[i])
        for x, share in shares.items():
            for part in self.adjoints.joined(x, share):
                self.adjoints.add(bars, *self.through_view(x, part), mark)

    def through_view(self, x: Var, part: Any) -> tuple[Var, Any]:
        """Redirect a contribution to a part of a view to the base array.

        If a loop creates the view anew in each iteration, the contribution is added to that part
        of the base: `m_bar.T[i] += g` rather than a whole `m_bar` of zeros for each column.
        Reshapes are excluded, since the reshape of an adjoint might be a copy."""
        made = self.b.definitions.get(x.name)
        if made is None or made.name not in ("transpose", "expand_dims", "squeeze"):
            return x, part
        base, once = made.args[0], self.scopes.home[x.name] is self.scopes.top
        if once or x.name in self.inner_bars:
            return x, part
        if not isinstance(part, Accumulate) or not base.type.ndim:
            return x, part
        assert isinstance(base, Var)
        path = ((made.name, made.attrs["axes"]), *part.path)
        return self.through_view(base, replace(part, path=path))

    def call(self, stmt: Call, bars: Bars) -> None:
        seeds = [(i, bars.pop(v)) for i, v in enumerate(stmt.targets)]
        given = [(i, g) for i, g in seeds if g is not None]
        wanted = tuple(i for i, x in enumerate(stmt.args) if x in self.active)
        if not given or not wanted:
            return
        seeded = tuple(i for i, _ in given)
        pair = callee_pair(self.products, stmt.function, wanted, seeded)
        if pair is not None:
            self.call_pair(stmt, pair, [g for _, g in given], bars)
            return
        name = self.products.name(stmt.function, wanted, seeded)
        args = [self.need(x) for x in stmt.args] + [self.conjugate(g) for _, g in given]
        of = [x for x in (stmt.args[i] for i in wanted) if isinstance(x, Var)]
        parts = [self.adjoints.bar_var(x) for x in of]
        self.b.block.append(Call(parts, name, tuple(args), origin=self.b.origin))
        for x, part in zip(of, parts):
            self.adjoints.add(bars, x, self.conjugate(part))

    def call_pair(self, stmt: Call, pair: CalleePair, seeds: list[Operand], bars: Bars) -> None:
        """The sweep over a call: a call of `f_rev`.  The call itself becomes one of `f_fwd`."""
        saved = pair.saved_at(stmt.args, self.names)
        for v in saved:
            self.scopes.add(v, self.scopes.holder(stmt), stmt)
        fwd = self.fwd_calls[id(stmt)] = replace(
            stmt,
            targets=[*stmt.targets, *saved],
            function=pair.fwd,
            depends=pair.fwd_depends,
        )
        read = [*(stmt.args[i] for i in pair.args), *(stmt.targets[i] for i in pair.results)]
        args = [self.need(x) for x in (*read, *saved)] + [self.conjugate(g) for g in seeds]
        targets: list[Var] = []
        parts: list[tuple[Var, Var]] = []
        for i in pair.wanted:
            x = stmt.args[i]
            like = x if isinstance(x, Var) else self.products.functions[stmt.function].params[i]
            targets.append(self.adjoints.bar_var(like))
            if x in self.active:
                assert isinstance(x, Var)
                parts.append((x, targets[-1]))
        rev = Call(targets, pair.rev, tuple(args), origin=self.b.origin, depends=pair.rev_depends)
        self.b.block.append(rev)
        self.pair_calls.append(PairCall(stmt, fwd, rev, pair))
        for x, part in parts:
            self.adjoints.add(bars, x, self.conjugate(part))

    def custom(self, stmt: Custom, bars: Bars) -> None:
        """The sweep over a `Custom`: inline its pullback."""
        seeds = [bars.pop(t) for t in stmt.targets]
        if all(g is None for g in seeds):
            return
        given = [self.need(x) for x in stmt.captured]
        given += [
            self.adjoints.zeros(t) if g is None else self.conjugate(g)
            for t, g in zip(stmt.targets, seeds)
        ]
        parts = inline(self.b, stmt.pullback, given, self.b.origin)
        for x, part in zip(stmt.inputs, parts):
            self.contribute(bars, x, self.conjugate(part))

    def save(self, stmt: Save, bars: Bars) -> None:
        if stmt.slot.name in self.active.slots:
            assert isinstance(stmt.value, Var)
            bar = self.adjoints.bar_var(stmt.value)
            op = Op("restore", (), {"slot": self.bar_slot(stmt.slot)})
            self.b.block.append(Assign(bar, op, self.b.origin))
            self.contribute(bars, stmt.value, bar)

    def bar_slot(self, slot: Slot) -> Slot:
        if slot.name not in self.bar_slots:
            name = self.names.fresh(f"{slot.name}_bar")
            self.bar_slots[slot.name] = Slot(name, bar_type(slot.type))
        return self.bar_slots[slot.name]

    # ---- branches

    def branch(self, stmt: If, bars: Bars) -> None:
        seeds = [(phi, bars.pop(phi.target)) for phi in stmt.phis]
        if all(g is None for _, g in seeds) and not self.has_active_slots(stmt):
            return
        cond = self.need(stmt.cond)
        outcomes: list[tuple[Block, Bars]] = []
        for side in ("then", "orelse"):
            inner = bars.branch()
            with self.mirroring(self.scopes.inner(stmt, side)) as mirror:
                for phi, g in seeds:
                    self.contribute(inner, phi.then_value if side == "then" else phi.else_value, g)
                self.walk(getattr(stmt, side), inner)
            outcomes.append((mirror.head, inner))
        (then, then_bars), (orelse, else_bars) = outcomes
        phis = []
        for name in dict.fromkeys([*then_bars.values, *else_bars.values]):
            v = self.scopes.var[name]
            values = [inner.values.get(name) for _, inner in outcomes]
            if values[0] != values[1]:
                before = bars.get(v, self.scopes.home[name])
                phis.append(self.join(v, before, values, (then, orelse)))
                bars.values[name] = phis[-1].target
            elif values[0] is not None:
                bars.values[name] = values[0]
        if then or orelse or phis:
            self.b.block.append(If(cond, then, orelse, phis, self.b.origin))

    def join(
        self,
        v: Var,
        before: Operand | None,
        values: list[Operand | None],
        blocks: tuple[Block, Block],
    ) -> Phi:
        """The phi that merges the adjoints of both branches.  A branch without one contributes
        the adjoint from before the `If`, or zero."""
        chosen: list[Operand] = []
        for value, block in zip(values, blocks):
            value = before if value is None else value
            with self.b.into(block):
                chosen.append(self.adjoints.zeros(v) if value is None else value)
        return Phi(self.adjoints.bar_var(v), *chosen)

    # ---- loops

    def loop(self, stmt: For | While, bars: Bars) -> None:
        seeds = [(c, bars.pop(c.result)) for c in stmt.carried]
        if all(g is None for _, g in seeds) and not self.has_active_slots(stmt):
            return
        live = [(c, g) for c, g in seeds if g is not None or c.phi in self.active]
        if isinstance(stmt, For) and stmt.budget is not None:
            return self.checkpointed(stmt, live, bars)
        scope = self.scopes.inner(stmt)
        inner = Bars(LoopBars(scope, self.adjoints))
        assert inner.loop is not None
        mirrored = self.mirrored(stmt)
        with self.mirroring(scope) as mirror:
            if isinstance(stmt, For):
                mirror.restored[stmt.index.name] = mirrored.index
            phis = [self.carried_bar(c, c.phi) for c, _ in live]
            for (c, _), phi in zip(live, phis):
                self.shaped_as(phi, c.next)
                self.contribute(inner, c.next, phi)
            self.walk(stmt.body, inner)
            if isinstance(stmt, While):
                self.walk(stmt.test, inner)
            nexts = [inner.pop(c.phi) for c, _ in live]
            nexts = [
                self.adjoints.zeros(c.phi) if n is None else n for (c, _), n in zip(live, nexts)
            ]
        mirrored.body = mirror.head
        for (c, g), phi, after in zip(live, phis, nexts):
            init = self.adjoints.zeros(c.result) if g is None else g
            result = self.carried_bar(c, c.result)
            self.shaped_as(result, c.init)
            mirrored.carried.append(Carried(phi, init, after, result))
        for v, phi in inner.loop.entered.values():
            before = bars.get(v, self.scopes.home[v.name])
            init = self.adjoints.zeros(v) if before is None else before
            after = inner.values.get(v.name, phi)
            mirrored.carried.append(Carried(phi, init, after, self.adjoints.bar_var(v)))
        self.b.block.append(mirrored)
        for v, phi in inner.loop.entered.values():
            done = next(c for c in mirrored.carried if c.phi is phi)
            bars.values[v.name] = done.result
        for (c, _), done in zip(live, mirrored.carried):
            self.contribute(bars, c.init, done.result)

    def checkpointed(
        self, stmt: For, live: list[tuple[Carried, Operand | None]], bars: Bars
    ) -> None:
        """The sweep over a loop whose iterations are recomputed from checkpoints
        (`revolve.py`)."""
        scope = self.scopes.inner(stmt)

        def available(x: Operand) -> Operand:
            home = self.scopes.home.get(x.name) if isinstance(x, Var) else None
            return x if home is None or home.inside(scope) else self.need(x)

        quiet = self.products.without_effects(replace(self.function, body=stmt.body))
        loop = replace(stmt, body=substitute(quiet.body, lambda x: x))
        for s in walk(loop.body):
            s.origin = self.origin(s)
        own = list(inner_targets_of(loop))
        reads = free_variables(loop.body, [c.next for c in loop.carried])
        outer = [v for v in reads if v not in own]
        # The step takes and returns the adjoints of the values it reads from outside the loop.
        shared = [v for v in outer if v in self.active]
        results = [*(c.next for c, _ in live), *shared]
        wrt = (*(c.phi.name for c, _ in live), *(v.name for v in shared))
        step = Function("step", [*own, *outer], loop.body, results, notes=self.function.notes)
        seeded = tuple(range(len(results)))
        facts, products, names = self.b.facts, self.products, self.names
        made = reverse_function(step, wrt, seeded, facts, products, names, within=True)
        product = eliminate_dead_code(made)
        needed = substitute([prune_carried_state(loop, product)], available)[0]
        product.body = substitute(product.body, available)
        assert isinstance(needed, For)
        swept = [self.carried_adjoint(c, g) for c, g in live]
        for v in shared:
            before = bars.get(v, self.scopes.home[v.name])
            init = self.adjoints.zeros(v) if before is None else before
            swept.append(Carried(self.adjoints.bar_var(v), init, init, self.adjoints.bar_var(v)))
        emit_checkpointed_sweep(self.b, needed, product, swept)
        for v, done in zip(shared, swept[len(live) :]):
            bars.values[v.name] = done.result
        for (c, _), done in zip(live, swept):
            self.contribute(bars, c.init, done.result)

    def carried_adjoint(self, c: Carried, g: Operand | None) -> Carried:
        """The loop-carried adjoint of a carried value; its `next` is a placeholder."""
        init = self.adjoints.zeros(c.result) if g is None else g
        return Carried(self.carried_bar(c, c.phi), init, init, self.carried_bar(c, c.result))

    def mirrored(self, stmt: For | While) -> For:
        """The mirror of a loop with an empty body: the same iterations in reverse order."""
        label = stmt.label or self.labels.setdefault(id(stmt), self.names.fresh("loop"))
        common: dict[str, Any] = {
            "body": [],
            "label": self.names.fresh(f"{label}_bar"),
            "mirror": label,
            "origin": self.b.origin,
        }
        if isinstance(stmt, While):
            count = self.need(self.trips_of(stmt))
            index = self.int_var("k")
            zero, one = int_const(0), int_const(1)
            return For(index, zero, count, one, count=count, reverse=True, **common)
        index = Var(self.names.fresh(stmt.index.user or stmt.index.name), stmt.index.type)
        index = replace(index, user=stmt.index.user)
        start, stop, step = (self.need(x) for x in (stmt.start, stmt.stop, stmt.step))
        count = None if stmt.count is None else self.need(stmt.count)
        if stmt.until is not None:
            trips = self.need(self.trips_of(stmt))
            if stmt.reverse:  # the loop started at the last index: the mirror starts at its exit
                b = self.b
                total = count or trip_count(b, start, stop, step)
                start = (b.sym(start) + (b.sym(total) - trips) * step).operand
            count = trips
        return For(index, start, stop, step, count=count, reverse=not stmt.reverse, **common)

    def shaped_as(self, bar: Var, v: Operand) -> None:
        """Record that an adjoint has the shape of its value, which may differ in other
        iterations."""
        for axis, size in enumerate(dims_of(bar)):
            if size == Dim.of(own := f"{bar.name}.{axis}"):
                self.b.facts.define(own, dims_of(v)[axis])

    def carried_bar(self, c: Carried, v: Var) -> Var:
        """A phi or result for the adjoint of a carried value, whose shape may vary between
        iterations."""
        return with_own_sizes(self.adjoints.bar_var(v, bar_type(c.phi.type)), c, self.b.facts)

    def trips_of(self, stmt: For | While) -> Var:
        """The recorded trip count of a loop."""
        if stmt.trips is not None:
            return stmt.trips
        if id(stmt) not in self.trips:
            line = f"_L{stmt.origin.stmt.line}" if stmt.origin else ""
            v = self.trips[id(stmt)] = self.int_var(f"trips{line}")
            self.scopes.add(v, self.scopes.holder(stmt), stmt)
        return self.trips[id(stmt)]

    def int_var(self, hint: str) -> Var:
        name = self.names.fresh(hint)
        return Var(name, Scalar("int64", value=Dim.of(name)))

    def has_active_slots(self, stmt: Stmt) -> bool:
        """True if a statement contains active slots.  It must stay in the sweep, since the `Save`
        and the `restore` of their adjoints must both exist."""
        for s in walk([stmt]):
            if isinstance(s, Save) and s.slot.name in self.active.slots:
                return True
            if isinstance(s, Assign) and s.op.name == "restore":
                if s.op.attrs["slot"].name in self.active.slots:
                    return True
        return False

    def prune(self, block: Block, used: set[str], saved: dict[str, str]) -> Block:
        """Drop restored values that no pullback reads, and their saves.  `saved` maps slots to
        the values saved."""
        kept: Block = []
        for stmt in block:
            if isinstance(stmt, Assign) and stmt.op.name == "restore":
                slot = stmt.op.attrs["slot"].name
                if slot in saved and stmt.target.name not in used:
                    del self.saves[saved[slot]]
                    continue
            elif isinstance(stmt, If):
                stmt.then, stmt.orelse = (self.prune(x, used, saved) for x in blocks_of(stmt))
            elif isinstance(stmt, For):
                stmt.body = self.prune(stmt.body, used, saved)
            kept.append(stmt)
        return kept

    # ---- the forward part

    def forward(self, block: Block) -> Block:
        """A copy of a forward block, with saves, trip counts and labels added."""
        out: Block = []
        for stmt in block:
            out.append(self.rebuild(stmt))
            for v in targets_of(out[-1]):
                if v.name in self.saves and v.name not in self.scopes.tested:
                    out.append(self.saves[v.name])
        return out

    def rebuild(self, stmt: Stmt) -> Stmt:
        if id(stmt) in self.fwd_calls:
            return self.fwd_calls[id(stmt)]
        if isinstance(stmt, If):
            return replace(stmt, then=self.forward(stmt.then), orelse=self.forward(stmt.orelse))
        if not isinstance(stmt, (For, While)):
            return stmt
        heads = list(inner_targets_of(stmt))
        if isinstance(stmt, While):
            # The test runs once more than the body: save its values at the head of the body.
            heads += [v for s in stmt.test for v in targets_of(s)]
        head: Block = [self.saves[v.name] for v in heads if v.name in self.saves]
        new = replace(
            stmt,
            body=head + self.forward(stmt.body),
            label=stmt.label or self.labels.get(id(stmt), ""),
            trips=stmt.trips or self.trips.get(id(stmt)),
        )
        if isinstance(new, While):
            new.test = self.forward(new.test)
        return new


def _used(block: Block, results: list[Operand]) -> set[str]:
    """The names that a block or its results read."""
    operands = [*results, *(x for stmt in walk(block) for x in operands_of(stmt))]
    return {x.name for x in operands if isinstance(x, Var)}
