"""Bufferization and SSA destruction: value form to memory form.

The steps, each of which leaves a correct program:

1. tape slots become arrays or stacks (`lower_tape_slots.py`);
2. copies are inserted until every update is safe in place (`copy_insertion.py`);
3. versions of a user's variable that are read after it is rebound get a second name
   (`name_old_versions.py`);
4. values are mapped to variables (`coalesce.py`);
5. phis and carried values become assignments, and updates become stores (here).

In memory form an operand keeps its value's type and `Var.name` is a Python identifier.
`Var.user` is the user's name where that name, at this point of the program, refers to the
variable.  `notes["buffers"]` maps each array variable to an alias class: variables of different
classes never share memory.  `notes["variables"]` maps values to variables.  `notes["kept"]` are
the variables that hold old versions and trip counts for later reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.builder import NameSupply, const
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Call,
    Carried,
    Const,
    Draw,
    For,
    Function,
    If,
    Module,
    Op,
    Operand,
    Phi,
    Push,
    Stmt,
    Store,
    Var,
    While,
    blocks_of,
    operands_of,
    substitute,
    walk,
)
from ..ir.record import replace
from .alias_analysis import aliased_args, is_reference
from .coalesce import Coalescer, Memory, all_names, bindings
from .copy_insertion import insert_copies, stem
from .live_ranges import UPDATES
from .lower_tape_slots import lower_tape_slots
from .name_old_versions import name_old_versions

Move = tuple[Var, Operand]


def bufferize(module: Module, for_lowering: bool = False) -> Module:
    """The module in memory form.  With `for_lowering` every variable has one type and one kind of
    memory, as compiled code requires; otherwise the user's names take precedence."""
    noted = note_written_arguments(module).functions
    functions = {name: bufferize_function(f, for_lowering) for name, f in noted.items()}
    return Module(functions, module.entry)


def note_written_arguments(module: Module) -> Module:
    """The module whose calls know which arguments their callees write (`Call.inout`), which
    `bufferize_function` reads."""
    functions: dict[str, Function] = {}
    for name, f in module.functions.items():
        functions[name] = f = _duplicate(f)
        for stmt in walk(f.body):
            if isinstance(stmt, Call):
                stmt.inout = module.functions[stmt.function].notes.get("inout", ())
    return Module(functions, module.entry)


def bufferize_function(function: Function, for_lowering: bool = False) -> Function:
    """One function in memory form."""
    function = _duplicate(function)
    names = NameSupply(all_names(function))
    lower_tape_slots(function, names)
    _protect_until(function.body, names)
    _accumulate(function.body)
    walk_ = insert_copies(function, names, for_lowering)
    if not for_lowering:
        name_old_versions(function, names)
    _copy_pushed_arrays(function, names)
    memory = Memory(walk_.facts.root, walk_.facts.fresh)
    variables = Coalescer(function, memory, for_lowering).run()
    return _Emitter(function, variables).run()


def _duplicate(function: Function) -> Function:
    """A copy whose statements may be modified; operands and types are shared."""
    body = substitute(function.body, lambda o: o)
    return replace(
        function,
        body=body,
        params=list(function.params),
        results=list(function.results),
        effects=list(function.effects),
        notes=dict(function.notes),
    )


def _protect_until(block: Block, names: NameSupply) -> None:
    """Copy each `until` that is a loop phi to a variable of its own: `until` is read after the
    carried variables have been assigned their next values."""
    for stmt in block:
        for inner in blocks_of(stmt):
            _protect_until(inner, names)
        if isinstance(stmt, (For, While)) and stmt.until in [c.phi for c in stmt.carried]:
            assert isinstance(stmt.until, Var)
            saved = Var(names.fresh(stem(stmt.until.name)), stmt.until.type)
            stmt.body.append(Assign(saved, Op("alias", (stmt.until,)), stmt.origin))
            stmt.until = saved


def _accumulate(block: Block) -> None:
    """Rewrite `h_bar_1 = h_bar + g` in a sweep, for arrays of one shape, as an optional in-place
    `h_bar += g`."""
    for stmt in walk(block):
        if not isinstance(stmt, Assign) or stmt.op.name != "add":
            continue
        target, args = stmt.target, stmt.op.args
        if not isinstance(target.type, Array) or (stmt.origin and not stmt.origin.sweep):
            continue
        for base, value in (args, args[::-1]):
            if isinstance(base, Var) and base.type == target.type:
                if stem(base.name) == stem(target.name) and base.user == target.user:
                    stmt.op = Op("update_add", (base, value), {"path": (), "optional": True})
                    break


