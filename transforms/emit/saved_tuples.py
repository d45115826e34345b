"""What `f_fwd` saves for `f_rev`, as one value: `out, saved = f_fwd(x)`, and in `f_rev` first
`d, tanh_c = saved`.

Readable text only.  The caller keeps the tuple as one value, in a loop on one list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.builder import NameSupply
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Call,
    Function,
    Module,
    Op,
    Operand,
    Pack,
    Save,
    Slot,
    Stmt,
    Var,
    map_blocks,
    operands_of,
    substitute,
    walk,
)
from ..ir.op_registry import RULES
from ..ir.record import replace
from ..ir.scopes import names_of
from .callee_interfaces import is_rev
from .temporary_names import name_of_operation
from .user_text import UserText

_Source = tuple[int, int]  # the id of a call, and the position of one of its results


def pack_saved_values(module: Module) -> Module:
    """The module whose calls save one value each."""
    for name in [*module.functions]:
        f = module.functions[name]
        returned = f.notes.get("returned")
        module = _named(module, name)
        if returned is not None and len(f.results) > returned + 1:
            module = _packed(module, name)
    return module


def _named(module: Module, name: str) -> Module:
    """The module in which the values of a function that its sweeps read have names, there and in
    the sweeps."""
    f = module.functions[name]
    sweeps = _sweeps_of(module, name)
    if not sweeps:
        return module
    returned = f.notes.get("returned", len(f.results))
    taken = {*names_of(f), *(v.user for v in _bound(f))}
    if f.source is not None:
        taken |= UserText(f.source).locals
    supply = NameSupply(taken)
    made = {v.name: s for s in walk(f.body) if isinstance(s, (Assign, Call)) for v in _targets(s)}
    names: dict[str, str] = {}
    for x in f.results[returned:]:
        if isinstance(x, Var) and not x.user and x.name in made:
            names[x.name] = supply.fresh(_name(made[x.name]))
    outs = {
        x.name: supply.fresh("out")
        for x in f.results[:returned]
        if isinstance(x, Var) and not x.user
    }
    functions = {**module.functions, name: _with_users(f, names)}
    for rev in sweeps:
        own = {p.name: names[q.name] for p, q in _matches(f, rev) if q.name in names}
        places = rev.notes["saved_as"]
        own |= {p.name: outs[places[p.name]] for p in rev.params if places.get(p.name) in outs}
        functions[rev.name] = _with_own_names(_with_users(rev, own))
    return Module(functions, module.entry)


def _with_own_names(rev: Function) -> Function:
    """The sweep whose parameters are called what they are for the user."""
    taken = NameSupply({*names_of(rev)})
    names = {p.name: p.user for p in rev.params if p.user and p.user != p.name}
    fresh = {name: user if taken.fresh(user) == user else "" for name, user in names.items()}
    new = {p.name: replace(p, name=fresh[p.name]) for p in rev.params if fresh.get(p.name)}

    def read(x: Operand) -> Operand:
        return new.get(x.name, x) if isinstance(x, Var) else x

    places = rev.notes["saved_as"]
    return replace(
        rev,
        params=[new.get(p.name, p) for p in rev.params],
        body=substitute(rev.body, read),
        results=[read(r) for r in rev.results],
        notes={
            **rev.notes,
            "saved_as": {(new[p].name if p in new else p): q for p, q in places.items()},
        },
    )


def _name(stmt: Stmt) -> str:
    if isinstance(stmt, Call):
        user = stmt.targets[0].user if stmt.targets else ""
        return f"{user}_saved" if user else "saved"
    return name_of_operation(stmt) or "kept"


def _bound(f: Function) -> list[Var]:
    return [*f.params, *(v for s in walk(f.body) for v in _targets(s))]


def _targets(s: Stmt) -> Sequence[Var]:
    return [s.target] if isinstance(s, Assign) else getattr(s, "targets", [])


def _with_users(f: Function, names: dict[str, str]) -> Function:
    """The function with names for values that have none."""
    if not names:
        return f

    def new(x: Any) -> Any:
        return replace(x, user=names[x.name]) if isinstance(x, Var) and x.name in names else x

    def stmt(s: Stmt) -> Stmt:
        if isinstance(s, Assign):
            return replace(s, target=new(s.target))
        return replace(s, targets=[*map(new, s.targets)]) if isinstance(s, Call) else s

    return replace(
        f,
        params=[*map(new, f.params)],
        body=[stmt(s) for s in substitute(f.body, new)],
        results=[*map(new, f.results)],
    )


def _sweeps_of(module: Module, name: str) -> list[Function]:
    return [f for f in module.functions.values() if is_rev(f) and f.notes["forward_half"] == name]


def _matches(fwd: Function, rev: Function) -> list[tuple[Var, Var]]:
    """The parameters of a sweep that are saved values, and these."""
    returned = fwd.notes.get("returned", len(fwd.results))
    saved = {x.name: x for x in fwd.results[returned:] if isinstance(x, Var)}
    places: dict[str, str] = rev.notes["saved_as"]
    pairs = [(p, saved.get(places.get(p.name, ""))) for p in rev.params]
    return [(p, q) for p, q in pairs if q is not None]


# ---------------------------------------------------------------- one value


def _packed(module: Module, name: str) -> Module:
    """The module in which a function returns its saved values as a tuple, if all its callers only
    hand them on to its sweeps."""
    fwd = module.functions[name]
    returned = fwd.notes["returned"]
    values = fwd.results[returned:]
    sweeps = _sweeps_of(module, name)
    if not sweeps or not all(isinstance(x, Var) for x in values):
        return module
    orders: dict[str, dict[int, int]] = {}  # by sweep: positions of parameters, of saved values
    for rev in sweeps:
        places = {p.name: i for i, p in enumerate(rev.params)}
        index = {x.name: i for i, x in enumerate(values) if isinstance(x, Var)}
        orders[rev.name] = {places[p.name]: index[q.name] for p, q in _matches(fwd, rev)}
    if not all(orders.values()):
        return module
    type_ = Pack(tuple(x.type for x in values))
    functions = dict(module.functions)
    for caller in module.functions.values():
        made = _Caller(caller, fwd, orders, type_).run()
        if made is None:
            return module
        functions[caller.name] = made
    functions[name] = _with_pack(functions[name], type_)
    for rev in sweeps:
        functions[rev.name] = _with_unpack(functions[rev.name], orders[rev.name], type_, values)
    return Module(functions, module.entry)


def _with_pack(fwd: Function, type_: Pack) -> Function:
    returned = fwd.notes["returned"]
    names = NameSupply(names_of(fwd))
    body = list(fwd.body)
    own = {
        *(p.name for p in fwd.params),
        *(x.name for x in fwd.results[:returned] if isinstance(x, Var)),
    }
    fresh = {s.target.name for s in fwd.body if isinstance(s, Assign) and _is_fresh(s.op)} | {
        v.name for s in fwd.body if isinstance(s, Call) for v in s.targets
    }
    parts: list[Operand] = []
    for x in fwd.results[returned:]:
        assert isinstance(x, Var)
        if isinstance(x.type, Array) and (x.name in own or x.name not in fresh):
            # A view, or a value that the caller gets, too, and may write into.
            copy = replace(x, name=names.fresh(x.name), user="")
            body.append(Assign(copy, Op("copy", (x,))))
            x = copy
        parts.append(x)
    saved = Var(names.fresh("saved"), type_)
    body.append(Assign(saved, Op("tuple", tuple(parts))))
    return replace(fwd, body=body, results=[*fwd.results[:returned], saved])


def _is_fresh(op: Op) -> bool:
    """Whether the result of an operation is memory of its own."""
    return op.name in RULES and RULES[op.name].kind in ("elementwise", "reduce", "contract")


def _with_unpack(
    rev: Function, order: dict[int, int], type_: Pack, values: Sequence[Operand]
) -> Function:
    names = NameSupply(names_of(rev))
    saved = Var(names.fresh("saved"), type_)
    own = [p for i, p in enumerate(rev.params) if i not in order]
    by_value = {k: rev.params[i] for i, k in order.items()}
    origin = rev.body[0].origin if rev.body else None
    first: Block = []
    for k, value in enumerate(values):
        target = by_value.get(k) or Var(names.fresh("part"), value.type, "_")
        first.append(Assign(target, Op("tuple_part", (saved,), {"position": k}), origin))
    return replace(rev, params=[*own, saved], body=[*first, *rev.body])


class _Caller:
    """A function whose calls of `f_fwd` and `f_rev` hand on one value; None if something else reads
    a saved value."""

    def __init__(
        self, caller: Function, fwd: Function, orders: dict[str, dict[int, int]], type_: Pack
    ) -> None:
        self.caller, self.fwd, self.orders, self.type = caller, fwd, orders, type_
        self.names = NameSupply(names_of(caller))
        self.returned = fwd.notes["returned"]
        self.calls: dict[int, Call] = {}
        self.sources: dict[str, _Source] = {}  # by name of a value: the result that it is
        saves: dict[str, Save] = {}
        for s in walk(caller.body):
            if isinstance(s, Call) and s.function == fwd.name:
                self.calls[id(s)] = s
                for k, v in enumerate(s.targets[self.returned :]):
                    self.sources[v.name] = id(s), k
            elif isinstance(s, Save):
                saves[s.slot.name] = s
        self.saved: dict[str, _Source] = {}  # by slot
        for slot, s in saves.items():
            if isinstance(s.value, Var) and s.value.name in self.sources:
                self.saved[slot] = self.sources[s.value.name]
        self.restored: dict[str, str] = {}  # by restored value: its slot
        for s in walk(caller.body):
            if isinstance(s, Assign) and s.op.name == "restore":
                slot = s.op.attrs["slot"].name
                if slot in self.saved:
                    self.sources[s.target.name] = self.saved[slot]
                    self.restored[s.target.name] = slot
        self.whole: dict[int, Var] = {}  # by call: the tuple
        self.slots: dict[int, Slot] = {}
        self.again: dict[tuple[int, int], Var] = {}  # by call and block of the restores
        self.blocks: dict[str, int] = {}

    def run(self) -> Function | None:
        if not self.calls:
            return self.caller
        results = [x for x in self.caller.results if isinstance(x, Var)]
        if any(x.name in self.sources for x in results):
            return None
        for s in walk(self.caller.body):
            if not self.only_hands_on(s):
                return None
        for at, call in self.calls.items():
            user = call.targets[0].user if len(call.targets) > self.returned else ""
            hint = f"{user}_saved" if user and len(self.calls) > 1 else "saved"
            self.whole[at] = Var(self.names.fresh(hint), self.type, hint)
            self.slots[at] = Slot(self.names.fresh("saved"), self.type)
        return replace(self.caller, body=self.block(self.caller.body))

    def only_hands_on(self, s: Stmt) -> bool:
        if isinstance(s, Save):
            return True
        if isinstance(s, Call) and s.function in self.orders:
            order = self.orders[s.function]
            found = set()
            for i, x in enumerate(s.args):
                source = self.sources.get(x.name) if isinstance(x, Var) else None
                if i in order:
                    if source is None or source[1] != order[i]:
                        return False
                    restored = isinstance(x, Var) and x.name in self.restored
                    found.add((source[0], restored))
                elif source is not None:
                    return False
            return len(found) == 1
        return not any(isinstance(x, Var) and x.name in self.sources for x in operands_of(s))

    def block(self, block: Block) -> Block:
        out: Block = []
        done: set[int] = set()
        for s in block:
            s_id = id(s)
            s = map_blocks(s, self.block)
            if s_id in self.calls:
                call = self.calls[s_id]
                targets = [*call.targets[: self.returned], self.whole[s_id]]
                out.append(replace(call, targets=targets, depends=None))
                if any(source == s_id for source, _ in self.saved.values()):
                    out.append(Save(self.slots[s_id], self.whole[s_id], call.origin))
            elif isinstance(s, Save) and s.slot.name in self.saved:
                continue
            elif isinstance(s, Assign) and s.target.name in self.restored:
                source, _ = self.sources[s.target.name]
                if source not in done:
                    done.add(source)
                    new = replace(self.whole[source], name=self.names.fresh("saved"))
                    self.again[source, 0] = new
                    out.append(
                        replace(s, target=new, op=Op("restore", (), {"slot": self.slots[source]}))
                    )
            elif isinstance(s, Call) and s.function in self.orders:
                out.append(self.sweep(s))
            else:
                out.append(s)
        return out

    def sweep(self, s: Call) -> Call:
        order = self.orders[s.function]
        first = s.args[next(iter(order))]
        assert isinstance(first, Var)
        source, _ = self.sources[first.name]
        saved = self.again[source, 0] if first.name in self.restored else self.whole[source]
        args = [x for i, x in enumerate(s.args) if i not in order]
        return replace(s, args=(*args, saved), depends=None)
