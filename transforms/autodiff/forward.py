"""Forward mode: a function becomes its Jacobian-vector product.

Every active value gets a tangent.  The pushforward of its rule computes it right after the value,
in the same block: loops and branches keep their structure and carry tangents in addition to
values.  The result is in value form, so that it can be differentiated like any other function.
A `Save` of an adjoint sweep also saves the tangent of the value, and its `restore` restores both.

A call becomes a call of the callee's own Jacobian-vector product (JVP), which yields the callee's
results and their tangents.

Statements for tangents carry the origin of their primal statement, with `Origin.sweep`
incremented and `Origin.tangent` set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..ir.builder import Builder, NameSupply, Sym
from ..ir.errors import UnsupportedError
from ..ir.index_bounds import with_index_bounds
from ..ir.nodes import (
    Array,
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
    ListOf,
    Module,
    Op,
    Operand,
    Origin,
    Phi,
    Save,
    Scalar,
    Slot,
    Stmt,
    Type,
    Var,
    While,
    is_float,
    walk,
)
from ..ir.op_registry import RULES
from ..ir.record import field, record, replace
from ..ir.scopes import names_of
from ..ir.symbolic_dims import Facts
from ..rules.random_draws import refuse_active_draw
from .activity import Activity, activity
from .cotangents import bar_type, is_zero, with_own_sizes
from .custom_derivative import inline
from .log_domain import mark_log_domain


@record
class CalleeJvps:
    """The Jacobian-vector products (JVPs) of a module's functions.  `known` maps a function and
    the positions of the parameters that have tangents to the name of the JVP.  `todo` is the
    worklist of those without a body yet: name, function, positions."""

    functions: dict[str, Function]
    names: NameSupply
    known: dict[tuple[str, tuple[int, ...]], str] = field(default_factory=dict)
    todo: list[tuple[str, str, tuple[int, ...]]] = field(default_factory=list)

    @classmethod
    def of(cls, functions: Mapping[str, Function]) -> CalleeJvps:
        params = (p.name for f in functions.values() for p in f.params)
        return cls(dict(functions), NameSupply([*functions, *params]))

    def name(self, function: str, moving: tuple[int, ...]) -> str:
        """The name of a JVP; the first request adds it to the worklist."""
        key = (function, moving)
        if key not in self.known:
            self.known[key] = self.names.fresh(f"{function}_jvp")
            self.todo.append((self.known[key], *key))
        return self.known[key]

    def finish(self) -> None:
        """Generate every requested JVP, and those that these request in turn."""
        while self.todo:
            name, function, moving = self.todo.pop(0)
            f = self.functions[function]
            wrt = tuple(f.params[i].name for i in moving)
            made = forward_function(f, wrt, f.results, f.notes.get("facts"), self)
            notes = {**made.notes, "primal_results": len(made.results)}
            self.functions[name] = replace(made, name=name, notes=notes)


def forward(module: Module, wrt: tuple[str, ...], facts: Facts | None = None) -> Module:
    """The module of `<name>_jvp`.  It takes the primal's parameters and a tangent for each
    parameter in `wrt`; it yields the primal's results and the tangents of its float results."""
    pushes = CalleeJvps.of(module.functions)
    name = pushes.names.fresh(f"{module.entry}_jvp")
    made = forward_function(module.main, wrt, module.main.results, facts, pushes)
    pushes.finish()
    functions = {k: f for k, f in pushes.functions.items() if k != module.entry}
    return Module({name: replace(made, name=name), **functions}, name)


def forward_function(
    function: Function,
    wrt: tuple[str, ...],
    results: Iterable[Operand],
    facts: Facts | None,
    pushes: CalleeJvps,
    names: NameSupply | None = None,
) -> Function:
    """The function with the tangents of `results` as additional results.  The tangents of the
    parameters `wrt` are its last parameters.  New names come from `names`."""
    results = [r for r in results if is_float(r.type)]
    if names is None:
        names, facts = NameSupply(names_of(function)), with_index_bounds(function, facts)
    facts = facts or Facts()
    function, _ = mark_log_domain(function, wrt, results, facts, names)
    pusher = ForwardMode(function, wrt, results, names, facts, pushes)
    params = {p.name: p for p in function.params}
    seeds = [pusher.dot_var(params[name]) for name in wrt]
    pusher.dots.update(zip(wrt, seeds))
    body = pusher.block(function.body)
    with pusher.b.into(body):
        dots = [pusher.dot(r) for r in results]
    return replace(
        function,
        params=[*function.params, *seeds],
        body=body,
        results=[*function.results, *dots],
        notes=pusher.notes(len(seeds)),
    )