def _copy_pushed_arrays(function: Function, names: NameSupply) -> None:
    """Copy each array that is pushed onto a stack and may be written later.  A stack holds
    references."""
    buffers = _Buffers(function)
    for block in _blocks(function.body):
        for i in range(len(block) - 1, -1, -1):
            stmt = block[i]
            if isinstance(stmt, Push) and isinstance(stmt.value, Var):
                v = stmt.value
                if is_reference(v.type) and buffers.written(v.name):
                    copy = Var(names.fresh(stem(v.name)), v.type)
                    block.insert(i, Assign(copy, Op("copy", (v,)), None))
                    stmt.value = copy


def _blocks(block: Block) -> list[Block]:
    """A block and all blocks nested in it."""
    found = [block]
    for stmt in block:
        for inner in blocks_of(stmt):
            found += _blocks(inner)
    return found


class _Buffers:
    """Flow-insensitive alias classes: values that may share memory at any time (union-find).
    Coarser and cheaper than `alias_analysis.py`."""

    def __init__(self, function: Function) -> None:
        self.parent: dict[str, str] = {}
        self.stored: set[str] = {p.name for p, _ in function.effects}
        self.views: set[str] = set()
        for stmt in walk(function.body):
            for a, b in _sharing(stmt):
                if is_reference(a.type) and isinstance(b, Var):
                    self.parent[self.find(a.name)] = self.find(b.name)
            if isinstance(stmt, Call):
                self.stored |= {stmt.targets[i].name for i, _ in stmt.inout}
            elif isinstance(stmt, Assign):
                if stmt.op.name in UPDATES:
                    self.stored.add(stmt.target.name)
                elif aliased_args(stmt.op, stmt.target.type):
                    self.views.add(stmt.target.name)
        self.stored = {self.find(name) for name in self.stored}

    def find(self, name: str) -> str:
        root = name
        while self.parent.get(root, root) != root:
            root = self.parent[root]
        while self.parent.get(name, name) != root:
            self.parent[name], name = root, self.parent[name]
        return root

    def written(self, name: str) -> bool:
        """True if a value is a view or its memory may be written."""
        return self.find(name) in self.stored or name in self.views


def _sharing(stmt: Stmt) -> list[Move]:
    """Pairs of a target and an operand whose memory it may share."""
    if isinstance(stmt, Assign):
        positions = range(len(stmt.op.args)) if stmt.op.name.startswith("list_") else ()
        if stmt.op.name in ("update", "update_add"):
            positions = (0,)
        elif not positions:
            positions = aliased_args(stmt.op, stmt.target.type)
        return [(stmt.target, stmt.op.args[i]) for i in positions]
    if isinstance(stmt, Call):
        return [(stmt.targets[i], stmt.args[j]) for i, j in stmt.inout]
    if isinstance(stmt, If):
        return [(p.target, v) for p in stmt.phis for v in (p.then_value, p.else_value)]
    if isinstance(stmt, (For, While)):
        pairs = [(c.phi, v) for c in stmt.carried for v in (c.init, c.next)]
        return pairs + [(c.result, c.phi) for c in stmt.carried]
    return []


# ---------------------------------------------------------------- SSA destruction


