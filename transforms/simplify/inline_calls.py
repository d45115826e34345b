"""Inline the calls of a module, in value form.

It runs after the last differentiation, before simplification and the choice of saved values, so
that they see one function.  A function that calls itself stays one.

The facts about sizes come along.  A callee's equalities become equalities of the caller, in terms
of the names of the clone, and the caller's own symbols for the sizes of a result are defined by
the value that the callee returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.builder import NameSupply
from ..ir.clone import clone_block
from ..ir.nodes import (
    Array,
    Block,
    Call,
    Function,
    ListOf,
    Module,
    Operand,
    Origin,
    Scalar,
    Site,
    Stmt,
    Type,
    Var,
    calls_in,
    inner_targets_of,
    map_blocks,
    substitute,
    targets_of,
    walk,
)
from ..ir.quote import file_name
from ..ir.record import replace
from ..ir.scopes import names_of
from ..ir.symbolic_dims import Dim, Facts
from .accumulate_in_place import accumulate_in_place


def inline_calls(
    module: Module, facts: Facts, only: Callable[[Function], bool] = lambda f: True
) -> Module:
    """The module with the calls of the functions `only` inlined, but for those that call
    themselves.  `facts` are those of the entry; the equalities of the callees are added to them."""
    inliner = _Inliner(module, only)
    main = inliner.inlined(module.main, facts)
    others = {name: inliner.function(name) for name in inliner.kept if name != main.name}
    return Module({main.name: main, **others}, main.name)


class _Inliner:
    def __init__(self, module: Module, only: Callable[[Function], bool]) -> None:
        self.functions = module.functions
        self.kept = [
            name
            for name, f in module.functions.items()
            if _calls_itself(name, module) or not only(f)
        ]
        self.done: dict[str, Function] = {}
        self.symbols: dict[str, set[str]] = {}

    def free_symbols(self, f: Function) -> set[str]:
        """The size symbols in a function that are named after none of its values: those of
        values of the other half of a pair."""
        if f.name not in self.symbols:
            bound = [*f.params, *(v for s in walk(f.body) for v in _bound(s))]
            symbols = {s for v in bound for d in _dims(v.type) for s in d.symbols}
            names = {v.name for v in bound}
            self.symbols[f.name] = {s for s in symbols if s.partition(".")[0] not in names}
        return self.symbols[f.name]

    def function(self, name: str) -> Function:
        """A function with the calls in it inlined."""
        if name not in self.done:
            f = self.functions[name]
            facts = f.notes["facts"].copy()
            self.done[name] = replace(self.inlined(f, facts), notes={**f.notes, "facts": facts})
        return self.done[name]

    def inlined(self, f: Function, facts: Facts) -> Function:
        if all(name in self.kept for name in calls_in(f.body)):
            return f
        caller = _Caller(self, NameSupply(names_of(f)), facts, f.source)
        body = substitute(caller.block(f.body), caller.read)
        results = [caller.read(x) for x in f.results]
        if caller.given_names:
            named = {**caller.given_names, **f.notes.get("given_names", {})}
            f = replace(f, notes={**f.notes, "given_names": named})
        effects = [(p, caller.read(v)) for p, v in f.effects]
        made = replace(f, body=body, results=results, effects=effects)
        return accumulate_in_place(made, caller.returned)


class _Caller:
    """One function while calls are inlined into it.  `renamed` are the results of calls."""

    def __init__(self, inliner: _Inliner, names: NameSupply, facts: Facts, source: Any) -> None:
        self.inliner, self.names, self.facts, self.source = inliner, names, facts, source
        self.renamed: dict[str, Operand] = {}
        # By name of a value: the user's variable that a call's result is assigned to.
        self.given_names: dict[str, str] = {}
        self.returned: set[str] = set()  # the arrays that inlined calls return

    def read(self, x: Operand) -> Operand:
        while isinstance(x, Var) and x.name in self.renamed:
            x = self.renamed[x.name]
        return x

    def block(self, block: Block) -> Block:
        out: Block = []
        for stmt in block:
            if isinstance(stmt, Call) and stmt.function not in self.inliner.kept:
                out += self.call(stmt)
            else:
                out.append(map_blocks(stmt, self.block))
        return out

    def call(self, stmt: Call) -> Block:
        f = self.inliner.function(stmt.function)
        args = [self.read(x) for x in stmt.args]
        inside: dict[str, Operand] = {p.name: x for p, x in zip(f.params, args, strict=True)}
        symbols = {
            s: Dim.of(".".join((self.names.fresh(name), *axis)))
            for s in sorted(self.inliner.free_symbols(f))
            for name, *axis in [s.split(".")]
        }
        body = clone_block(f.body, self.names, inside, symbols=symbols)
        for s in walk(body):
            s.origin = _origin_at(s.origin, stmt.origin, f, self.source)
        self.learn(f, inside)
        for target, result in zip(stmt.targets, f.results, strict=True):
            value = inside[result.name] if isinstance(result, Var) else result
            self.renamed[target.name] = value
            if target.user and isinstance(value, Var) and value not in args:
                self.given_names[value.name] = target.user
            if isinstance(value, Var) and isinstance(value.type, Array):
                self.returned.add(value.name)
            for symbol, dim in _own_symbols(target, value):
                self.facts.define(symbol, dim)
        return body

    def learn(self, f: Function, inside: dict[str, Operand]) -> None:
        """Adds the callee's equalities, in terms of the clone."""
        known: Facts = f.notes["facts"]
        if not known.equals:
            return
        bound = {v.name for s in walk(f.body) for v in _bound(s)}
        symbols: dict[str, Dim] = {}
        for name, x in inside.items():
            if name in bound:
                assert isinstance(x, Var)
                symbols[name] = Dim.of(x.name)
                symbols |= {f"{name}.{k}": Dim.of(f"{x.name}.{k}") for k in range(_rank(x))}
            elif isinstance(x.type, Scalar):
                if x.type.value is not None:
                    symbols[name] = x.type.value
            elif isinstance(x.type, Array):
                symbols |= {f"{name}.{k}": dim for k, dim in enumerate(x.type.shape)}
        for symbol, dim in known.equals.items():
            new = symbols.get(symbol)
            # The equalities of parameters are the caller's already: it relies on them.
            if new is not None and new.symbol and symbol.partition(".")[0] in bound:
                if dim.symbols <= symbols.keys():
                    self.facts.define(new.symbol, dim.substitute(symbols))


