"""Rematerialisation policy: choose the values that the slots of a block in a loop store, in place
of those that the sweep needs.

`min_cut.py` finds the cheapest set of values.  This module supplies their costs and determines
which values are available for free.
"""

from __future__ import annotations

from ..ir.builder import slot_for
from ..ir.nodes import Assign, For, Op, Save, Scalar, Var
from ..ir.op_registry import RULES
from ..ir.scopes import Scope
from .min_cut import MAX_VALUES, Choice, Value, choose, compute_cost, elements, store_cost
from .rematerialize import INFINITE_COST
from .slot_pair import Pair, Planner


class RematPolicy:
    def __init__(self, saver: Planner) -> None:
        self.saver = saver

    def choices(self) -> list[tuple[Choice, list[Pair]]]:
        """The cheaper choices, each with the slots of its block.  Blocks where storing the slots
        is the best choice are omitted."""
        groups: dict[tuple[Scope, Scope], list[Pair]] = {}
        for pair in self.saver.pairs:
            if isinstance(pair.save.value, Var) and pair.loops():
                groups.setdefault((pair.save_scope, pair.restore_scope), []).append(pair)
        found = []
        for group in groups.values():
            values = self.values(group)
            needed = [pair.value.name for pair in group if pair.value.name in values]
            choice = choose(needed, values)
            if choice is not None:
                found.append((choice, group))
        return found

    def values(self, group: list[Pair]) -> dict[str, Value]:
        """The values of a group of slots and their transitive operands, without those that are
        available for free."""
        out: dict[str, Value] = {}
        pair = group[0]
        needed = {p.value.name for p in group}
        todo = [p.value for p in group]
        loops = pair.loops()
        indices = {ours.index.name for ours, _ in loops if isinstance(ours, For)}

        def free(x: Var) -> bool:
            if pair.common.inside(self.saver.scopes.home[x.name]):
                return isinstance(x.type, Scalar) or self.saver.is_never_overwritten(x)
            if x.name in indices:
                return True
            if x.name in needed or self.is_read(x):
                is_final = self.saver.final(x, pair) is not None
                if is_final or x.name in needed:
                    return is_final
            return self.saver.restored(x, pair) is not None or any(
                c.phi == x and self.saver.increment(c) is not None
                for ours, _ in loops
                for c in ours.carried
            )

        while todo:
            x = todo.pop()
            if x.name in out or free(x):
                continue
            op = self.saver.definitions.get(x.name)
            here = x.name in needed or self.saver.scopes.home[x.name] is pair.save_scope
            stored = here and not (op is not None and self.is_view(op, x, pair.save_scope))
            value = out[x.name] = Value(
                store_cost(x.type) if stored else INFINITE_COST, INFINITE_COST
            )
            if op is not None and len(out) <= MAX_VALUES:
                value.compute = compute_cost(op, x.type)
                operands = [a for a in op.args if isinstance(a, Var)]
                if value.compute < INFINITE_COST and op.name != "shape":
                    value.operands = [a.name for a in operands]
                    todo += operands
        return out

    def is_read(self, x: Var) -> bool:
        """True if a value is read from an array."""
        op = self.saver.definitions.get(x.name)
        return op is not None and op.name == "index"

    def is_view(self, op: Op, x: Var, scope: Scope) -> bool:
        """True if a value is a view of an array of the same block that is no larger.  Then the
        array is stored instead, in its own memory layout."""
        base = op.args[0] if RULES[op.name].kind == "view" else None
        if not isinstance(base, Var) or self.saver.scopes.home[base.name] is not scope:
            return False
        return elements(base.type) <= elements(x.type)

    def add_slots(self, choice: Choice, group: list[Pair]) -> bool:
        """Insert slots for the values to store that have none.  True if there are any."""
        pair = group[0]
        new = sorted(choice.stored - {p.value.name for p in group})
        for name in new:
            x, binder = self.saver.scopes.var[name], self.saver.scopes.binder[name]
            slot, target = slot_for(x, binder, self.saver.names)
            block = self.saver.block_of(pair.save_scope)
            at = next((k + 1 for k, s in enumerate(block) if s is binder), 0)
            block.insert(at, Save(slot, x, binder.origin))
            restore = Assign(target, Op("restore", (), {"slot": slot}), pair.restore.origin)
            self.saver.block_of(pair.restore_scope).insert(0, restore)
        return bool(new)
