"""Calls that stay calls: functions that are specialised apart from their callers.

A function whose recursion ends at run time is specialised once per *signature*: the pattern
of its arguments, with the types of their numbers and arrays and the identity of everything
static.  Nothing is known of sizes there, so nothing is guarded.

What such a function returns is found by iteration.  At first a call of a function that is
still being specialised counts as a path that does not come out, so that its base case tells
what it returns; then it is specialised again under that assumption, until nothing changes.
The same holds for what it *reaches* by itself, globals and names of enclosing functions:
numbers and arrays among these are further parameters, which every caller reaches in the same
way and passes on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from ..bufferize.coalesce import HELPERS, RESERVED
from ..ir.builder import OPEN, NameSupply, resolve_dims
from ..ir.fixpoint import IterationLimit
from ..ir.nodes import (
    Array,
    Call,
    Draw,
    Function,
    Module,
    Operand,
    Print,
    Raise,
    Record,
    Scalar,
    Type,
    Var,
    calls_in,
    substitute,
    walk,
)
from ..ir.record import record
from ..ir.symbolic_dims import Dim
from ..syntax import core
from .heap.arrays import Arrays
from .outside.effects import Effects
from .outside.objects import Objects
from .patterns import Leaf, Packer, Pattern, leaves_of, retyped, unpack
from .places import NeedUnroll, Places
from .session import Part
from .shared import Callee, NeedStaticArgument, Outcome, Outlined, last_return
from .values import Cell, Ended, Num, Ref, Value

# Functions being specialised at a time: more means that the signature changes with each call.
NESTED = 20


ROUNDS = 12


@record(eq=False)
class Outlines(Part):
    """Functions whose calls stay calls."""

    places: Places
    arrays: Arrays
    objects: Objects
    effects: Effects

    # ---- calls

    def call_outlined(self, callee: Callee, env: dict[str, Value], node: core.Node) -> Value:
        arguments = tuple(env.values())
        rounds = IterationLimit("specialise: arguments of a call")
        while True:
            rounds.count()
            packer = self._arguments(callee, frozenset(), node)
            general = (callee.key, packer.pack(arguments))
            static = frozenset(self.shared.static.get(general, ()))
            packer = self._arguments(callee, static, node)
            pattern = packer.pack(arguments)
            try:
                outlined = self._outlined(callee, pattern, tuple(env), node)
                break
            except NeedStaticArgument as need:
                kind, index = need.path[0]
                if kind != "leaf":
                    raise
                assert index not in static, need
                self.shared.static.setdefault(general, set()).add(index)
        self.effects.refuse_changed(outlined.looked_up, callee.name, node)
        self.objects.note_looked_up(outlined.looked_up)
        outcome = outlined.outcome
        values = [packer.leaves[leaf.index] for leaf in leaves_of(pattern)]
        values += [v for reached in outcome.reached for v in reached.reach(self.evaluator)]
        operands = tuple(self.arrays.sym(v).operand for v in values)
        if outcome.result is None:
            outlined.requested = True
            if outlined not in self.shared.running:  # it always fails
                self.b.block.append(Call([], outlined.name, operands, origin=self.b.origin))
            raise Ended
        return self._results(outlined, values, operands)

    def _arguments(self, callee: Callee, static: frozenset[int], node: core.Node) -> Packer:
        def known(index: int, number: Num) -> bool:
            if index not in static:
                return False
            if number.known is None:
                self.places.demand_static(number, node, f"an argument of {callee.name}")
            return True

        def refuse(why: str) -> Any:
            text = f"{why} cannot be passed to {callee.name}, whose recursion ends at run time"
            return self.places.refuse(node, text, "pass numbers, arrays, or tuples of them")

        return Packer(self.evaluator, known, refuse)

    def _results(
        self, outlined: Outlined, values: list[Value], operands: tuple[Operand, ...]
    ) -> Value:
        """Emits the call and gives its results their structure."""
        outcome = outlined.outcome
        assert outcome.result is not None
        sizes = _sizes(operands)
        targets: dict[int, Var] = {}
        for leaf in leaves_of(outcome.result):
            name = self.b.names.fresh(self.b.hint)
            type_ = _resized(leaf.type, lambda dim: _in_terms(dim, sizes))
            targets[leaf.index] = Var(name, resolve_dims(type_, name))
        call = Call(list(targets.values()), outlined.name, operands, origin=self.b.origin)
        self.b.block.append(call)
        made: dict[int, Value] = {}

        def value(leaf: Leaf, _: str) -> Value:
            var = targets[leaf.index]
            if leaf.index not in made:
                made[leaf.index] = (
                    Num(var) if isinstance(var.type, Scalar) else self.arrays.new_array(var)
                )
                if isinstance(made[leaf.index], Ref):
                    made[leaf.index].cell.tensor = leaf.tensor
            return made[leaf.index]

        result = unpack(outcome.result, self.evaluator, value, self.b.hint)
        for pair in outcome.shared:
            cells = {(made[i] if i >= 0 else values[-1 - i]).cell for i in pair}
            if len(cells) == 2:
                self.state.pairs.add(frozenset(cells))
        return result

    # ---- specialising the callee

    def _outlined(
        self, callee: Callee, pattern: Pattern, names: tuple[str, ...], node: core.Node
    ) -> Outlined:
        shared = self.shared
        key = (callee.key, pattern)
        found = shared.find(key)
        if found is not None:
            return found
        if len(shared.running) >= NESTED:
            self.places.refuse(
                node,
                f"each call of {callee.name} is given another kind of argument",
                "call it with numbers and arrays of one type, rank and structure",
            )
        shared.count += 1
        name = f"{callee.name}#{shared.count}"
        outlined = Outlined(name, pattern, shared.assumed.get(key, Outcome()))
        mark = len(shared.made)
        shared.running.append(outlined)
        try:
            for _ in range(ROUNDS):
                # What was made in the round before assumed too little of this function.
                shared.made[mark:] = [(key, outlined)]
                outlined.requested = False
                outlined.function, outcome = self._round(callee, outlined, names)
                if outcome == outlined.outcome:
                    break
                outlined.outcome = outcome
            else:
                self.places.refuse(
                    node,
                    f"the type of what {callee.name} returns does not settle",
                    "let it return one type on every path",
                )
        except BaseException:
            del shared.made[mark:]
            raise
        finally:
            shared.running.pop()
        shared.assumed[key] = outlined.outcome
        waiting = any(other.requested for other in shared.running)
        if outcome.result is None and outlined.requested and not waiting:
            self.places.refuse(
                node,
                f"the recursion of {callee.name} never returns",
                "give it a case in which it does not call itself",
            )
        return outlined

    def _round(
        self, callee: Callee, outlined: Outlined, names: tuple[str, ...]
    ) -> tuple[Function, Outcome]:
        """Specialises the callee under the assumptions at hand, and says what comes out."""
        assert self.session.nested is not None
        inner = self.session.nested(callee)
        variables: list[Var] = []

        def leaf(leaf: Leaf, name: str) -> Value:
            var, value = inner.frames.receive(leaf, name, (("leaf", leaf.index),))
            variables.append(var)
            return value

        values = unpack(outlined.args, inner, leaf, "", (("leaf", 0),), names)
        inner.session.state.env.update(zip(names, values))
        node = callee.source.node
        result: Pattern | None = None
        packer = Packer(
            inner, lambda _, n: n.known is not None, inner.outline.refuse_result, result=True
        )
        operands: list[Operand] = []
        try:
            value = inner.arrays.usable(inner.frames.run_body(inner.places.frame), node)
            with inner.session.b.at(inner.places.origin(last_return(node))):
                result = packer.pack(value)
                leaves = [packer.leaves[leaf.index] for leaf in leaves_of(result)]
                operands = [
                    inner.arrays.read(v) if isinstance(v, Ref) else v.operand for v in leaves
                ]
        except Ended:
            result = None
        except NeedUnroll as error:
            raise error.refusal from None
        # The order of the parameters is that of the round before, as far as it goes.
        before = [r for r in outlined.outcome.reached if r in inner.objects.reached]
        reached = tuple(dict.fromkeys([*before, *inner.objects.reached]))
        variables += [v for r in reached for v in inner.objects.reached[r]]
        shared: frozenset[tuple[int, int]] = frozenset()
        if result is not None:
            positions = {v.name: i for i, v in enumerate(variables)}
            terms = _positions(variables)
            types = {
                leaf.index: _resized(
                    operand.type, lambda dim: _in_terms(inner.session.b.facts.canonical(dim), terms)
                )
                for leaf, operand in zip(leaves_of(result), operands)
            }
            result = retyped(result, lambda index: types[index])
            shared = inner.outline.sharing(leaves_of(result), packer, positions)
        outlined.looked_up = inner.objects.looked_up
        notes = {"callee": True, "facts": inner.session.b.facts}
        function = Function(
            outlined.name, variables, inner.session.b.block, operands, [], callee.source, notes
        )
        return function, Outcome(result, reached, shared)

    def refuse_result(self, why: str) -> Any:
        name = getattr(self.places.frame.node, "name", "a function")
        text = f"{why} cannot be returned by {name}, whose recursion ends at run time"
        return self.places.refuse(
            last_return(self.places.frame.node), text, "return numbers or arrays"
        )

    def sharing(
        self, leaves: Iterable[Leaf], packer: Packer, positions: dict[str, int]
    ) -> frozenset[tuple[int, int]]:
        """Which results may share memory with parameters or with one another."""
        near: dict[int, set[Cell]] = {}
        for leaf in leaves:
            ref = packer.leaves[leaf.index]
            if isinstance(ref, Ref):
                near[leaf.index] = self._near(ref.cell)
        found: set[tuple[int, int]] = set()
        for i, cells in near.items():
            params = [c.param.name for c in cells if c.param is not None]
            found |= {(i, -1 - positions[name]) for name in params}
            found |= {(i, j) for j, others in near.items() if i < j and cells & others}
        return frozenset(found)

    def _near(self, cell: Cell) -> set[Cell]:
        found, todo = {cell}, [cell]
        while todo:
            cell = todo.pop()
            more = {c for pair in self.state.pairs if cell in pair for c in pair} - found
            found |= more
            todo += more
        return found

    # ---- the module

    def module(self, main: Function) -> Module:
        """The function and those it calls, under names that nothing else in them has."""
        made = {o.name: o.function for _, o in self.shared.made if o.function is not None}
        known = {**self.shared.derived, **made, main.name: main}
        module = Module(known, main.name).map(lambda f, _: f)
        functions = list(module.functions.values())
        params = [p.name for f in functions for p in f.params]
        names = NameSupply([main.name, "rt", *RESERVED, *HELPERS, *params])
        renamed = {f.name: names.fresh(re.sub(r"#\d+", "", f.name)) for f in functions[1:]}
        loud = _loud(functions)
        for f in functions:
            f.name = renamed.get(f.name, f.name)
            # A function and its products may share statements.
            f.body = substitute(f.body, lambda x: x)
            for stmt in walk(f.body):
                if isinstance(stmt, Call):
                    stmt.keep = stmt.function in loud
                    stmt.function = renamed[stmt.function]
        return Module({f.name: f for f in functions}, main.name)


def _loud(functions: list[Function]) -> set[str]:
    """The functions that may print, raise or draw random numbers."""
    kinds = (Print, Raise, Draw)
    loud = {f.name for f in functions if any(isinstance(s, kinds) for s in walk(f.body))}
    while True:
        more = {f.name for f in functions if loud & set(calls_in(f.body))} | loud
        if more == loud:
            return loud
        loud = more


def _positions(params: list[Var]) -> dict[str, Dim]:
    terms: dict[str, Dim] = {}
    for i, p in enumerate(params):
        if isinstance(p.type, Scalar):
            terms[p.name] = Dim.of(f"#{i}")
        else:
            terms |= {f"{p.name}.{k}": Dim.of(f"#{i}.{k}") for k in range(p.type.ndim)}
    return terms


def _sizes(operands: tuple[Operand, ...]) -> dict[str, Dim]:
    terms: dict[str, Dim] = {}
    for i, x in enumerate(operands):
        if isinstance(x.type, Scalar):
            if x.type.value is not None:
                terms[f"#{i}"] = x.type.value
        elif isinstance(x.type, (Array, Record)):
            terms |= {f"#{i}.{k}": dim for k, dim in enumerate(x.type.shape)}
    return terms


def _in_terms(dim: Dim, terms: dict[str, Dim]) -> Dim:
    return dim.substitute(terms) if dim.symbols <= terms.keys() else OPEN


def _resized(type_: Type, size: Callable[[Dim], Dim]) -> Type:
    if isinstance(type_, Scalar):
        return Scalar(type_.dtype, type_.weak)
    assert isinstance(type_, Array), type_
    return Array(type_.dtype, tuple(size(d) for d in type_.shape))