class _Emitter:
    """Rebuilds the program with variables in place of values."""

    def __init__(self, function: Function, variables: dict[str, str]) -> None:
        self.function = function
        self.variables = variables
        self.names = NameSupply({*variables.values(), *variables})
        self.used = {
            o.name for s in walk(function.body) for o in operands_of(s) if isinstance(o, Var)
        }
        outputs = [*function.results, *(v for _, v in function.effects)]
        self.used |= {o.name for o in outputs if isinstance(o, Var)}
        self.current: dict[str, str] = {}  # the user's name -> the value it refers to
        self.counters: set[str] = set()  # trip counts that are computed
        never = {
            s.target.name
            for s in walk(function.body)
            if isinstance(s, Assign) and s.op.name == "undef"
        }
        # The variables all of whose values are `undef`.
        self.undefined = {variables[name] for name in never} - {
            variables[v.name] for v, _ in bindings(function) if v.name not in never
        }

    def run(self) -> Function:
        f = self.function
        for p in f.params:
            self.current[p.user or p.name] = p.name
        buffers = _Buffers(f)
        body = self.block(f.body)
        numbers: dict[str, int] = {}
        slots = f.notes.get("slot_variables", ())
        kept = {*slots, *f.notes.get("kept", ()), *self.counters}
        notes = {
            **f.notes,
            "buffers": self.buffers(buffers, numbers),
            "variables": self.variables,
            "slot_variables": frozenset(self.variables[name] for name in slots),
            "kept": tuple(
                dict.fromkeys(self.variables[v.name] for v, _ in bindings(f) if v.name in kept)
            ),
        }
        return replace(
            f,
            params=[self.target(p) for p in f.params],
            body=body,
            results=[self.read(r) for r in f.results],
            effects=[(self.target(p), self.target(p)) for p, _ in f.effects],
            notes=notes,
        )

    def buffers(self, buffers: _Buffers, numbers: dict[str, int]) -> dict[str, int]:
        out: dict[str, int] = {}
        merged: dict[str, str] = {}  # root -> representative of its class

        def lead(root: str) -> str:
            while merged.get(root, root) != root:
                root = merged[root]
            return root

        firsts: dict[str, str] = {}
        arrays = [v for v, _ in bindings(self.function) if is_reference(v.type)]
        for v in arrays:
            root = lead(buffers.find(v.name))
            first = lead(firsts.setdefault(self.variables[v.name], root))
            merged[root] = first
        for v in arrays:
            root = lead(buffers.find(v.name))
            out[self.variables[v.name]] = numbers.setdefault(root, len(numbers))
        return out

    # ---- operands

    def target(self, v: Var) -> Var:
        name = self.variables[v.name]
        return replace(v, name=name, user=v.user if v.user == name else "")

    def read(self, operand: Operand) -> Operand:
        if isinstance(operand, Const):
            return operand
        v = self.target(operand)
        if v.user and self.current.get(v.user) != operand.name:
            return replace(v, user="")
        return v

    def bound(self, v: Var, stmt: Stmt) -> None:
        """Record that the user's name of `v` now refers to `v`."""
        origin = stmt.origin
        own = origin is None or (not origin.frame and not origin.sweep)
        if v.user and (own or v.name in self.function.notes.get("named_by_user", ())):
            self.current[v.user] = v.name

    # ---- statements

    def block(self, block: Block) -> Block:
        out: Block = []
        for stmt in block:
            self.stmt(stmt, out)
        return out

    def stmt(self, stmt: Stmt, out: Block) -> None:
        if isinstance(stmt, Assign):
            self.assign(stmt, out)
        elif isinstance(stmt, If):
            self.branch(stmt, out)
        elif isinstance(stmt, (For, While)):
            self.loop(stmt, out)
        else:
            (new,) = substitute([stmt], self.read)
            if isinstance(new, (Call, Draw)):
                for v in new.targets:
                    self.bound(v, stmt)
                new.targets = [self.target(v) for v in new.targets]
            if isinstance(new, Call):
                self.pass_in_place(new, out)
            out.append(new)

    def pass_in_place(self, call: Call, out: Block) -> None:
        """Pass each argument that a call overwrites in the variable of its new version."""
        args = list(call.args)
        for target, arg in call.inout:
            if args[arg] != call.targets[target]:
                out.append(Assign(call.targets[target], Op("alias", (args[arg],)), call.origin))
                args[arg] = call.targets[target]
        call.args = tuple(args)

    def assign(self, stmt: Assign, out: Block) -> None:
        op, origin = stmt.op, stmt.origin
        args = tuple(self.read(a) for a in op.args)
        self.bound(stmt.target, stmt)
        target = self.target(stmt.target)
        if op.name not in UPDATES:
            if op.name == "alias" and args[0] == target:
                return
            out.append(Assign(target, Op(op.name, args, op.attrs), origin))
            return
        if args[0] != target:
            out.append(Assign(target, Op("alias", args[:1]), origin))
        if op.name in ("update", "update_add"):
            add = op.name == "update_add"
            path = op.attrs["path"]
            out.append(Store(target, args[1], path, args[2:], add, origin))
        elif op.name == "list_append":
            out.append(Push(target, args[1], origin))
        elif op.name == "list_set":
            step = (("index", (("int", 2),)),)
            out.append(Store(target, args[2], step, (args[1],), False, origin))
        else:
            assert isinstance(target.type, type(args[0].type))
            dropped = Var(self.names.fresh("dropped"), target.type.elem)  # type: ignore[union-attr]
            out.append(Assign(dropped, Op("pop", (target,)), origin))

    def moves(self, moves: list[tuple[Var, Operand]], stmt: Stmt, out: Block) -> None:
        """Emit a parallel assignment."""
        pending = [(self.target(t), self.read(v)) for t, v in moves]
        pending = [(t, v) for t, v in pending if t != v]
        for t, v in sequential(pending, self.spare):
            op = Op("alias", (v,))
            if isinstance(v, Var) and v.name in self.undefined:
                op = Op("undef", (), {"type": t.type})
            out.append(Assign(t, op, stmt.origin))

    def spare(self, v: Var) -> Var:
        """A fresh temporary of the type of `v`."""
        return Var(self.names.fresh(stem(v.name)), v.type)

    def branch(self, stmt: If, out: Block) -> None:
        cond = self.read(stmt.cond)
        before = dict(self.current)
        then = self.block(stmt.then)
        self.moves([(p.target, p.then_value) for p in self.live_phis(stmt)], stmt, then)
        self.current = dict(before)
        orelse = self.block(stmt.orelse)
        self.moves([(p.target, p.else_value) for p in self.live_phis(stmt)], stmt, orelse)
        self.current = before
        for p in stmt.phis:
            self.bound(p.target, stmt)
        out.append(replace(stmt, cond=cond, then=then, orelse=orelse, phis=[]))

    def live_phis(self, stmt: If) -> list[Phi]:
        return [p for p in stmt.phis if p.target.name in self.used]

    def live_carried(self, stmt: For | While) -> list[Carried]:
        return [c for c in stmt.carried if c.phi.name in self.used or c.result.name in self.used]

    def loop(self, stmt: For | While, out: Block) -> None:
        carried = self.live_carried(stmt)
        counter = None
        if stmt.trips is not None and stmt.trips.name in self.used:
            counter = self.target(stmt.trips)
            self.counters.add(stmt.trips.name)
            out.append(Assign(counter, Op("alias", (const(0),)), None))
        bounds: dict[str, Any] = {}
        if isinstance(stmt, For):
            bounds = {
                "start": self.read(stmt.start),
                "stop": self.read(stmt.stop),
                "step": self.read(stmt.step),
                "count": None if stmt.count is None else self.read(stmt.count),
                "index": self.target(stmt.index),
            }
        moved = {self.target(c.phi) for c in carried if self.target(c.phi) != self.read(c.init)}
        for key, bound in bounds.items():
            if key != "index" and bound in moved:
                # The bounds are read after the carried variables have been initialised.
                bounds[key] = self.spare(bound)
                out.append(Assign(bounds[key], Op("alias", (bound,)), stmt.origin))
        self.moves([(c.phi, c.init) for c in carried], stmt, out)
        before = dict(self.current)
        if isinstance(stmt, For):
            self.bound(stmt.index, stmt)
        for c in stmt.carried:
            self.bound(c.phi, stmt)
        if isinstance(stmt, While):
            bounds["test"] = self.block(stmt.test)
            bounds["cond"] = self.read(stmt.cond)
        body = self.block(stmt.body)
        until = None if stmt.until is None else self.read(stmt.until)
        self.moves([(c.phi, c.next) for c in carried], stmt, body)
        if counter is not None:
            step = Op("add", (counter, const(1)))
            body.append(Assign(counter, step, None))
        self.current = before
        for c in stmt.carried:
            self.bound(c.result, stmt)
        new = replace(stmt, body=body, until=until, carried=[], trips=None, **bounds)
        out.append(new)


def sequential(moves: list[Move], spare: Callable[[Var], Var]) -> list[Move]:
    """Sequentialise a parallel assignment; cycles are broken by a temporary (`spare`)."""
    out: list[Move] = []
    moves = list(moves)
    while moves:
        for i, (target, _) in enumerate(moves):
            if not any(v == target for j, (_, v) in enumerate(moves) if j != i):
                out.append(moves.pop(i))
                break
        else:
            target = moves[0][0]
            temporary = spare(target)
            out.append((temporary, target))
            moves = [(t, temporary if v == target else v) for t, v in moves]
    return out
