"""What a loop carries from one iteration to the next.

The body is run symbolically, from a head state in which nothing is carried; what differs at
the end becomes a carried value, and the body is run again, until the head describes every
iteration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ...ir.builder import OPEN, const
from ...ir.nodes import Array, Block, Carried, ListOf, Operand, Scalar, Type, Var
from ...ir.path_kinds import dtype_kind, least
from ...ir.record import field, record, replace
from ...rules.promotion import join_conflict, join_types
from ...syntax import core
from ..heap.arrays import Arrays
from ..heap.lists import Lists
from ..heap.positions import common_sequence, position
from ..places import Places
from ..session import Part
from ..values import (
    UNDEFINED,
    Cell,
    Conflict,
    DictVal,
    Ended,
    Fields,
    Growing,
    InstanceVal,
    Items,
    ListVal,
    Maybe,
    Num,
    Ref,
    RestVal,
    State,
    TupleVal,
    Value,
)
from .joins import Joins, joined_tensor
from .peel import Peel

Key = tuple[Any, ...]
# one iteration: whether it always fails, and the flag that may end the loop
Once: TypeAlias = Callable[[], tuple[bool, Operand | None]]
# the body, what it carries, and the flag
Looped: TypeAlias = tuple[Block, list[Carried], Operand | None]


CONTAINERS = (ListVal, DictVal, InstanceVal)


@record
class Plan:
    """What a loop carries, by key: a location, then steps into its structure."""

    leaves: dict[Key, Type] = field(default_factory=dict)
    cells: dict[Key, Cell] = field(default_factory=dict)
    # containers that are made anew in iterations: the one at hand
    boxes: dict[Key, Cell] = field(default_factory=dict)
    maybe: dict[Key, tuple[Value, State]] = field(default_factory=dict)
    # what the iterators run over whose positions are carried
    iterators: dict[Key, Value] = field(default_factory=dict)
    grows: dict[Cell, Scalar | Array] = field(default_factory=dict)
    conflicts: dict[Key, Conflict] = field(default_factory=dict)
    pairs: set[frozenset[Cell]] = field(default_factory=set)
    # the least kinds of what iterations pass on (`path_kinds`)
    kinds: dict[Key, str] = field(default_factory=dict)
    changed: bool = False

    def leaf(self, key: Key, type_: Type) -> None:
        if key not in self.leaves or not _same_type(self.leaves[key], type_):
            self.leaves[key] = type_
            self.changed = True

    def kind(self, key: Key, found: str, type_: Type) -> None:
        known = self.kinds.get(key)
        self.kinds[key] = found if known is None else least([known, found])
        if self.kinds[key] not in (known, dtype_kind(type_)):
            self.changed = True

    def in_conflict(self, key: Key) -> bool:
        return any(key[:n] in self.conflicts for n in range(2, len(key) + 1))


def _same_type(a: Type, b: Type) -> bool:
    return a == b and getattr(a, "mixed", False) == getattr(b, "mixed", False)


# Each loop is run twice at least until its types settle, and those inside it twice as often.
DEEPEST_LOOP = 12


@record(eq=False)
class LoopJoins(Part):
    """The values that a loop carries."""

    places: Places
    arrays: Arrays
    lists: Lists
    joins: Joins
    peel: Peel
    loop_depth: int = field(default=0, init=False)

    def loop(self, run: Once, node: core.Node, runs: bool = False) -> Looped:
        """Finds what a loop carries.  `run` runs one iteration into the current block and
        returns whether it always fails, and the flag that may end the loop; the state
        afterwards is that after the loop.  `runs` says that there is an iteration for sure."""
        if self.loop_depth >= DEEPEST_LOOP:
            self.places.refuse(
                node,
                f"more than {DEEPEST_LOOP} loops inside each other are not supported",
                "join loops, or compute with whole arrays",
            )
        self.loop_depth += 1
        try:
            return self._loop(run, node, runs)
        finally:
            self.loop_depth -= 1

    def _loop(self, run: Once, node: core.Node, runs: bool) -> Looped:
        entry, outer = self.state, self.b.block
        length = len(outer)
        names, facts = self.b.names.snapshot(), self.b.facts.snapshot()
        plan = Plan()
        for _ in range(20):
            self.session.state = entry.copy()
            start = self._loop_entry(plan, entry)
            head_vars: dict[Key, Var] = {}
            self.session.state = self._loop_head(plan, start, head_vars)
            head = self.state.copy()
            block: Block = []
            plan.changed = False
            with self.b.into(block), self.joins.at_run_time():
                try:
                    ended, outcome = run()
                except Ended:
                    ended, outcome = True, None
                except Exception as error:  # of a comprehension: statements handle their own
                    if not self.joins.raised_when_reached(error):
                        raise
                    ended, outcome = True, None
            # An iteration that always fails hands nothing on.
            end = head.copy() if ended else self.state
            for key, x, y in self._locations(plan, head, end):
                self._compare(plan, key, x, y, head, end)
            self._compare_boxes(plan, head, end)
            self._compare_aliases(plan, start, end)
            for key, var in head_vars.items():
                plan.kind(key, self._least_kind_at(end, key), var.type)
            if not plan.changed:
                break
            del outer[length:]
            self.b.names.restore(names)
            self.b.facts.restore(facts)
        else:
            self.places.refuse(
                node,
                "the types of this loop's variables do not settle",
                "give each variable one type",
            )
        self.peel.request_peeling(plan.conflicts, node)
        carried: list[Carried] = []
        results: dict[Key, Var] = {}
        with self.b.into(block):
            nexts = {
                key: self._cast_to(self._leaf_at(end, key), var.type)
                for key, var in head_vars.items()
            }
        self.session.state = start
        for key, phi in head_vars.items():
            init = self._cast_to(self._leaf_at(start, key), phi.type)
            result = self.joins.fresh_var(_reopened(phi), phi.user)
            least_kind = plan.kinds[key] if runs else self.b.least_kind(phi)
            self.b.set_least_kind(result, least_kind)
            results[key] = result
            carried.append(Carried(phi, init, nexts[key], result))
        self.session.state = self._loop_head(plan, start, {}, results)
        self.state.views = dict(entry.views)
        self.state.pairs |= end.pairs
        return block, carried, outcome

    def _cast_to(self, operand: Operand, type_: Type) -> Operand:
        if operand.type.dtype == type_.dtype or isinstance(operand.type, ListOf):
            return operand
        return self.joins.narrowed(operand, type_)

    def _locations(self, plan: Plan, head: State, end: State) -> list[tuple[Key, Any, Any]]:
        found: list[tuple[Key, Any, Any]] = []
        boxes = set(plan.boxes.values())  # compared where they are found
        for cell in head.heap:
            if cell in boxes:
                continue
            found.append((("heap", cell), head.heap[cell], end.heap[cell]))
        for name in dict.fromkeys([*head.env, *end.env]):
            x, y = head.env.get(name, UNDEFINED), end.env.get(name, UNDEFINED)
            found.append((("env", name), x, y))
        return found

    def _compare(self, plan: Plan, key: Key, x: Any, y: Any, head: State, end: State) -> None:
        """Extends the plan by what differs between the head and the end of an iteration."""
        if key in plan.conflicts or x is y:
            return
        if x is UNDEFINED:
            if y is not UNDEFINED and not isinstance(y, Conflict):
                plan.maybe[key] = (y.value if isinstance(y, Maybe) else y, end)
                plan.changed = True
            return
        if isinstance(x, Maybe):
            self._compare(
                plan, (*key, "value"), x.value, y.value if isinstance(y, Maybe) else y, head, end
            )
            flag = y.flag if isinstance(y, Maybe) else const(True)
            if x.flag != flag:
                plan.leaf((*key, "flag"), Scalar("bool"))
            return
        if isinstance(x, Num) and isinstance(y, Num):
            if x.operand != y.operand or (x.known != y.known and x.known is not None):
                known: Any = plan.leaves.get(key) or self.arrays.type_where_joined(x.operand)
                why = join_conflict(known, y.operand.type)
                if why:
                    plan.conflicts[key] = Conflict(f"a number is {why}")
                    plan.changed = True
                    return
                plan.leaf(key, _plain(join_types(known, self.arrays.type_where_joined(y.operand))))
            return
        if isinstance(x, Ref) and isinstance(y, Ref):
            if x != y:
                self._compare_refs(plan, key, x, y, end)
            return
        if isinstance(x, Var) and isinstance(y, Var):
            if x != y:
                plan.leaf(key, self.joins.joined_type(plan.leaves.get(key) or x.type, y.type))
            return
        if isinstance(x, TupleVal) and isinstance(y, TupleVal) and len(x.values) == len(y.values):
            for i, (p, q) in enumerate(zip(x.values, y.values)):
                self._compare(plan, (*key, i), p, q, head, end)
            return
        if isinstance(x, Items) and isinstance(y, Items) and len(x.values) == len(y.values):
            for i, (p, q) in enumerate(zip(x.values, y.values)):
                self._compare(plan, (*key, i), p, q, head, end)
            return
        if isinstance(x, Fields) and isinstance(y, Fields) and x.keys == y.keys:
            for i, (p, q) in enumerate(zip(x.values, y.values)):
                self._compare(plan, (*key, i), p, q, head, end)
            return
        if isinstance(x, (Items, Growing)) and isinstance(y, (Items, Growing)):
            elem = self.joins.element_type((end, x), (end, y))
            if elem is not None:
                known = plan.grows.get(key[1])
                if isinstance(x, Items) or known is None:
                    plan.grows[key[1]] = elem
                    plan.changed = True
                if isinstance(x, Growing) and isinstance(y, Growing) and x.operand != y.operand:
                    joined = _same_elem(x.operand.type, y.operand.type)
                    if joined is None:
                        plan.grows[key[1]] = elem
                        plan.changed = True
                    plan.leaf(key, x.operand.type if joined is not None else ListOf(elem))
                return
            self.places.need_unroll(
                self.places.stmt,
                "a list that grows in a loop may hold numbers or arrays of one rank only",
                "keep one list per field",
            )
        if isinstance(x, CONTAINERS) and isinstance(y, type(x)):
            if x.cell is y.cell or key in plan.boxes:
                return
            same = getattr(x, "cls", None) is getattr(y, "cls", None)
            if same and _alike(head.heap[x.cell], end.heap[y.cell]):
                plan.boxes[key] = Cell(x.cell.label)
                plan.changed = True
                return
        try:
            if x == y:
                return
        except Exception:  # an exotic object's own comparison
            pass
        sequence = common_sequence(x, y) if key[0] == "heap" and len(key) == 2 else None
        if sequence is not None:
            plan.iterators[key] = sequence
            self._compare(plan, (*key, "taken"), position(x), position(y), head, end)
            return
        plan.conflicts[key] = Conflict("a name means different things in different iterations")
        plan.changed = True

    def _compare_boxes(self, plan: Plan, head: State, end: State) -> None:
        """What is held by the containers that are made anew in iterations."""
        for key, cell in list(plan.boxes.items()):
            if cell not in head.heap or plan.in_conflict(key):
                continue
            before, after = head.heap[cell], end.heap[self._value_at(end, key).cell]
            if not _alike(before, after):
                plan.conflicts[key] = Conflict("a container holds other things in the next round")
                plan.changed = True
                continue
            for i, (p, q) in enumerate(zip(before.values, after.values)):
                self._compare(plan, (*key, i), p, q, head, end)

    def _compare_refs(self, plan: Plan, key: Key, x: Ref, y: Ref, end: State) -> None:
        saved, self.session.state = self.state, end
        p, q = self.arrays.ref_type(x), self.arrays.ref_type(y)
        self.session.state = saved
        if p.ndim != q.ndim:
            plan.conflicts[key] = Conflict("an array changes its number of dimensions in the loop")
            plan.changed = True
            return
        why = join_conflict(p, q)
        if why:
            plan.conflicts[key] = Conflict(f"an array is {why}")
            plan.changed = True
            return
        if key not in plan.cells:
            plan.cells[key] = Cell(
                key[1] if key[0] == "env" and isinstance(key[1], str) else x.cell.label
            )
            plan.cells[key].tensor = x.cell.tensor
            plan.changed = True
        tensor = joined_tensor(plan.cells[key], y.cell)
        if tensor is not plan.cells[key].tensor:
            plan.cells[key].tensor = tensor
            plan.changed = True
        known: Any = plan.leaves.get(key, p)
        plan.leaf(key, self.joins.joined_type(known, q))

    def _compare_aliases(self, plan: Plan, start: State, end: State) -> None:
        """Carried arrays that may share memory at the head of some iteration."""
        pairs: set[frozenset[Cell]] = set()
        ends: dict[Any, list[Cell]] = {}
        carried = {**plan.cells, **plan.boxes}
        own = set(carried.values())
        for key, cell in carried.items():
            if plan.in_conflict(key):
                continue
            for state, kind in ((start, "start"), (end, "end")):
                value = self._value_at(state, key)
                if not isinstance(value, (Ref, *CONTAINERS)):
                    continue
                # A cell made in the body cannot be reached from the next iteration but through
                # what is carried; what it may share memory with can.
                partners = {p for pair in end.pairs if value.cell in pair for p in pair}
                for other in {value.cell, *partners} - {cell}:
                    if other in self.joins.voids or (kind == "end" and other in own):
                        continue
                    if other in start.heap:
                        pairs.add(frozenset((cell, other)))
                ends.setdefault((kind, value.cell), []).append(cell)
        for group in ends.values():
            for i, p in enumerate(group):
                pairs |= {frozenset((p, q)) for q in group[i + 1 :] if p is not q}
        # So may those whose arrays are two cells of one state that may share memory.
        for kind, state in (("start", start), ("end", end)):
            for one, two in (tuple(pair) for pair in state.pairs if len(pair) == 2):
                for p in ends.get((kind, one), ()):
                    pairs |= {frozenset((p, q)) for q in ends.get((kind, two), ()) if p is not q}
        if not pairs <= plan.pairs:
            plan.pairs |= pairs
            plan.changed = True

    def _loop_entry(self, plan: Plan, entry: State) -> State:
        """The state before the loop, in the form the plan wants; emits into the outer block."""
        state = self.state
        for key, (like, seen) in plan.maybe.items():
            if key[0] == "env" and len(key) == 2:
                state.env[key[1]] = Maybe(self.joins.undef_like(like, seen), const(False))
        for cell, elem in plan.grows.items():
            content = state.heap.get(cell)
            if isinstance(content, Items):
                state.heap[cell] = self.lists.grow(content, elem, None)
            elif isinstance(content, Growing):
                state.heap[cell] = self.lists.widened(content, elem, None)
        return state

    def _loop_head(
        self, plan: Plan, start: State, made: dict[Key, Var], given: dict[Key, Var] | None = None
    ) -> State:
        """The state in which every iteration starts: carried leaves are new names."""
        head = start.copy()
        head.pairs |= plan.pairs

        def leaf(key: Key, type_: Type, user: str) -> Var:
            if given is not None:
                return given[key]
            if key not in made:
                made[key] = self.joins.fresh_var(type_, user)
                kinds = [self._least_kind_at(start, key), plan.kinds.get(key, "")]
                self.b.set_least_kind(made[key], least(kinds))
            return made[key]

        def visit(key: Key, value: Any, user: str) -> Any:
            if key in plan.conflicts:
                return plan.conflicts[key]
            if isinstance(value, Maybe):
                flag = value.flag
                if (*key, "flag") in plan.leaves:
                    flag = leaf((*key, "flag"), Scalar("bool"), f"{user}_is_bound" if user else "")
                return Maybe(visit((*key, "value"), value.value, user), flag)
            if (*key, "taken") in plan.leaves:
                return RestVal(plan.iterators[key], visit((*key, "taken"), position(value), ""))
            if key in plan.cells and isinstance(value, Ref):
                cell = plan.cells[key]
                head.heap[cell] = leaf(key, plan.leaves[key], user)
                return Ref(cell)
            if key in plan.leaves:
                var = leaf(key, plan.leaves[key], user)
                if isinstance(value, Num):
                    return Num(var, arrays=value.arrays)
                return Growing(var) if isinstance(value, Growing) else var
            if key in plan.boxes and isinstance(value, CONTAINERS):
                cell, content = plan.boxes[key], start.heap[value.cell]
                if isinstance(content, Growing):
                    why = "a list that grows in this loop is made anew in it"
                    return plan.conflicts.setdefault(key, Conflict(why))
                values = tuple(visit((*key, i), v, "") for i, v in enumerate(content.values))
                head.heap[cell] = replace(content, values=values)
                return replace(value, cell=cell)
            if isinstance(value, (TupleVal, Items, Fields)):
                values = tuple(visit((*key, i), v, "") for i, v in enumerate(value.values))
                if all(p is q for p, q in zip(values, value.values)):
                    return value
                return replace(value, values=values)
            return value

        for cell, content in start.heap.items():
            head.heap[cell] = visit(("heap", cell), content, self.joins.cell_user(cell))
        for name, value in start.env.items():
            head.env[name] = visit(("env", name), value, "" if name[0] == "<" else name)
        return head

    def _value_at(self, state: State, key: Key) -> Any:
        at_heap = key[0] == "heap"
        value: Any = state.heap.get(key[1]) if at_heap else state.env.get(key[1], UNDEFINED)
        for step in key[2:]:
            if step == "value":
                value = value.value if isinstance(value, Maybe) else value
            elif step == "taken":
                value = position(value)
            elif step == "flag":
                return value.flag if isinstance(value, Maybe) else const(True)
            else:
                held = state.heap[value.cell] if isinstance(value, CONTAINERS) else value
                value = held.values[step]
        return value

    def _least_kind_at(self, state: State, key: Key) -> str:
        """The least kind of the operand that a key stands for."""
        value = self._value_at(state, key)
        if isinstance(value, Ref):  # a view has the dtype of its base
            value = state.heap[value.cell]
        return self.b.least_kind(value.operand if isinstance(value, (Num, Growing)) else value)

    def _leaf_at(self, state: State, key: Key) -> Operand:
        """The operand a key stands for; arrays are read in the given state."""
        value = self._value_at(state, key)
        if isinstance(value, Ref):
            saved, self.session.state = self.state, state
            operand: Operand = self.arrays.read(value)
            self.session.state = saved
            return operand
        if isinstance(value, (Num, Growing)):
            return value.operand
        return value


def _alike(x: Any, y: Any) -> bool:
    """Whether two containers hold as many values, under the same names."""
    if isinstance(x, Items) and isinstance(y, Items):
        return len(x.values) == len(y.values)
    return isinstance(x, Fields) and isinstance(y, Fields) and x.keys == y.keys


def _plain(type_: Type) -> Type:
    return replace(type_, value=None) if isinstance(type_, Scalar) else type_


def _same_elem(a: Type, b: Type) -> Type | None:
    assert isinstance(a, ListOf) and isinstance(b, ListOf)
    return a if a.elem.dtype == b.elem.dtype and a.elem.ndim == b.elem.ndim else None


def _reopened(var: Var) -> Type:
    """A phi's own sizes are not its result's."""
    type_ = var.type
    if isinstance(type_, Array):
        shape = tuple(
            OPEN if any(s.startswith(f"{var.name}.") for s in d.symbols) else d for d in type_.shape
        )
        return replace(type_, shape=shape)
    return _plain(type_)