def _bound(stmt: Stmt) -> list[Var]:
    return [*targets_of(stmt), *inner_targets_of(stmt)]


def _dims(type_: Type) -> tuple[Dim, ...]:
    """The dims in a type."""
    if isinstance(type_, ListOf):
        return _dims(type_.elem)
    value = getattr(type_, "value", None)
    return type_.shape if value is None else (value,)


def _own_symbols(target: Var, value: Operand) -> list[tuple[str, Dim]]:
    """The caller's symbols for the sizes of a result, or for its value, and what they are."""
    if isinstance(target.type, Scalar):
        own, known = target.type.value, getattr(value.type, "value", None)
        return [(target.name, known)] if own == Dim.of(target.name) and known is not None else []
    pairs: list[tuple[str, Dim]] = []
    for axis, dim in enumerate(getattr(value.type, "shape", ())):
        pairs.append((f"{target.name}.{axis}", dim))
    return pairs


def _rank(x: Operand) -> int:
    return len(getattr(x.type, "shape", ()))


def _origin_at(
    inner: Origin | None, call: Origin | None, f: Function, source: Any
) -> Origin | None:
    """The origin of a statement of a callee, as a part of the statement that calls it, which stands
    in the text `source`."""
    if inner is None or call is None:
        return inner
    site = inner.site
    if f.notes.get("library"):
        site = call.site or Site(source, call.stmt, call.stmt)
    return replace(
        inner,
        site=site,
        requested=inner.requested or call.requested,
        frame=(*call.frame, _frame_of(f), *inner.frame),
        calls=(*call.calls, call.span, *inner.calls),
        sweep=max(inner.sweep, call.sweep),
    )


def _frame_of(f: Function) -> str:
    node = f.source.node
    return f"{file_name(f.source.file)}:{node.line} {node.name}"


def _calls_itself(name: str, module: Module) -> bool:
    seen: set[str] = set()
    todo = list(calls_in(module.functions[name].body))
    while todo:
        callee = todo.pop()
        if callee not in seen:
            seen.add(callee)
            todo += calls_in(module.functions[callee].body)
    return name in seen
