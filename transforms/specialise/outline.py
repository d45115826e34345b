"""Calls that stay calls: functions that are specialised separately from their callers.

A function whose recursion ends at run time is specialised once per *signature*: the pattern
of its arguments, with the types of their numbers and arrays and the identity of everything
static.  Nothing is known of sizes there, so nothing is guarded.

With `Shared.keep` calls of other functions stay calls, too (`calls/kept_calls.py`).  Such a
function knows the sizes of its first call.  What it reads off them are its *needs*, guards in terms
of its parameters.  They are guards of every caller; a call for which they do not hold gets another
variant.

What such a function returns is found by iteration.  At first a call of a function that is
still being specialised counts as a path that does not come out, so that its base case tells
what it returns; then it is specialised again under that assumption, until nothing changes.
The same holds for what it *reaches* by itself, globals and names of enclosing functions:
numbers and arrays among these are further parameters, which every caller reaches in the same
way and passes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NoReturn

from ..autodiff.activity import dependences
from ..bufferize.coalesce import HELPERS, RESERVED
from ..ir.builder import NameSupply, resolve_dims
from ..ir.call_sizes import (
    in_terms,
    needs_hold,
    positions,
    rely_on_needs,
    resized,
    sizes_at,
)
from ..ir.fixpoint import IterationLimit
from ..ir.nodes import (
    Block,
    Call,
    Custom,
    Draw,
    Function,
    Module,
    Operand,
    Print,
    Raise,
    Scalar,
    Var,
    calls_in,
    substitute,
    walk,
)
from ..ir.record import record
from ..syntax import core
from .control.updates import Updates
from .frames import Frames
from .heap.arrays import Arrays
from .outside.effects import Effects
from .outside.objects import Objects
from .patterns import Leaf, Packer, Pattern, leaves_of, part_paths, retyped, unpack
from .places import NeedUnroll, Places, is_own
from .session import Part
from .shared import Callee, NeedStaticArgument, Outcome, Outlined, last_return
from .values import Cell, Ended, Num, Rec, Ref, Value, array

# Functions being specialised at a time: more means that the signature changes with each call.
NESTED = 20
ROUNDS = 12
# So many variants of a function may differ in constants that they are called with.
BAKED_VARIANTS = 4


@record(eq=False)
class Outlines(Part):
    """Functions whose calls stay calls."""

    frames: Frames
    places: Places
    arrays: Arrays
    objects: Objects
    effects: Effects
    updates: Updates

    # ---- calls

    def pattern_of(
        self, callee: Callee, env: dict[str, Value], node: core.Node
    ) -> tuple[Pattern, list[Num | Ref | Rec]]:
        """The structure of the arguments of a call, and the numbers and arrays in them."""
        packer = self._arguments(callee, frozenset(), node, self._bakes_constants(callee))
        return packer.pack(tuple(env.values())), packer.leaves

    def _bakes_constants(self, callee: Callee) -> bool:
        """Whether integers that are known while compiling are part of the signature.  They decide
        structure and sizes; but the index of a loop that is unrolled is another in each call."""
        if callee.identity in self.shared.recursive:
            return False
        made = (outlined for key, outlined in self.shared.made if key[0] == callee.key)
        return sum(1 for _ in made) < BAKED_VARIANTS

    def call_outlined(self, callee: Callee, env: dict[str, Value], node: core.Node) -> Value:
        return self.call_with_outline(callee, env, node)[0]

    def call_with_outline(
        self, callee: Callee, env: dict[str, Value], node: core.Node
    ) -> tuple[Value, Outlined]:
        """The result of a call that stays one, and the specialised function."""
        arguments = tuple(env.values())
        rounds = IterationLimit("specialise: arguments of a call")
        bake = self._bakes_constants(callee)
        while True:
            rounds.count()
            packer = self._arguments(callee, frozenset(), node, bake)
            general = (callee.key, packer.pack(arguments))
            static = frozenset(self.shared.static.get(general, ()))
            packer = self._arguments(callee, static, node, bake)
            pattern = packer.pack(arguments)
            given = {leaf.index: packer.leaves[leaf.index] for leaf in leaves_of(pattern)}
            try:
                outlined = self._outlined(callee, pattern, tuple(env), node, given)
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
        values = self._arguments_of(outlined, given)
        operands = tuple(self.arrays.sym(v).operand for v in values)
        rely_on_needs(outcome.needs, operands, self.b.facts)
        if outcome.result is None:
            outlined.requested = True
            if outlined not in self.shared.running:  # it always fails
                self.b.block.append(Call([], outlined.name, operands, origin=self.b.origin))
            raise Ended
        self._refuse_aliases(outlined, given, values, node)
        return self._results(outlined, given, values, operands, node), outlined

    def _refuse_aliases(
        self, outlined: Outlined, given: dict[int, Any], values: list[Value], node: core.Node
    ) -> None:
        """A function that writes into an argument took it for an array of its own."""
        places = {leaf.index: i for i, leaf in enumerate(leaves_of(outlined.args))}
        for leaf in outlined.outcome.written:
            ref, place = given[leaf.index], places[leaf.index]
            near = self._near(ref.cell)
            others = [v for i, v in enumerate(values) if i != place and isinstance(v, Ref)]
            if any(v.cell in near for v in others) or len(near) > 1 or ref.cell.choice is not None:
                self.places.refuse(node, "an array that is written may share memory with another")
            if ref.cell.readonly:
                self.places.refuse(node, "an array that is written is read-only")

    def _arguments_of(self, outlined: Outlined, given: dict[int, Any]) -> list[Value]:
        """The values that a call passes: the leaves of its arguments, and what is reached."""
        values: list[Value] = [given[leaf.index] for leaf in leaves_of(outlined.args)]
        reached = outlined.outcome.reached
        return values + [v for r in reached for v in r.reach(self.frames)]

    def _fits(self, outlined: Outlined, given: dict[int, Any]) -> bool:
        """Whether a variant can be called with such arguments."""
        if not outlined.outcome.needs:
            return True
        values = self._arguments_of(outlined, given)
        operands = [self._operand(v) for v in values]
        return needs_hold(outlined.outcome.needs, operands, self.b.facts)

    def _operand(self, value: Any) -> Operand:
        return self.arrays.read(value) if isinstance(value, Ref) else value.operand

    def _arguments(
        self, callee: Callee, static: frozenset[int], node: core.Node, bake: bool
    ) -> Packer:
        def known(index: int, number: Num) -> bool:
            if bake and number.known is not None and isinstance(number.known[0], int):
                return True
            if index not in static:
                return False
            if number.known is None:
                self.places.demand_static(number, node, f"an argument of {callee.name}")
            return True

        def refuse(why: str) -> Any:
            text = f"{why} cannot be passed to {callee.name}, whose recursion ends at run time"
            return self.places.refuse(node, text, "pass numbers, arrays, or tuples of them")

        strict = callee.identity not in self.shared.recursive
        return Packer(self.frames, known, refuse, strict=strict)

    def _results(
        self,
        outlined: Outlined,
        given: dict[int, Any],
        values: list[Value],
        operands: tuple[Operand, ...],
        node: core.Node,
    ) -> Value:
        """Emits the call and gives its results their structure."""
        outcome = outlined.outcome
        assert outcome.result is not None
        sizes = sizes_at(operands)

        def target(leaf: Leaf, hint: str, user: str = "") -> Var:
            name = self.b.names.fresh(hint)
            type_ = resized(leaf.type, lambda dim: in_terms(dim, sizes), ints=True)
            return Var(name, resolve_dims(type_, name), user)

        targets = {leaf.index: target(leaf, self.b.hint) for leaf in leaves_of(outcome.result)}
        written = [
            (given[leaf.index], target(leaf, label or "t", label))
            for leaf in outcome.written
            for label in (given[leaf.index].cell.label,)
        ]
        call = Call(
            [*targets.values(), *(new for _, new in written)], outlined.name, operands,
            origin=self.b.origin, depends=outlined.depends,
        )  # fmt: skip
        self.b.block.append(call)
        for ref, new in written:
            self.updates.write_whole(ref, new, node)
        made: dict[int, Num | Ref] = {}

        def value(leaf: Leaf, _: str) -> Value:
            var = targets[leaf.index]
            if leaf.index not in made:
                if isinstance(var.type, Scalar):
                    made[leaf.index] = Num(var)
                else:
                    made[leaf.index] = ref = self.arrays.new_array(var)
                    ref.cell.tensor = leaf.tensor
            return made[leaf.index]

        result = unpack(outcome.result, self.frames, value, self.b.hint)
        for pair in outcome.shared:
            cells = {array(made[i] if i >= 0 else values[-1 - i]).cell for i in pair}
            if len(cells) == 2:
                self.state.pairs.add(frozenset(cells))
        return result

    # ---- specialising the callee

    def _outlined(
        self,
        callee: Callee,
        pattern: Pattern,
        names: tuple[str, ...],
        node: core.Node,
        given: dict[int, Any],
    ) -> Outlined:
        shared = self.shared
        key = (callee.key, pattern)
        found = shared.find(key, lambda outlined: self._fits(outlined, given))
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
                outlined.function, outcome = self._round(callee, outlined, names, given)
                unchanged = outcome == outlined.outcome
                outlined.outcome = outcome
                if callee.identity not in shared.recursive:
                    outlined.depends = dependences(outlined.function)
                    unchanged = True
                if unchanged:
                    break
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
        self,
        callee: Callee,
        outlined: Outlined,
        names: tuple[str, ...],
        given: dict[int, Any],
    ) -> tuple[Function, Outcome]:
        """Specialises the callee under the present assumptions; returns it with its outcome."""
        assert self.session.nested is not None
        inner: Outlines = self.session.nested(callee)
        variables: list[Var] = []
        recursive = callee.identity in self.shared.recursive
        # A recursive call would require a variant of its own, and that another.
        sized = not recursive and self.b.facts.sizes is not None
        arrays: list[tuple[Leaf, Cell]] = []
        facts = inner.session.b.facts
        facts.sizes = {} if sized else None

        def leaf(leaf: Leaf, name: str) -> Value:
            var, value = inner.frames.receive(leaf, name, (("leaf", leaf.index),))
            variables.append(var)
            if sized:
                self.arrays.pass_sizes(given[leaf.index], var, facts)
            if isinstance(value, Ref) and not recursive:
                own = given[leaf.index].cell
                value.cell.inout = (
                    leaf.variable is None and own.tensor is False and not own.readonly
                )
                arrays.append((leaf, value.cell))
            return value

        values: Any = unpack(outlined.args, inner.frames, leaf, "", (("leaf", 0),), names)
        own = [v.name for v in variables]
        inner.session.state.env.update(zip(names, values))
        node = callee.source.node
        result: Pattern | None = None
        packer = Packer(
            inner.frames, lambda _, n: n.known is not None, inner.refuse_result, result=True,
            strict=not recursive,
        )  # fmt: skip
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
        written: list[Leaf] = []
        if result is not None:
            terms = positions(variables)
            types = {
                leaf.index: resized(
                    operand.type,
                    lambda dim: in_terms(facts.canonical(dim), terms),
                    ints=sized,
                )
                for leaf, operand in zip(leaves_of(result), operands)
            }
            result = retyped(result, lambda index: types[index])
            places = {v.name: i for i, v in enumerate(variables)}
            shared = inner.sharing(leaves_of(result), packer, places)
            for given_leaf, cell in arrays:
                last = inner.session.state.heap[cell]
                if last != cell.param:
                    type_ = resized(last.type, lambda dim: in_terms(facts.canonical(dim), terms))
                    written.append(replace(given_leaf, type=type_))
                    operands.append(last)
        outlined.looked_up = inner.objects.looked_up
        terms = positions(variables)
        needs = [
            replace(g, left=g.left.substitute(terms), right=g.right.substitute(terms))
            for g in facts.guards
        ]
        # No later pass may rely on more: callers would not know of it.
        facts.sizes = None
        parts = zip(own, part_paths(outlined.args, names))
        notes: dict[str, Any] = {"callee": True, "facts": facts}
        notes["parts"] = {v: place for v, place in parts if place is not None and place[1]}
        if is_own(callee.function):
            notes["library"] = True
        if needs:
            notes["needs"] = tuple(dict.fromkeys(needs))
        function = Function(
            outlined.name, variables, inner.session.b.block, operands, [], callee.source, notes
        )
        needed = notes.get("needs", ())
        return function, Outcome(result, reached, shared, needed, tuple(written))

    def refuse_result(self, why: str) -> NoReturn:
        name = getattr(self.places.frame.node, "name", "a function")
        text = f"{why} cannot be returned by {name}, whose recursion ends at run time"
        return self.places.refuse(
            last_return(self.places.frame.node), text, "return numbers or arrays"
        )

    def sharing(
        self, leaves: Iterable[Leaf], packer: Packer, places: dict[str, int]
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
            found |= {(i, -1 - places[name]) for name in params}
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
            f.body = _renamed_calls(f.body, renamed, loud)
            half = f.notes.get("forward_half")
            if half is not None:
                f.notes = {**f.notes, "forward_half": renamed.get(half, half)}
        return Module({f.name: f for f in functions}, main.name)


def _renamed_calls(block: Block, renamed: dict[str, str], loud: set[str]) -> Block:
    """A copy of the block, since a function and its products may share statements."""
    block = substitute(block, lambda x: x)
    for stmt in walk(block):
        if isinstance(stmt, Call):
            stmt.keep = stmt.function in loud
            stmt.function = renamed[stmt.function]
        elif isinstance(stmt, Custom):
            body = _renamed_calls(stmt.pullback.body, renamed, loud)
            stmt.pullback = replace(stmt.pullback, body=body)
    return block


def _loud(functions: list[Function]) -> set[str]:
    """The functions that may print, raise or draw random numbers."""
    kinds = (Print, Raise, Draw)
    loud = {f.name for f in functions if any(isinstance(s, kinds) for s in walk(f.body))}
    while True:
        more = {f.name for f in functions if loud & set(calls_in(f.body))} | loud
        if more == loud:
            return loud
        loud = more
