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

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..build import OPEN, Builder, NameSupply, resolve_dims
from ..dims import Dim
from ..ir import (
    Array,
    Call,
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
    walk,
)
from ..pipeline_types import ObjectGuard, Param
from ..read import Source
from ..structure import Path
from .patterns import Leaf, Packer, Pattern, leaves_of, retyped, unpack
from .values import Cell, Closure, Ended, Mixin, NeedUnroll, Num, Rec, Ref, State, Value

# Functions being specialised at a time: more means that the signature changes with each call.
LIMIT = 50
ROUNDS = 12


class NeedStaticArgument(Exception):
    """An argument must be part of the specialisation: start again with it baked in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(path)


class NeedOutline(Exception):
    """The depth of a recursion is known only at run time: start again with calls of it."""

    def __init__(self, identity: Any) -> None:
        self.identity = identity
        super().__init__(identity)


@dataclass(frozen=True)
class Callee:
    """A function to be called.  `key` is the object behind it, `identity` its place in the
    source; `enclosing` is the frame whose names it sees, of a nested function."""

    key: Any
    identity: Any
    source: Source
    function: Any
    path: Path
    enclosing: Any

    @property
    def name(self) -> str:
        return getattr(self.source.node, "name", "function")


@dataclass(frozen=True)
class Lifted:
    """A number or array reached by a path."""

    path: Path
    value: Any = field(compare=False)

    def fits(self) -> bool:
        return True

    def reach(self, caller: Any) -> list[Value]:
        return [caller.lift(self.value, self.path)]


@dataclass(frozen=True)
class Captured:
    """The numbers and arrays behind a name of an enclosing frame (or a default of a nested
    function), `holder`."""

    holder: Any
    name: str
    pattern: Pattern

    def fits(self) -> bool:
        """Whether the name still stands for the same kind of thing."""
        return _packed(self.holder, self.name)[0] == self.pattern

    def reach(self, caller: Any) -> list[Value]:
        owner = owner_of(self.holder)
        value = held(self.holder, self.name)
        if owner is not caller:
            value = caller.captured(self.holder, self.name)
        packer = _capturing(caller, self.name)
        packer.pack(value)
        return [packer.leaves[leaf.index] for leaf in leaves_of(self.pattern)]


@dataclass(frozen=True)
class Outcome:
    """What callers rely on.  `result` is None while no path is known to come out.  `shared`
    has the pairs that may share memory: result leaves by their index, parameters by
    -1 - position."""

    result: Pattern | None = None
    reached: tuple[Lifted | Captured, ...] = ()
    shared: frozenset[tuple[int, int]] = frozenset()


@dataclass(eq=False)
class Outlined:
    """One specialised function; while it is being made, `outcome` is assumed."""

    name: str
    args: Pattern
    outcome: Outcome = Outcome()
    function: Function | None = None
    asked: bool = False  # called while its result was unknown


@dataclass
class Shared:
    """What the specialisers of one module have in common."""

    recursive: frozenset[Any] = frozenset()
    sources: dict[Any, Source] = field(default_factory=dict)
    desugared: dict[Any, list[ast.stmt]] = field(default_factory=dict)
    object_guards: list[ObjectGuard] = field(default_factory=list)
    # by callee and pattern of arguments, in the order in which they were begun
    made: list[tuple[Any, Outlined]] = field(default_factory=list)
    running: list[Outlined] = field(default_factory=list)
    assumed: dict[Any, Outcome] = field(default_factory=dict)
    # leaves of the arguments that must be known, by callee and pattern
    static: dict[Any, set[int]] = field(default_factory=dict)
    count: int = 0

    def find(self, key: Any) -> Outlined | None:
        for other, outlined in self.made:
            if other == key and all(r.fits() for r in outlined.outcome.reached):
                return outlined
        return None


def owner_of(holder: Any) -> Any:
    return holder.frame.owner if isinstance(holder, Closure) else holder.owner


def held(holder: Any, name: str) -> Value:
    """What a frame's name, or a nested function's default, stands for."""
    if isinstance(holder, Closure):
        return holder.default(name)
    return holder.owner.env_of(holder)[name]


def _capturing(owner: Any, name: str) -> Packer:
    def refuse(why: str) -> Any:
        text = f"{name}, which a recursive function uses, is {why}"
        return owner.refuse(None, text, "pass it as an argument")

    def known(index: int, number: Num) -> bool:
        return number.known is not None and isinstance(number.known[0], int)

    return Packer(owner, known, refuse)


def _packed(holder: Any, name: str) -> tuple[Pattern, Packer]:
    packer = _capturing(owner_of(holder), name)
    return packer.pack(held(holder, name)), packer


class Outlines(Mixin):
    """Mixed into the specialiser."""

    b: Builder
    state: State
    shared: Shared
    runtime_depth: int
    reached: dict[Lifted | Captured, list[Var]]
    stack: list[Any]
    params: list[Param]

    # ---- calls

    def stays_call(self, identity: Any) -> bool:
        """Whether calls of a function stay calls.  Between two activations of a function that
        is unrolled nothing may depend on the run."""
        if identity in self.shared.recursive:
            return True
        for frame in reversed(self.stack):
            if frame.identity == identity:
                if self.runtime_depth > frame.runtime_depth:
                    raise NeedOutline(identity)
                break
        return False

    def call_outlined(self, callee: Callee, env: dict[str, Value], node: Any) -> Value:
        arguments = tuple(env.values())
        while True:
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
        outcome = outlined.outcome
        values = [packer.leaves[leaf.index] for leaf in leaves_of(pattern)]
        values += [v for reached in outcome.reached for v in reached.reach(self)]
        operands = tuple(self.read(v) if isinstance(v, Ref) else v.operand for v in values)
        if outcome.result is None:
            outlined.asked = True
            if outlined not in self.shared.running:  # it always fails
                self.b.block.append(Call([], outlined.name, operands, origin=self.b.origin))
            raise Ended
        return self._results(outlined, values, operands)

    def _arguments(self, callee: Callee, static: frozenset[int], node: Any) -> Packer:
        def known(index: int, number: Num) -> bool:
            if index not in static:
                return False
            if number.known is None:
                self.demand_static(number, node, f"an argument of {callee.name}")
            return True

        def refuse(why: str) -> Any:
            text = f"{why} cannot be passed to {callee.name}, whose recursion ends at run time"
            return self.refuse(node, text, "pass numbers, arrays, or tuples of them")

        return Packer(self, known, refuse)

    def _results(
        self, outlined: Outlined, values: list[Value], operands: tuple[Operand, ...]
    ) -> Value:
        """Emits the call."""
        assert outlined.outcome.result is not None and outlined.function is not None or True
        sizes = _sizes(self.callee_params(outlined), operands)
        targets: dict[int, Var] = {}
        cells: dict[int, Cell] = {}
        for leaf in leaves_of(outlined.outcome.result):
            name = self.b.names.fresh(self.b.hint)
            type_ = _resized(leaf.type, lambda d: _substituted(d, sizes))
            targets[leaf.index] = Var(name, resolve_dims(type_, name))
        call = Call(list(targets.values()), outlined.name, operands, origin=self.b.origin)
        self.b.block.append(call)

        def made(leaf: Leaf, _: str) -> Value:
            var = targets[leaf.index]
            if isinstance(var.type, Scalar):
                return Num(var)
            ref = self.new_array(var)
            cells[leaf.index] = ref.cell
            return ref

        result = unpack(outlined.outcome.result, self, made, self.b.hint)
        for pair in outlined.outcome.shared:
            found = [cells[i] if i >= 0 else getattr(values[-1 - i], "cell", None) for i in pair]
            if None not in found and found[0] is not found[1]:
                self.state.pairs.add(frozenset(found))
        return result
