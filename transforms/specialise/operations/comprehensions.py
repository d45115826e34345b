"""Comprehensions, as loops."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.record import record
from ...syntax import core
from ...syntax.names import bound_names
from ..control.joins import Joins
from ..heap.arrays import Arrays
from ..outside.objects import Objects
from ..places import NeedUnroll, Places
from ..scopes import makes_functions, renamed, targets_of
from ..session import Part
from ..values import (
    DictVal,
    InstanceVal,
    ListVal,
    Num,
    Obj,
    Rec,
    Ref,
    TupleVal,
    Value,
    constant,
    number,
)
from .operators import Operators
from .truth import Truth


@record(eq=False)
class Comprehensions(Part):
    """Comprehensions, as loops."""

    places: Places
    arrays: Arrays
    joins: Joins
    objects: Objects
    operators: Operators
    truth: Truth

    def dict_of(self, node: core.Comp) -> Value:
        why = "a dict needs keys that are known while compiling"
        try:
            items = self.objects.static_items(self.comprehension(node))
        except NeedUnroll:
            items = None
        if items is None:
            self.places.need_unroll(node, why, "use an array")
        # A repeated key has the position of its first occurrence and the value of its last.
        pairs = [i.values for i in items if isinstance(i, TupleVal)]
        found = {self.operators.dict_key(key, node): value for key, value in pairs}
        return self.arrays.new_dict(tuple(found), tuple(found.values()))

    def comprehension(self, node: core.Comp, first: Value | None = None) -> Value:
        """`[e for x in xs if c]` is a list appended to in loops.  The first iterable, which is
        evaluated outside the comprehension, may be given."""
        name = self.places.fresh_name("items")
        while name in self.state.env:  # a comprehension inside this one
            name += "_"
        self.state.env[name] = self.arrays.new_list((), name)
        first = self.evaluator.eval(node.clauses[0].over) if first is None else first

        def append(value: Value) -> None:
            self.evaluator.call_method(self.state.env[name], "append", (value,), {}, node.element)

        self.generate(node, first, append)
        return self.arrays.usable(self.state.env.pop(name), node)

    def generate(
        self,
        node: core.Comp,
        first: Value,
        action: Callable[[Value], None],
        until: str | None = None,
        own_scope: bool = False,
    ) -> None:
        """Runs the loops of a comprehension, with an action on each of its elements; with
        `own_scope` the action must not see the comprehension's variables."""
        read_later: list[bool] = []
        kept = makes_functions(node)
        targets = targets_of(node)
        if kept or own_scope:
            scope = self.b.names.fresh("scope")
            names = {n: f"<{n} {scope}>" for n in sorted(targets)}
            node, targets = renamed(node, names), set(names.values())
        hidden = {n: self.state.env.pop(n) for n in targets if n in self.state.env}

        def level(depth: int) -> bool:
            if depth == len(node.clauses):
                value = self.evaluator.eval(node.element)
                action(value)
                read_later.append(kept and self._reads_later(value))
                return False
            clause = node.clauses[depth]

            def body() -> bool:
                cond: Num = constant(True)
                for test in clause.tests:
                    both = self.truth.lazy_and(
                        cond, lambda test=test: self.truth.condition(test), test
                    )
                    cond = number(both)
                if cond.known is not None:
                    ended = level(depth + 1) if cond.known[0] else False
                else:
                    ended = self.joins.if_(cond, lambda: level(depth + 1), lambda: False)
                if kept and not any(read_later):
                    for target in bound_names(clause.target):
                        self.state.env.pop(target, None)
                return ended

            over = first if depth == 0 else self.evaluator.eval(clause.over)
            return self.evaluator.for_each(clause.target, over, body, until, node)

        level(0)
        for target in () if any(read_later) else targets:
            self.state.env.pop(target, None)
        self.state.env.update(hidden)

    def _reads_later(self, value: Value) -> bool:
        """Whether a value may read the names of a comprehension when it is used."""
        if isinstance(value, (ListVal, DictVal, InstanceVal)):
            content = self.state.heap[value.cell]
            return any(map(self._reads_later, getattr(content, "values", ())))
        if isinstance(value, TupleVal):
            return any(map(self._reads_later, value.values))
        return not isinstance(value, (Num, Ref, Rec, Obj))