class ForwardMode:
    """Forward-mode differentiation of one function.  `dots` are the tangents, by name of the
    value; a value without one has tangent zero."""

    def __init__(
        self,
        function: Function,
        wrt: tuple[str, ...],
        results: Iterable[Operand],
        names: NameSupply,
        facts: Facts,
        pushes: CalleeJvps,
    ) -> None:
        self.function = function
        self.active: Activity = activity(function, wrt, results)
        self.names = names
        self.pushes = pushes
        self.b = Builder(names, facts)
        self.b.checks = False
        self.dots: dict[str, Operand] = {}
        self.slots: dict[str, Slot] = {}
        inner = function.notes.get("inner_sweeps", 0)
        self.sweep = max(function.notes.get("sweeps", 0), inner) + 1
        for stmt in walk(function.body):
            if isinstance(stmt, Assign):
                self.b.definitions[stmt.target.name] = stmt.op

    def notes(self, seeds: int) -> dict[str, Any]:
        return {**self.function.notes, "inner_sweeps": self.sweep, "seeds": seeds}

    # ---- tangents

    def dot_var(self, v: Var, type_: Type | None = None) -> Var:
        user = f"{v.user}_dot" if v.user else ""
        return self.b.var(type_ or bar_type(v.type), f"{v.user or v.name}_dot", user)

    def dot(self, x: Operand) -> Operand:
        """The tangent of a value; zero if it has none."""
        found = self.dots.get(x.name) if isinstance(x, Var) else None
        return self.zeros(x) if found is None else found

    def zeros(self, x: Operand) -> Operand:
        t = x.type
        if isinstance(t, Scalar):
            return Const(0.0, Scalar(t.dtype))
        hint = f"{x.user or x.name}_dot" if isinstance(x, Var) else "t_dot"
        if isinstance(t, ListOf):
            return self.b.emit("list_zeros_like", x, hint=hint).operand
        return self.b.emit("zeros_like", x, hint=hint, dtype=t.dtype).operand

    def conform(self, dot: Sym, out: Var) -> Operand:
        """A tangent with the dtype, shape and kind of its value.  A pushforward may return an
        unbroadcast tangent; it is broadcast here."""
        t = out.type
        if isinstance(t, ListOf):
            return dot.operand
        if isinstance(t, Scalar):
            if isinstance(dot.type, Array):
                dot = self.b.emit("index", dot, items=())
            return dot.astype(t.dtype).operand
        assert isinstance(t, Array)
        dot = dot.astype(t.dtype)
        same = isinstance(dot.type, Array) and dot.ndim == t.ndim
        equal = self.b.facts.known_equal
        if not same or not all(equal(d, e) for d, e in zip(dot.type.shape, t.shape)):
            dot = self.b.emit("broadcast_like", dot, out)
        return dot.operand

    # ---- statements

    def block(self, block: Block) -> Block:
        """A copy of a block, with tangents."""
        out: Block = []
        with self.b.into(out):
            for stmt in block:
                with self.b.at(self.origin(stmt)):
                    self.stmt(stmt)
        return out

    def origin(self, stmt: Stmt) -> Origin | None:
        return stmt.origin and replace(stmt.origin, sweep=self.sweep, tangent=True)

    def stmt(self, stmt: Stmt) -> None:
        if isinstance(stmt, Assign):
            self.b.block.append(stmt)
            self.assign(stmt)
        elif isinstance(stmt, Call):
            self.call(stmt)
        elif isinstance(stmt, Custom):
            self.b.block.append(stmt)
            self.custom(stmt)
        elif isinstance(stmt, Draw):
            refuse_active_draw(stmt, self.active, self.function)
            self.b.block.append(stmt)
        elif isinstance(stmt, Save):
            self.b.block.append(stmt)
            if stmt.slot.name in self.active.slots:
                slot = self.dot_slot(stmt.slot)
                self.b.block.append(Save(slot, self.dot(stmt.value), self.b.origin))
        elif isinstance(stmt, If):
            self.branch(stmt)
        elif isinstance(stmt, (For, While)):
            self.loop(stmt)
        else:
            self.b.block.append(stmt)

    def assign(self, stmt: Assign) -> None:
        out, op = stmt.target, stmt.op
        if out not in self.active:
            return
        if op.name == "restore":
            dot = self.dot_var(out)
            restore = Op("restore", (), {"slot": self.dot_slot(op.attrs["slot"])})
            self.b.block.append(Assign(dot, restore, self.b.origin))
            self.dots[out.name] = dot
            return
        dots = [self.dots.get(a.name) if isinstance(a, Var) else None for a in op.args]
        rule = RULES[op.name]
        if rule.differentiable is not None:
            dots = [d if i in rule.differentiable else None for i, d in enumerate(dots)]
        if all(d is None for d in dots):
            return
        if rule.pushforward is None:
            span = stmt.origin and stmt.origin.span
            raise UnsupportedError(
                f"the derivative of {op.name} in forward mode is not known", span=span
            )
        b, mark = self.b, len(self.b.block)
        b.hint = out.user or out.name
        args = tuple(b.sym(a) for a in op.args)
        moved = tuple(None if d is None else b.sym(d) for d in dots)
        pushed = rule.pushforward(b, moved, b.sym(out), args, op.attrs)
        if pushed is None or is_zero(b.sym(pushed).operand):
            return
        self.dots[out.name] = self.named(self.conform(b.sym(pushed), out), out, mark)

    def named(self, dot: Operand, out: Var, mark: int) -> Operand:
        """Rename the result of the statements from index `mark` on to the tangent of `out`."""
        block = self.b.block
        last = block[-1] if len(block) > mark else None
        if not isinstance(dot, Var) or not isinstance(last, Assign) or last.target != dot:
            return dot
        new = self.dot_var(out, dot.type)
        block[-1] = replace(last, target=new)
        self.b.definitions[new.name] = last.op
        return new

    def dot_slot(self, slot: Slot) -> Slot:
        if slot.name not in self.slots:
            name = self.names.fresh(f"{slot.name}_dot")
            self.slots[slot.name] = Slot(name, bar_type(slot.type))
        return self.slots[slot.name]

    def call(self, stmt: Call) -> None:
        moving = tuple(
            i for i, x in enumerate(stmt.args) if isinstance(x, Var) and x.name in self.dots
        )
        floats = [t for t in stmt.targets if is_float(t.type)]
        if not moving or not any(t in self.active for t in floats):
            self.b.block.append(stmt)
            return
        dots = [self.dot_var(t) for t in floats]
        given = [self.dots[x.name] for i, x in enumerate(stmt.args) if i in moving]  # type: ignore[union-attr]
        name = self.pushes.name(stmt.function, moving)
        depends = stmt.depends
        if depends is not None:
            dot_of = {i: len(stmt.args) + k for k, i in enumerate(moving)}
            own = [d for t, d in zip(stmt.targets, depends) if is_float(t.type)]
            depends += tuple(d | {dot_of[i] for i in d if i in dot_of} for d in own)
        new = replace(
            stmt,
            targets=[*stmt.targets, *dots],
            function=name,
            args=(*stmt.args, *given),
            depends=depends,
        )
        self.b.block.append(new)
        self.dots.update((t.name, d) for t, d in zip(floats, dots))

    def custom(self, stmt: Custom) -> None:
        """The tangents of a `Custom`: the pushforward is the transpose of its pullback."""
        if not any(isinstance(x, Var) and x.name in self.dots for x in stmt.inputs):
            return
        from .reverse import transpose_pullback

        made = transpose_pullback(stmt.pullback, len(stmt.captured), self.b.facts, self.names)
        given = [*stmt.captured, *(self.zeros(t) for t in stmt.targets)]
        given += [self.dot(x) for x in stmt.inputs]
        dots = inline(self.b, made, given, self.b.origin)
        self.dots.update((t.name, d) for t, d in zip(stmt.targets, dots))

    # ---- control flow

    def branch(self, stmt: If) -> None:
        then, orelse = self.block(stmt.then), self.block(stmt.orelse)
        phis = list(stmt.phis)
        for phi in stmt.phis:
            if phi.target not in self.active:
                continue
            with self.b.into(then):
                then_dot = self.dot(phi.then_value)
            with self.b.into(orelse):
                else_dot = self.dot(phi.else_value)
            if is_zero(then_dot) and is_zero(else_dot):
                continue
            dot = self.dot_var(phi.target)
            phis.append(Phi(dot, then_dot, else_dot))
            self.dots[phi.target.name] = dot
        self.b.block.append(replace(stmt, then=then, orelse=orelse, phis=phis))

    def loop(self, stmt: For | While) -> None:
        moving = [c for c in stmt.carried if c.phi in self.active or c.result in self.active]
        inits = [self.dot(c.init) for c in moving]
        phis = [self.carried_dot(c, c.phi) for c in moving]
        self.dots.update((c.phi.name, phi) for c, phi in zip(moving, phis))
        changes: dict[str, Any] = {}
        if isinstance(stmt, While):
            changes["test"] = self.block(stmt.test)
        body = changes["body"] = self.block(stmt.body)
        carried = list(stmt.carried)
        for c, phi, init in zip(moving, phis, inits):
            with self.b.into(body):
                after = self.dot(c.next)
            result = self.carried_dot(c, c.result)
            carried.append(Carried(phi, init, after, result))
            self.dots[c.result.name] = result
        self.b.block.append(replace(stmt, carried=carried, **changes))

    def carried_dot(self, c: Carried, v: Var) -> Var:
        """A phi or result for the tangent of a carried value, whose shape may vary between
        iterations."""
        return with_own_sizes(self.dot_var(v, bar_type(c.phi.type)), c, self.b.facts)
