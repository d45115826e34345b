"""Plan the tape: for each slot, rematerialise its value, keep it in scope, or store it.

Rematerialised and scoped slots are eliminated here.  For the others `notes["slots"]` maps the
slot's name to a `SlotPlan`; their `Save` and `restore` stay in the program until bufferization
(`bufferize/lower_tape_slots.py`).  `notes["recomputed"]` maps the names of rematerialised values
to the original values.

The variants, in the order in which they are tried:

- recompute: the value is cheap to compute from values available at the restore: constants,
  values in scope that are not overwritten, loop indices (the mirrored loop has the same), and
  values that are restored anyway.  Where it is cheaper to store other values than those the
  sweep needs, `min_cut.py` finds them, and they get slots of their own.
- final value: an array element holds the value and is not overwritten before the loops end
  (`final_values.py`); the sweep reads it again.
- scope: no loop lies between the `Save` and the block that holds both `Save` and `restore`.  The
  value is passed out through the phis of the enclosing branches.
- dense: an array with one element or row per iteration (`tape_arrays.py`).
- stack: all other slots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..ir.builder import Builder, NameSupply
from ..ir.index_bounds import with_index_bounds
from ..ir.nodes import (
    Assign,
    Block,
    Carried,
    Const,
    For,
    Function,
    If,
    Module,
    Op,
    Operand,
    Phi,
    Save,
    Stmt,
    Var,
    While,
    blocks_of,
    inner_targets_of,
    substitute,
    walk,
)
from ..ir.scopes import Scope, Scopes, dims_of, is_never_overwritten, names_of, overwritten
from ..ir.symbolic_dims import Atom, Dim, Facts
from ..simplify.dce import eliminate_dead_code
from .duplicate_temporaries import duplicate_temporaries
from .final_values import FinalValues
from .min_cut import Choice
from .remat_policy import RematPolicy
from .rematerialize import INFINITE_COST, Rematerializer
from .save_list_length import save_list_lengths
from .slot_pair import Pair
from .tape_arrays import DensePlanner, SlotPlan, position


def plan_tape(module: Module, facts: Facts | None = None) -> Module:
    """The module with the tape of each function planned."""

    def plan(function: Function, known: Facts | None) -> Function:
        known = known or Facts()
        saver = TapePlanner(save_list_lengths(_sorted_heads(function), known), known)
        chooser = RematPolicy(saver)
        choices = chooser.choices()
        added = [chooser.add_slots(choice, its) for choice, its in choices]
        if any(added):
            saver = TapePlanner(_sorted_heads(saver.function), known)
        saver.chosen = {pair.slot.name: choice for choice, its in choices for pair in its}
        return saver.run()

    return module.map(plan, facts)


class TapePlanner:
    """Plans the tape of one function.  See `Planner` in `slot_pair.py` for the interface that
    the other modules of this folder use."""

    def __init__(self, function: Function, facts: Facts) -> None:
        self.function = function
        self.facts = with_index_bounds(function, facts)
        self.names = NameSupply(names_of(function))
        self.scopes = Scopes(function)
        self.definitions = {
            s.target.name: s.op for s in walk(function.body) if isinstance(s, Assign)
        }
        self.overwritten = overwritten(function)
        self.order: dict[int, int] = {id(s): i for i, s in enumerate(walk(function.body))}
        # The pending edits: by id of a statement, the statements to insert before it and those
        # that replace it; by name, the operand to substitute.
        self.before: dict[int, Block] = {}
        self.replacement: dict[int, Block] = {}
        self.renamed: dict[str, Operand] = {}
        self.plans: dict[str, SlotPlan] = {}
        self.recomputed: dict[str, Var] = {}
        self.final_values = FinalValues(function, facts, self.order)
        self.finals: dict[tuple[str, Scope, Scope], Op | None] = {}
        self.chosen: dict[str, Choice] = {}
        # By scope: the values rematerialised there, with the order of the statement.
        self.rematerialised: dict[Scope, dict[str, tuple[int, Operand]]] = {}
        self.pairs = self.find_pairs()
        self.pair_of: dict[str, list[Pair]] = {}
        self.original: dict[str, Operand] = {}
        for pair in self.pairs:
            self.original[pair.restore.target.name] = pair.save.value
            if isinstance(pair.save.value, Var):
                self.pair_of.setdefault(pair.save.value.name, []).append(pair)

    def run(self) -> Function:
        for pair in self.pairs:
            done = self.recompute(pair) or self.read_final_value(pair)
            if not (done or self.pass_through_phis(pair)):
                ours, theirs = zip(*((a.label, b.label) for a, b in pair.loops()))
                plan = DensePlanner(self).plan(pair) or SlotPlan("stack", ours, theirs)
                self.plans[pair.slot.name] = plan
        f = self.function
        done = replace(
            f,
            body=substitute(self.rebuild(f.body), self.read),
            results=[self.read(r) for r in f.results],
            effects=[(p, self.read(v)) for p, v in f.effects],
            notes={
                **f.notes,
                "slots": {k: p.substitute(self.read) for k, p in self.plans.items()},
                "recomputed": self.recomputed,
            },
        )
        return duplicate_temporaries(eliminate_dead_code(done))

    def rebuild(self, block: Block) -> Block:
        """A block with the pending edits applied."""
        out: Block = []
        for stmt in block:
            out += self.before.get(id(stmt), ())
            if id(stmt) in self.replacement:
                out += self.replacement[id(stmt)]
                continue
            if isinstance(stmt, If):
                stmt.then, stmt.orelse = self.rebuild(stmt.then), self.rebuild(stmt.orelse)
            elif isinstance(stmt, (For, While)):
                stmt.body = self.rebuild(stmt.body)
                if isinstance(stmt, While):
                    stmt.test = self.rebuild(stmt.test)
            out.append(stmt)
        return out

    def read(self, x: Operand) -> Operand:
        while isinstance(x, Var) and x.name in self.renamed:
            x = self.renamed[x.name]
        return x

    def find_pairs(self) -> list[Pair]:
        saves: dict[str, Save] = {}
        restores: dict[str, Assign] = {}
        for s in walk(self.function.body):
            if isinstance(s, Save):
                saves[s.slot.name] = s
            elif isinstance(s, Assign) and s.op.name == "restore":
                assert s.op.attrs["slot"].name not in restores, s
                restores[s.op.attrs["slot"].name] = s
        pairs = []
        for name, stmt in saves.items():
            if name in restores:
                here = self.scopes.holder(stmt)
                there = self.scopes.holder(restores[name])
                common = next(s for s in here.chain() if there.inside(s))
                pairs.append(Pair(stmt, restores[name], here, there, common))
        return pairs

    # ---- recompute

    def read_final_value(self, pair: Pair) -> bool:
        """Replace a restore by a read of an array element that is not overwritten before the
        loops end.  True on success."""
        if not isinstance(pair.save.value, Var):
            return False
        final = self.final(pair.value, pair)
        return final is not None and self.recompute(pair, final)

    def final(self, x: Var, pair: Pair) -> Op | None:
        """An operation that reads `x`, a value of the block of a slot's `Save`, from the final
        version of an array after the loops; None if there is none."""
        loops = [ours for ours, _ in pair.loops()]
        if not loops:
            return None
        key = x.name, pair.save_scope, pair.common
        if key not in self.finals:
            self.finals[key] = self.final_values.final(x, self.block_of(pair.save_scope), loops)
        return self.finals[key]

    def block_of(self, scope: Scope) -> Block:
        if scope.stmt is None:
            return self.function.body
        return getattr(scope.stmt, scope.branch)

    def recompute(self, pair: Pair, instead: Op | None = None) -> bool:
        """Replace a restore by a rematerialisation, from the definition of the value or from
        the equivalent operation `instead`.  True on success."""
        if isinstance(pair.save.value, Const):
            self.renamed[pair.restore.target.name] = pair.save.value
            self.replacement[id(pair.save)] = self.replacement[id(pair.restore)] = []
            return True
        indices = {
            ours.index.name: theirs.index
            for ours, theirs in pair.loops()
            if isinstance(ours, For) and isinstance(theirs, For)
        }

        def lookup(x: Var) -> Operand | None:
            if pair.common.inside(self.scopes.home[x.name]):
                return x
            if x.name in indices:
                return indices[x.name]
            available = self.restored(x, pair) or self.rematerialised_before(x, pair)
            return available or self.induction_value(x, pair, lookup, maker.block)

        def axis_of_size(x: Var, axis: int) -> tuple[Var, int] | None:
            return self.axis_of_size(dims_of(x)[axis], x.user, pair.restore)

        definitions = self.definitions
        if instead is not None:
            definitions = {**definitions, pair.value.name: instead}

        def final(x: Var) -> Op | None:
            return self.final(x, pair)

        maker = Rematerializer(
            definitions, self.names, lookup, self.is_never_overwritten, axis_of_size, final
        )
        choice = self.chosen.get(pair.slot.name)
        if choice is not None and instead is None:
            if pair.value.name in choice.stored:
                return False
            maker.allowed, maker.limit = choice.computed, INFINITE_COST
        target = pair.restore.target
        induction = indices.get(pair.value.name)
        induction = induction or self.induction_value(pair.value, pair, lookup, maker.block)
        if induction is not None:
            self.renamed[target.name] = induction
        elif maker.rebuild(pair.value, target) is None:
            return False
        else:
            self.recomputed[target.name] = pair.value
        for stmt in maker.block:
            assert isinstance(stmt, Assign)
            stmt.origin = pair.restore.origin
            self.definitions[stmt.target.name] = stmt.op
            self.scopes.add(stmt.target, pair.restore_scope, stmt)
            self.order[id(stmt)] = self.order[id(pair.restore)]
        at = self.order[id(pair.restore)]
        here = self.rematerialised.setdefault(pair.restore_scope, {})
        here.update({name: (at, x) for name, x in maker.done.items()})
        self.replacement[id(pair.restore)] = maker.block
        self.replacement[id(pair.save)] = []
        return True

    def induction_value(
        self, x: Var, pair: Pair, lookup: Callable[[Var], Operand | None], block: Block
    ) -> Operand | None:
        """The value of an induction variable (an int that each iteration changes by a constant),
        as a function of the iteration number; None if `x` is not one."""
        for ours, theirs in pair.loops():
            found = next((c for c in ours.carried if c.phi == x), None)
            if found is None or x.type.dtype != "int64" or not isinstance(theirs, For):
                continue
            step = self.increment(found)
            forward = isinstance(ours, While) or not ours.reverse
            init = found.init if isinstance(found.init, Const) else lookup(found.init)
            if step is None or init is None or not forward:
                return None
            b = Builder(self.names, self.facts, block)
            done = b.sym(position(b, theirs)) * step if step != 1 else b.sym(position(b, theirs))
            # The sum has the type of the original, which may be a Python int.
            new = replace(x, name=self.names.fresh(x.name))
            block.append(Assign(new, Op("add", (init, done.operand))))
            return new
        return None

    def increment(self, c: Carried) -> int | None:
        """The constant that each iteration adds to a carried value; None if there is none."""
        op = self.definitions.get(c.next.name) if isinstance(c.next, Var) else None
        if op is None or op.name not in ("add", "subtract"):
            return None
        left, right = op.args
        if op.name == "add" and right == c.phi:
            left, right = right, left
        if left != c.phi or not isinstance(right, Const):
            return None
        return right.value if op.name == "add" else -right.value

    def restored(self, x: Var, pair: Pair) -> Var | None:
        """The restored value of `x` from another slot, if it is available at the restore of
        `pair`."""
        for other in self.pair_of.get(x.name, ()):
            before = self.order[id(other.restore)] < self.order[id(pair.restore)]
            if before and pair.restore_scope.inside(other.restore_scope):
                return other.restore.target
        return None

    def rematerialised_before(self, x: Var, pair: Pair) -> Operand | None:
        """The rematerialised value of `x`, if it is available at the restore of `pair`."""
        at, found = self.rematerialised.get(pair.restore_scope, {}).get(x.name, (0, None))
        return found if at < self.order[id(pair.restore)] else None

    def is_invariant(self, x: Var, loop: For | While) -> bool:
        """True if a value is loop-invariant: computed only from values defined outside."""
        inside, seen, todo = self.scopes.inner(loop), {x.name}, [x]
        while todo:
            name = todo.pop().name
            if not self.scopes.home[name].inside(inside):
                continue
            op = self.definitions.get(name)
            if op is None or op.name in ("restore", "undef"):
                return False  # a loop index or a loop-carried value
            new = [a for a in op.args if isinstance(a, Var) and a.name not in seen]
            seen.update(a.name for a in new)
            todo += new
        return True

    def is_never_overwritten(self, x: Var) -> bool:
        """True if the buffer of `x` is never overwritten."""
        return is_never_overwritten(x, self.definitions, self.overwritten)

    # ---- scope

    def pass_through_phis(self, pair: Pair) -> bool:
        """Pass the value out of the enclosing branches by phis.  True on success; False if a loop
        encloses the `Save`."""
        if pair.loops():
            return False
        value: Operand = pair.value
        for inner in pair.save_scope.chain():
            if inner is pair.common:
                break
            branch = inner.stmt
            assert isinstance(branch, If) and isinstance(value, Var)
            other = branch.orelse if inner.branch == "then" else branch.then
            # Named after the slot: the user's variable may be assigned again after this line.
            undef = Var(self.names.fresh(pair.slot.name), value.type)
            other.append(Assign(undef, Op("undef", (), {"type": value.type})))
            target = Var(self.names.fresh(pair.slot.name), value.type)
            sides = (value, undef) if inner.branch == "then" else (undef, value)
            branch.phis.append(Phi(target, *sides))
            value = target
        self.renamed[pair.restore.target.name] = value
        self.replacement[id(pair.save)] = self.replacement[id(pair.restore)] = []
        return True

    def axis_of_size(self, dim: Dim, user: str, at: Stmt) -> tuple[Var, int] | None:
        """An array in scope at a statement, and its axis of size `dim`.  Preferred, in this order:
        an array that is never overwritten, one named `user`, one with a user's name, the latest
        definition."""
        dim = self.facts.canonical(dim)
        found: list[tuple[bool, bool, bool, int, Var, int]] = []
        if all(self.precedes(s.split(".")[0], at) for s in symbols(dim)):
            for k, v in enumerate(self.scopes.var.values()):
                for axis, d in enumerate(dims_of(v)):
                    if self.facts.canonical(d) == dim and self.precedes(v.name, at):
                        lost = v.name in self.overwritten
                        found.append((lost, bool(user) and v.user != user, not v.user, -k, v, axis))
        return min(found, key=lambda f: f[:4])[4:] if found else None

    def precedes(self, name: str, stmt: Stmt) -> bool:
        """True if a value is in scope at a statement."""
        if name not in self.scopes.home:
            return False
        scope, binder = self.scopes.holder(stmt), self.scopes.binder.get(name)
        if not scope.inside(self.scopes.home[name]):
            return False
        if binder is None:
            return True
        encloses = any(s.stmt is binder for s in scope.chain())
        bound_inside = any(v.name == name for v in inner_targets_of(binder))
        return bound_inside if encloses else self.order[id(binder)] < self.order[id(stmt)]


def symbols(dim: Dim) -> set[str]:
    return {s for s in dim.symbols if not isinstance(s, Atom)}


def _sorted_heads(function: Function) -> Function:
    """A copy in which the restores at the head of each block are in the order of their saves,
    so that each can be rematerialised from those before it."""
    body = substitute(function.body, lambda x: x)
    saves = [s.slot.name for s in walk(body) if isinstance(s, Save)]
    order = {name: i for i, name in enumerate(saves)}

    def visit(block: Block) -> None:
        head = 0
        while head < len(block) and _restores(block[head]):
            head += 1
        block[:head] = sorted(block[:head], key=lambda s: order.get(_restores(s), 0))
        for stmt in block[head:]:
            for inner in blocks_of(stmt):
                visit(inner)

    visit(body)
    return replace(function, body=body)


def _restores(stmt: Stmt) -> str:
    """The name of the slot that a statement restores; "" for other statements."""
    if isinstance(stmt, Assign) and stmt.op.name == "restore":
        return stmt.op.attrs["slot"].name
    return ""
