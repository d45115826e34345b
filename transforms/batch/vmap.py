"""The batching transformation: emits the batched function according to a `Plan`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from ..ir.builder import Builder, NameSupply, Sym, int_const
from ..ir.clone import clone_block
from ..ir.errors import UnsupportedError
from ..ir.index_bounds import with_index_bounds
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Carried,
    Custom,
    For,
    Function,
    If,
    Op,
    Operand,
    Origin,
    Phi,
    Save,
    Scalar,
    Slot,
    Span,
    Stmt,
    Type,
    Var,
    While,
    blocks_of,
    inner_targets_of,
    operands_of,
    targets_of,
    walk,
)
from ..ir.op_registry import RULES
from ..ir.scopes import names_of
from ..ir.symbolic_dims import Atom, Dim, Facts
from ..rules.batching_rules import Mapped, batching_of
from .batched_values import BatchBuilder, batched_type, substitute_sizes
from .vmap_plan import SIZE_QUERIES, Plan, Region


def batch(
    function: Function,
    mapped: Iterable[str],
    size: Dim,
    facts: Facts | None = None,
    names: NameSupply | None = None,
    count: Operand | None = None,
    all_results: bool = False,
    draws: bool = False,
) -> Function:
    """The batched function `<name>_batch`.

    The parameters `mapped` get a leading axis of `size`, and so do the results that depend on them
    (with `all_results`, all results).  `notes["batched"]` are the positions of these results,
    `notes["batched_values"]` the names of all values with the batch axis.

    `names` supplies new names; by default they avoid those of the function.  `count` is an operand
    that holds the batch size; by default the size is read from a mapped parameter.  With `draws`,
    each batch element draws its own random numbers, in order; otherwise they are drawn once.
    """
    mapped = tuple(mapped)
    assert mapped, "nothing is mapped"
    if names is None:
        names, facts = NameSupply(names_of(function)), with_index_bounds(function, facts)
    plan = Plan(function, mapped, draws)
    return _Batcher(function, plan, size, facts or Facts(), names, count).run(all_results)


class _Batcher:
    """Emits the batched function."""

    def __init__(
        self,
        function: Function,
        plan: Plan,
        size: Dim,
        facts: Facts,
        names: NameSupply,
        count: Operand | None,
    ) -> None:
        self.function = function
        self.plan = plan
        self.extent = size
        self.count = count
        self.b = Builder(names, facts)
        self.b.checks = False
        for stmt in walk(function.body):
            if isinstance(stmt, Assign):
                self.b.definitions[stmt.target.name] = stmt.op
        # The batched operand that replaces each value.  The values in scope, by block, innermost
        # last.
        self.new: dict[str, Operand] = {}
        self.scopes: list[list[Var]] = [[]]
        self.slots: dict[str, Slot] = {}
        self.params = [self._param(p) for p in function.params]

    def _param(self, p: Var) -> Var:
        """A parameter, with the batch axis if it is mapped."""
        if p.name in self.plan.mapped:
            new = replace(p, type=batched_type(p.type, self.extent))
            self.new[p.name] = new
        self.scopes[0].append(p)
        return self.new.get(p.name, p)  # type: ignore[return-value]

    def run(self, all_results: bool) -> Function:
        f, b = self.function, self.b
        body: Block = []
        with b.into(body):
            self.values = BatchBuilder(b, self._size(), self.extent, self.measure)
            self._block(f.body)
            batched = [i for i, r in enumerate(f.results) if all_results or self.on(r)]
            results = [
                self.lifted(r).operand if i in batched else r for i, r in enumerate(f.results)
            ]
            effects = [(p, self._effect_value(p, v)) for p, v in f.effects]
        self._mark_batched(
            body, {s.origin.stmt for s in walk(body) if s.origin and s.origin.batched}
        )
        names = frozenset(self.plan.batched)
        notes = {**f.notes, "batched": tuple(batched), "batched_values": names}
        return replace(
            f,
            name=f"{f.name}_batch",
            params=self.params,
            body=body,
            results=results,
            effects=effects,
            notes=notes,
        )

    def _size(self) -> Sym:
        """The batch size as a value."""
        if self.count is not None:
            return self.b.sym(self.count)
        if self.extent.is_const:
            return self.b.sym(int_const(self.extent.const))
        first = next(p for p in self.params if p.name in self.plan.mapped)
        return self.b.emit("shape", first, axis=0)

    def _effect_value(self, p: Var, value: Operand) -> Operand:
        """The final value of a parameter that the function writes to."""
        if p.name in self.plan.mapped:
            return self._converted(value, self.values.type(p.type))
        if self.on(value):
            raise UnsupportedError(
                f"{p.user or p.name} is written to by every element",
                advice=f"map over {p.user or p.name} too, or write to a copy of it",
            )
        return value

    # ---- operands

    def on(self, x: Operand) -> bool:
        """True if `x` is batched."""
        return self.plan.is_batched(x)

    def read(self, x: Operand) -> Operand:
        """`x`, or the batched operand that replaces it."""
        return self.new.get(x.name, x) if isinstance(x, Var) else x

    def lifted(self, x: Operand, t: Type | None = None) -> Sym:
        """`x` with the batch axis; broadcast if it is not batched."""
        return self.b.sym(self.read(x)) if self.on(x) else self.values.lift(x, t)

    def _converted(self, x: Operand, t: Type) -> Operand:
        """`x` converted to the batched type `t`, as an input of a phi or a loop-carried value."""
        x = self.lifted(x, t).operand
        if isinstance(t, Array) and x.type.dtype != t.dtype:
            x = self.b.sym(x).astype(t.dtype).operand
        if isinstance(t, Array) and isinstance(x.type, Array) and x.type.layout != "C":
            return self.b.emit("copy", x).operand if t.layout == "C" else x
        return x

    def measure(self, dim: Dim) -> Operand | None:
        """An operand that holds a size, computed from the values in scope; None if impossible."""
        dim = self.b.facts.canonical(dim)
        if dim.is_const:
            return int_const(dim.const)
        found = self._measured(dim)
        if found is not None or dim == Dim.of(next(iter(dim.terms))[0][0]):
            return found
        total = self.b.sym(int_const(dim.const)) if dim.const else None
        for monomial, k in dim.terms:
            term = self.b.sym(int_const(k)) if k != 1 else None
            for symbol in monomial:
                factor = self._measured(Dim.of(symbol))
                if factor is None:
                    return None
                term = self.b.sym(factor) if term is None else term * factor
            total = term if total is None else total + term
        return None if total is None else total.operand

    def _measured(self, dim: Dim) -> Operand | None:
        """An operand that holds `dim` as it is: an integer, a size of an array, or max(d, 0)."""
        canonical = self.b.facts.canonical
        for v in (v for block in self.scopes for v in block):
            op = self.b.definitions.get(v.name)
            if op is not None and op.name == "undef":
                continue
            if isinstance(v.type, Scalar):
                value = v.type.value
                if value is not None and canonical(value) == dim and not self.on(v):
                    return v
            elif isinstance(v.type, Array) and v.name not in self.plan.uneven:
                for axis, d in enumerate(v.type.shape):
                    if canonical(d) == dim:
                        x = self.read(v)
                        return self.b.emit("shape", x, axis=axis + self.on(v)).operand
        atom = next(iter(dim.terms))[0][0]
        if isinstance(atom, Atom) and dim == Dim.of(atom) and atom.op == "max0":
            inner = self.measure(atom.parts[0])  # type: ignore[arg-type]
            if inner is not None:
                return self.b.emit("maximum", inner, int_const(0)).operand
        return None

    # ---- statements

    def _inner(self, block: Block, bound: Iterable[Var] = ()) -> Block:
        """An inner block, batched; `bound` are the values that its statement binds."""
        out: Block = []
        self.scopes.append(list(bound))
        with self.b.into(out):
            self._block(block)
        self.scopes.pop()
        return out

    def _block(self, block: Block) -> None:
        """Emit the statements of a block; each region as a loop over the batch elements."""
        regions = {r.first: r for r in self.plan.regions.get(id(block), ())}
        index = 0
        while index < len(block):
            region = regions.get(index)
            if region is None:
                self._stmt(block[index])
                index += 1
                continue
            for k in range(region.first, region.last + 1):
                if k not in region.members:
                    self._stmt(block[k])
            self._loop_region(block, region)
            index = region.last + 1

    def _stmt(self, stmt: Stmt) -> None:
        self.b.hint = "t"
        with self.b.at(self._origin(stmt.origin)):
            if isinstance(stmt, Assign):
                self._assign(stmt)
            elif isinstance(stmt, Save):
                self._save(stmt)
            elif isinstance(stmt, If):
                self._branch(stmt)
            elif isinstance(stmt, (For, While)):
                self._loop(stmt)
            elif isinstance(stmt, Custom) and self.on(stmt.targets[0]):
                self._custom(stmt)
            else:
                self.b.block.append(stmt)
            self.scopes[-1] += targets_of(stmt)

    def _origin(self, origin: Origin | None) -> Origin | None:
        """`origin`, marked as batched: the statement no longer equals its source text."""
        return origin and replace(origin, batched=True)

    def _mark_batched(self, block: Block, texts: set[Span]) -> None:
        """Mark all statements of the source statements `texts` as batched.

        Statements from one source statement are printed as its source text together, or not at all.
        """
        for i, stmt in enumerate(block):
            if stmt.origin is not None and stmt.origin.stmt in texts:
                block[i] = replace(stmt, origin=self._origin(stmt.origin))
            for inner in blocks_of(block[i]):
                self._mark_batched(inner, texts)

    def _assign(self, stmt: Assign) -> None:
        op, target = stmt.op, stmt.target
        if op.name in SIZE_QUERIES and self.on(op.args[0]):
            attrs = {"axis": op.attrs["axis"] + 1} if op.name == "shape" else {}
            op = Op(op.name, (self.read(op.args[0]),), attrs)
            self.b.block.append(replace(stmt, op=op, origin=self.b.origin))
        elif target.name not in self.plan.batched:
            self.b.block.append(stmt)
        elif op.name == "restore":
            new = self._new(target)
            op = Op("restore", (), {"slot": self._slot(op.attrs["slot"])})
            self.b.block.append(Assign(new, op, self.b.origin))
        else:
            self._operation(stmt)

    def _operation(self, stmt: Assign) -> None:
        """Emit an operation by its batching rule, or in a loop over the batch elements."""
        op, target, b = stmt.op, stmt.target, self.b
        rule = batching_of(RULES[op.name])
        mark = len(b.block)
        out = rule and rule(
            Mapped(
                b,
                op.name,
                self.values.size,
                [b.sym(self.read(a)) for a in op.args],
                [self.on(a) for a in op.args],
                [a.type for a in op.args],
                op.attrs,
                target.type,
                lambda x: self.values.lift(b.sym(x).operand),
            )
        )
        if out is None:
            del b.block[mark:]
            self._loop_over_batch([stmt], [target])
            return
        if out.type.dtype != target.type.dtype:
            out = out.astype(target.type.dtype)
        self._name(target, out, mark)

    def _name(self, target: Var, out: Sym, mark: int) -> None:
        """Give the value emitted last the name, and the batched type, of the target."""
        last = self.b.block[-1] if len(self.b.block) > mark else None
        if not isinstance(last, Assign) or last.target != out.operand:
            self.new[target.name] = out.operand
            return
        type_ = self.values.type(target.type)
        if isinstance(type_, Array):
            type_ = replace(type_, layout=getattr(out.type, "layout", "C"))
        new = self.new[target.name] = replace(target, type=type_)
        self.b.block[-1] = replace(last, target=new)

    def _new(self, v: Var) -> Var:
        """`v` with the batch axis, recorded as its replacement."""
        new = replace(v, type=self.values.type(v.type))
        self.new[v.name] = new
        return new

    def _slot(self, slot: Slot) -> Slot:
        """A slot, with the batch axis if its value is batched."""
        if slot.name not in self.plan.slots:
            return slot
        return replace(slot, type=self.values.type(slot.type))

    def _save(self, stmt: Save) -> None:
        new = Save(self._slot(stmt.slot), self.read(stmt.value), self.b.origin)
        self.b.block.append(new)

    def _custom(self, stmt: Custom) -> None:
        """Batch values with a custom derivative: the pullback is batched, too."""
        inputs = tuple(self.lifted(x).operand for x in stmt.inputs)
        values = tuple(self.lifted(x, t.type).operand for x, t in zip(stmt.values, stmt.targets))
        pullback = stmt.pullback
        mine = [self.on(x) for x in stmt.captured]
        mine += [True] * (len(pullback.params) - len(mine))
        mapped = [p.name for p, on in zip(pullback.params, mine) if on]
        facts = self.b.facts
        new = replace(
            stmt,
            targets=[self._new(v) for v in stmt.targets],
            values=values,
            inputs=inputs,
            captured=tuple(self.read(x) for x in stmt.captured),
            pullback=batch(pullback, mapped, self.extent, facts, all_results=True),
            origin=self.b.origin,
        )
        self.b.block.append(new)

    # ---- branches and loops with uniform control flow

    def _branch(self, stmt: If) -> None:
        then, orelse = self._inner(stmt.then), self._inner(stmt.orelse)
        phis = []
        for phi in stmt.phis:
            if not self.on(phi.target):
                phis.append(phi)
                continue
            target = self._new(phi.target)
            values = []
            for block, value in ((then, phi.then_value), (orelse, phi.else_value)):
                with self.b.into(block):
                    values.append(self._converted(value, target.type))
            phis.append(Phi(target, *values))
        self.b.block.append(replace(stmt, then=then, orelse=orelse, phis=phis))

    def _loop(self, stmt: For | While) -> None:
        batched = [c for c in stmt.carried if self.on(c.phi)]
        inits = {c.phi.name: self._converted(c.init, self.values.type(c.phi.type)) for c in batched}
        for c in batched:
            self._new(c.phi)
        bound = list(inner_targets_of(stmt))
        if isinstance(stmt, While):
            test: Block = []
            self.scopes.append(bound)
            with self.b.into(test):
                self._block(stmt.test)
            body = self._inner(stmt.body)
            self.scopes.pop()
            new: For | While = replace(stmt, test=test, body=body)
        else:
            body = self._inner(stmt.body, bound)
            new = replace(stmt, body=body)
        carried = []
        for c in stmt.carried:
            if not self.on(c.phi):
                carried.append(c)
                continue
            phi = self.new[c.phi.name]
            assert isinstance(phi, Var)
            with self.b.into(body):
                after = self._converted(c.next, phi.type)
            carried.append(Carried(phi, inits[phi.name], after, self._new(c.result)))
        new.carried = carried
        self.b.block.append(new)

    # ---- loops over the batch elements

    def _loop_region(self, block: Block, region: Region) -> None:
        """Emit a region as a loop over the batch elements."""
        stmts = [block[k] for k in sorted(region.members)]
        made = [v for s in stmts for v in targets_of(s)]
        outs = [v for v in made if self.plan.escapes(v.name, id(block), region)]
        self._loop_over_batch(stmts, outs)
        self.scopes[-1] += outs

    def _loop_over_batch(self, stmts: Sequence[Stmt], outs: Sequence[Var]) -> None:
        """Emit statements in a loop over the batch elements that collects `outs`."""
        b, values = self.b, self.values
        with b.at(self._origin(stmts[0].origin)):
            collectors = [values.collector(v) for v in outs]
            at = values.index("k")
            body: Block = []
            with b.into(body):
                inside: dict[str, Operand] = {}
                for x in self._inputs(stmts):
                    inside[x.name] = values.element(self.read(x), x.type, at, x.name)
                # Sizes given by a batched scalar refer to the scalar of the current element.
                scalars = {n: Dim.of(x.name) for n, x in inside.items() if _is_scalar(x)}
                copy = substitute_sizes(clone_block(list(stmts), b.names, inside), scalars)
                for stmt in walk(copy):
                    stmt.origin = self._origin(stmt.origin)
                b.block += copy
                for collector in collectors:
                    collector.add(inside[collector.v.name], at)
            carried = [c.carried() for c in collectors]
            b.block.append(values.loop(at, values.size.operand, body, carried))
            for collector in collectors:
                self.new[collector.v.name] = collector.done()

    def _inputs(self, stmts: Sequence[Stmt]) -> list[Var]:
        """The batched values that statements read but do not define."""
        made = {v.name for s in walk(list(stmts)) for v in (*targets_of(s), *inner_targets_of(s))}
        read: dict[str, Any] = {}
        for stmt in walk(list(stmts)):
            for x in operands_of(stmt):
                if isinstance(x, Var) and x.name not in made and self.on(x):
                    read.setdefault(x.name, x)
        return list(read.values())


def _is_scalar(x: Operand) -> TypeGuard[Var]:
    return isinstance(x, Var) and isinstance(x.type, Scalar)
