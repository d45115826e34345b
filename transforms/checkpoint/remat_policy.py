"""Chooses what the slots of a block in a loop store, instead of what the sweep asked for.

`min_cut.py` finds the cheapest set of values; here is what they cost, and what is at hand anyway.
"""

from __future__ import annotations

from ..ir.builder import slot_for
from ..ir.nodes import Assign, For, Op, Save, Scalar, Var
from ..ir.op_registry import RULES
from ..ir.scopes import Scope
from .min_cut import LARGE, Choice, Value, choose, compute_cost, elements, store_cost
from .rematerialize import NEVER
from .slot_pair import Pair, Planner


class Chooser:
    def __init__(self, saver: Planner) -> None:
        self.saver = saver

    def choices(self) -> list[tuple[Choice, list[Pair]]]:
        """For the slots of each block that has a cheaper choice than to store them."""
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
        """The values that those of a group are made of, as far as they are not at hand."""
        out: dict[str, Value] = {}
        pair = group[0]
        needed = {p.value.name for p in group}
        todo = [p.value for p in group]
        loops = pair.loops()
        indices = {ours.index.name for ours, _ in loops if isinstance(ours, For)}

        def free(x: Var) -> bool:
            if pair.common.inside(self.saver.scopes.home[x.name]):
                return isinstance(x.type, Scalar) or self.saver.lasting(x)
            if x.name in indices:
                return True
            if x.name in needed or self.is_read(x):
                settled = self.saver.final(x, pair) is not None
                if settled or x.name in needed:
                    return settled
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
            stored = here and not (op is not None and self.only_looks(op, x, pair.save_scope))
            value = out[x.name] = Value(store_cost(x.type) if stored else NEVER, NEVER)
            if op is not None and len(out) <= LARGE:
                value.compute = compute_cost(op, x.type)
                operands = [a for a in op.args if isinstance(a, Var)]
                if value.compute < NEVER and op.name != "shape":
                    value.operands = [a.name for a in operands]
                    todo += operands
        return out

    def is_read(self, x: Var) -> bool:
        op = self.saver.definitions.get(x.name)
        return op is not None and op.name == "index"

    def only_looks(self, op: Op, x: Var, scope: Scope) -> bool:
        """Whether a value is an array of the same block seen otherwise, by which it is stored
        as it lies in memory."""
        base = op.args[0] if RULES[op.name].kind == "view" else None
        if not isinstance(base, Var) or self.saver.scopes.home[base.name] is not scope:
            return False
        return elements(base.type) <= elements(x.type)

    def add_slots(self, choice: Choice, group: list[Pair]) -> bool:
        """Slots for what is to be stored and has none."""
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
