"""Where the branches of an `if` meet: what differs between them becomes phis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...ir.builder import OPEN, Sym, const, resolve_dims
from ...ir.nodes import Array, Block, Const, If, ListOf, Operand, Phi, Scalar, Type, Var
from ...ir.path_kinds import least
from ...ir.record import field, record, replace
from ...ir.symbolic_dims import Dim
from ...rules.integer_range_checks import (
    require_exact_in_float,
    require_in_range,
    require_no_float_overflow,
)
from ...rules.promotion import (
    differ_in_integer_dtype,
    join_conflict,
    join_elements,
    join_types,
)
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
    Content,
    DictVal,
    Ended,
    Fields,
    Growing,
    InstanceVal,
    Items,
    ListVal,
    Maybe,
    Num,
    Obj,
    Rec,
    Ref,
    RestVal,
    State,
    TupleVal,
    Value,
)

Key = tuple[Any, ...]


@record
class Branch:
    block: Block
    state: State
    ended: bool


@record(eq=False)
class Joins(Part):
    """The merge of the branches of an `if`."""

    places: Places
    arrays: Arrays
    lists: Lists
    # stand-ins for what names that are not bound yet will hold
    voids: set[Cell] = field(default_factory=set, init=False)
    # the names that existed before each open branch
    branch_names: list[frozenset[str]] = field(default_factory=list, init=False)
    # the number of run-time branches and loops around
    runtime_depth: int = field(default=0, init=False)

    # ---------------------------------------------------------------- branches

    def branch(self, run: Callable[[], bool]) -> Branch:
        """Runs one side from the current state, which is left as it was."""
        before = self.state
        self.session.state = before.copy()
        block: Block = []
        with self.b.into(block), self.at_run_time():
            try:
                ended = run()
            except Ended:
                ended = True
            except Exception as error:
                if not self.raised_when_reached(error):
                    raise
                ended = True
        after, self.session.state = self.state, before
        return Branch(block, after, ended)

    def raised_when_reached(self, error: Exception) -> bool:
        """Turns what Python would raise here into a failure of the run, where the run may not
        come here; False for other errors, and where it certainly comes here."""
        said = getattr(error, "said", None)
        if said is None or not self.runtime_depth:
            return False
        self.b.check(False, type(error).__name__, said)
        return True

    @contextmanager
    def at_run_time(self) -> Iterator[None]:
        """Around what may run or not, as it turns out at run time."""
        self.runtime_depth += 1
        try:
            yield
        finally:
            self.runtime_depth -= 1

    def if_(self, cond: Num, then: Callable[[], bool], orelse: Callable[[], bool]) -> bool:
        """Both sides of a run-time condition; True if neither comes out."""
        origin = self.b.origin
        self.branch_names.append(frozenset(self.b.names.taken))
        try:
            one, two = self.branch(then), self.branch(orelse)
            return self._joined_branches(cond, one, two, origin)
        finally:
            self.branch_names.pop()

    def _joined_branches(self, cond: Num, one: Branch, two: Branch, origin: Any) -> bool:
        if one.ended and two.ended:
            self.b.block.append(If(cond.operand, one.block, two.block, [], origin))
            return True
        if one.ended or two.ended:
            survivor, merged = (two, two) if one.ended else (one, one)
            # What the surviving side computed is needed outside it, so it goes after the If.
            if one.ended:
                self.b.block.append(If(cond.operand, one.block, [], [], origin))
            else:
                self.b.block.append(If(cond.operand, [], two.block, [], origin))
            self.b.block.extend(survivor.block)
            self.session.state = merged.state
            return False
        phis = self._merge(one, two, cond.operand)
        self.b.block.append(If(cond.operand, one.block, two.block, phis, origin))
        return False

    def _merge(self, one: Branch, two: Branch, cond: Operand) -> list[Phi]:
        phis: list[Phi] = []
        merged = self.state.copy()
        merged.heap, merged.pairs = {}, one.state.pairs | two.state.pairs
        memo: dict[Any, Cell] = {}
        before = set(self.state.heap)

        def leaf(x: Operand, y: Operand, user: str) -> Operand:
            if x == y:
                return x
            type_ = self.joined_type(
                self.arrays.type_where_joined(x), self.arrays.type_where_joined(y)
            )
            kinds = [self.b.least_kind(x), self.b.least_kind(y)]
            x, y = self._cast_in(one, x, type_), self._cast_in(two, y, type_)
            target = self.fresh_var(type_, user)
            self.b.set_least_kind(target, least(kinds))
            phis.append(Phi(target, x, y))
            return target

        def join(x: Value, y: Value, user: str) -> Value:
            if x is y:
                return x
            if isinstance(x, Conflict) or isinstance(y, Conflict):
                return x if isinstance(x, Conflict) else y
            if isinstance(x, Maybe) or isinstance(y, Maybe) or x is UNDEFINED or y is UNDEFINED:
                return self._join_maybe(x, y, user, one, two, leaf, join)
            if isinstance(x, Num) and isinstance(y, Num):
                why = join_conflict(x.type, y.type)
                if why:
                    return Conflict(f"{user or 'a number'} is {why}")
                operand = leaf(x.operand, y.operand, user)
                known = x.known if x.known == y.known else None
                return Num(operand, known, x.arrays | y.arrays)
            if isinstance(x, Rec) and isinstance(y, Rec) and x.operand == y.operand:
                return x
            if isinstance(x, Ref) and isinstance(y, Ref):
                return join_refs(x, y, user)
            if isinstance(x, TupleVal) and isinstance(y, TupleVal):
                if len(x.values) == len(y.values) and x.cls is y.cls:
                    pairs = zip(x.values, y.values)
                    return TupleVal(tuple(join(p, q, "") for p, q in pairs), x.cls)
                return Conflict(f"{user} is a tuple of different length on different paths")
            if isinstance(x, (ListVal, DictVal, InstanceVal)) and isinstance(y, type(x)):
                if x.cell is y.cell:
                    return x
                key = (x.cell, y.cell)
                if key not in memo:
                    memo[key] = cell = Cell(user)
                    merged.entangle(cell, x.cell)
                    merged.entangle(cell, y.cell)
                    merged.heap[cell] = join_content(
                        one.state.heap[x.cell], two.state.heap[y.cell], user
                    )
                return replace(x, cell=memo[key])
            if isinstance(x, Obj) and x == y:
                return x
            try:
                if x == y:
                    return x
            except Exception:  # an exotic object's own comparison
                pass
            return Conflict(f"{user or 'a value'} means different things on different paths")

        def join_refs(x: Ref, y: Ref, user: str) -> Value:
            if x == y:
                return x
            key = (x, y)
            if key not in memo:
                p = self._read_in(one, x)
                q = self._read_in(two, y)
                if p.type.ndim != q.type.ndim:
                    return Conflict(
                        f"{user or 'an array'} has {p.type.ndim} dimensions on one path "
                        f"and {q.type.ndim} on another"
                    )
                why = join_conflict(p.type, q.type)
                if why:
                    return Conflict(f"{user or 'an array'} is {why}")
                memo[key] = cell = Cell(user)
                cell.tensor = joined_tensor(x.cell, y.cell)
                merged.heap[cell] = leaf(p, q, user)
                merged.entangle(cell, x.cell)
                merged.entangle(cell, y.cell)
                if x.cell is not y.cell:
                    first, second = exported(x, p, True), exported(y, q, False)
                    if first is not None and second is not None:
                        cell.choice = (cond, first, second)
            return Ref(memo[key])

        def exported(ref: Ref, value: Var, then: bool) -> Ref | None:
            """A reference of one branch that means the same array outside it."""
            if self._outlives(ref, before):
                return ref
            if ref.cell in before or ref.cell.param is not None or ref.path:
                return None
            with self._within(two if then else one):
                nothing = self.b.emit(
                    "undef", type=Array(value.type.dtype, (OPEN,) * value.type.ndim)
                )
            cell = Cell(ref.cell.label)
            cell.tensor = ref.cell.tensor
            pair = (value, nothing.operand) if then else (nothing.operand, value)
            merged.heap[cell] = leaf(*pair, "")
            merged.entangle(cell, ref.cell)
            return Ref(cell)

        def join_content(x: Any, y: Any, user: str) -> Any:
            if x is y:
                return x
            if isinstance(x, Var) and isinstance(y, Var):
                return leaf(x, y, user)
            if isinstance(x, (Items, Growing)) and isinstance(y, (Items, Growing)):
                if isinstance(x, Items) and isinstance(y, Items) and len(x.values) == len(y.values):
                    return Items(tuple(join(p, q, "") for p, q in zip(x.values, y.values)))
                elem = self.element_type((one.state, x), (two.state, y))
                if elem is None:
                    return Conflict(f"{user or 'a list'} differs between paths")
                gx, gy = self._grow_in(one, x, elem), self._grow_in(two, y, elem)
                return Growing(leaf(gx, gy, user))
            if isinstance(x, Fields) and isinstance(y, Fields) and x.keys == y.keys:
                return Fields(x.keys, tuple(join(p, q, "") for p, q in zip(x.values, y.values)))
            if isinstance(x, (Items, Growing, Fields)):
                return Conflict(f"{user or 'a container'} differs between paths")
            sequence = common_sequence(x, y)
            if sequence is not None:
                start = join(position(x), position(y), "")
                assert isinstance(start, Num)
                return RestVal(sequence, start)
            return Conflict("what is left of an iterator differs between paths")

        for cell in one.state.heap:
            if cell in two.state.heap and cell in before:
                user = self.cell_user(cell)
                merged.heap[cell] = join_content(one.state.heap[cell], two.state.heap[cell], user)
        names = list(dict.fromkeys([*one.state.env, *two.state.env]))
        for name in names:
            x, y = one.state.env.get(name, UNDEFINED), two.state.env.get(name, UNDEFINED)
            merged.env[name] = join(x, y, "" if name[0] == "<" else name)
        for other in (one.state, two.state):
            for cell, content in other.heap.items():
                merged.heap.setdefault(cell, content)
        self.session.state = merged
        return phis

    def _outlives(self, ref: Ref, before: set[Cell]) -> bool:
        """Whether a reference made in a branch still means something outside it."""
        if ref.cell not in before or ref.cell.choice is not None:
            return False
        inside = [o for _, what in ref.path for o in _operands(what) if isinstance(o, Var)]
        return all(o.name in self.branch_names[-1] for o in inside)

    def _join_maybe(
        self, x: Any, y: Any, user: str, one: Branch, two: Branch, leaf: Any, join: Any
    ) -> Value:
        flag_x = x.flag if isinstance(x, Maybe) else const(x is not UNDEFINED)
        flag_y = y.flag if isinstance(y, Maybe) else const(y is not UNDEFINED)
        x = x.value if isinstance(x, Maybe) else x
        y = y.value if isinstance(y, Maybe) else y
        if x is UNDEFINED:
            x = self._undef_in(two.state, one, y)
        if y is UNDEFINED:
            y = self._undef_in(one.state, two, x)
        value = join(x, y, user)
        if isinstance(value, Conflict):
            return value
        return Maybe(value, leaf(flag_x, flag_y, f"{user}_is_bound" if user else ""))

    def _undef_in(self, seen: State, branch: Branch, like: Value) -> Value:
        with self._within(branch):
            return self.undef_like(like, seen)

    def undef_like(self, like: Value, seen: State) -> Value:
        """A stand-in of the same structure for a name that is not bound on this path."""
        if isinstance(like, Num):
            type_ = like.operand.type
            if isinstance(type_, Scalar):
                type_ = replace(type_, value=None)
            return Num(self.b.emit("undef", type=type_).operand)
        if isinstance(like, Ref):
            value = self._nothing_like(self.arrays.ref_type_in(seen, like))
            assert isinstance(value.operand, Var)
            ref = self.arrays.new_array(value.operand)
            ref.cell.tensor = like.cell.tensor
            self.voids.add(ref.cell)
            return ref
        if isinstance(like, TupleVal):
            return TupleVal(tuple(self.undef_like(v, seen) for v in like.values), like.cls)
        if isinstance(like, ListVal) and isinstance(seen.heap[like.cell], Growing):
            cell = Cell()
            self.state.heap[cell] = Growing(
                self.b.emit("list_new", type=seen.heap[like.cell].operand.type).operand
            )
            return ListVal(cell)
        if isinstance(like, (ListVal, DictVal, InstanceVal)):
            content = seen.heap[like.cell]
            cell = Cell()
            values = tuple(self.undef_like(v, seen) for v in content.values)
            self.state.heap[cell] = replace(content, values=values)
            self.voids.add(cell)
            return replace(like, cell=cell)
        return like

    def _nothing_like(self, type_: Array) -> Sym:
        """An array that nobody reads.  Where its sizes can be read off arguments it has them, so
        that they are known of what it is joined with."""
        sizes = [self._argument_size(d) for d in type_.shape]
        if not sizes or any(s is None for s in sizes):
            return self.b.emit("undef", type=Array(type_.dtype, (OPEN,) * type_.ndim))
        return self.b.emit("zeros", *sizes, dtype=type_.dtype)

    def _argument_size(self, dim: Dim) -> Sym | None:
        if dim.is_const:
            return self.b.sym(dim.const)
        facts, there = self.b.facts, self.b.facts.size_of(dim)
        sizes = [
            (size, Var(p.name, p.type, p.name), axis)
            for p in self.session.params
            for axis, size in enumerate(p.type.shape if isinstance(p.type, Array) else ())
        ]
        found = [s for s in sizes if facts.known_equal(s[0], dim)]
        if not found and there is not None:
            # As long as a part of another argument: the operations that say so come later.
            found = [s for s in sizes if facts.size_of(s[0]) == there]
            found = [s for s in found[:1] if facts.relate(s[0], dim) == "equal"]
        return self.b.emit("shape", found[0][1], axis=found[0][2]) if found else None

    def _within(self, branch: Branch) -> Any:
        return _Within(self.session, branch)

    def _cast_in(self, branch: Branch, operand: Operand, type_: Type) -> Operand:
        if operand.type.dtype == type_.dtype or isinstance(operand.type, ListOf):
            return operand
        with self._within(branch):
            return self.narrowed(operand, type_)

    def narrowed(self, operand: Operand, type_: Type) -> Operand:
        """A value as one of the type that it has where paths meet."""
        x = Sym(self.b, operand)
        require_in_range(self.b, x, type_.dtype)
        require_exact_in_float(self.b, x, type_.dtype)
        if not isinstance(self.arrays.as_literal(operand), Const):
            require_no_float_overflow(self.b, x, type_.dtype)
        return x.astype(type_.dtype).operand

    def _read_in(self, branch: Branch, ref: Ref) -> Var:
        with self._within(branch):
            return self.arrays.read(ref)

    def _grow_in(self, branch: Branch, content: Any, elem: Any) -> Operand:
        with self._within(branch):
            grown = self.lists.grow(content, elem, None) if isinstance(content, Items) else content
            return self.lists.widened(grown, elem, None).operand

    def element_type(self, *contents: tuple[State, Content]) -> Scalar | Array | None:
        """The element type of lists, each of some state, that become one run-time list; None
        if there is none."""
        types: list[Type] = []
        for state, content in contents:
            if isinstance(content, Growing):
                assert isinstance(content.operand.type, ListOf)
                types.append(content.operand.type.elem)
            else:
                assert isinstance(content, (Items, Fields))
                for value in content.values:
                    if isinstance(value, Num):
                        types.append(value.operand.type)
                    elif isinstance(value, Ref):
                        types.append(self.arrays.ref_type_in(state, value))
                    else:
                        return None
        if not types:
            return None
        types = [t if t.ndim else Scalar(t.dtype, getattr(t, "weak", False)) for t in types]
        joined: Any = types[0]
        for type_ in types[1:]:
            if (
                type_.ndim != joined.ndim
                or not joined.ndim
                and differ_in_integer_dtype(joined, type_)
            ):
                return None
            joined = join_elements(joined, type_)
        if isinstance(joined, Scalar):
            return Scalar(joined.dtype, joined.weak, mixed=joined.mixed)
        made = resolve_dims(joined, self.b.names.fresh("elem"))
        assert isinstance(made, Array)
        return made

    def fresh_var(self, type_: Type, user: str) -> Var:
        name = self.b.fresh_name(user or "t")
        if isinstance(type_, Scalar):
            value = None
            if type_.dtype == "int64":
                value = Dim.of(name)
            type_ = replace(type_, value=value)
        return Var(name, resolve_dims(type_, name), user)

    def cell_user(self, cell: Cell) -> str:
        content = self.state.heap.get(cell)
        if isinstance(content, Var) and content.user:
            return content.user
        return cell.label

    def choose(
        self, cond: Num, then: Callable[[], Value], orelse: Callable[[], Value], node: core.Node
    ) -> Value:
        """The value of whichever side runs."""
        slot = "<value>"
        saved = self.state.env.get(slot)

        def side(run: Any) -> Any:
            def body() -> bool:
                self.state.env[slot] = run()
                return False

            return body

        with self.b.at(self.places.origin(node)):
            ended = self.if_(cond, side(then), side(orelse))
        value = self.state.env.pop(slot, UNDEFINED)
        if saved is not None:
            self.state.env[slot] = saved
        if ended:
            raise Ended
        return self.arrays.usable(value, node)

    def joined_type(self, p: Type, q: Type) -> Type:
        """Joined types; a size stays known where both agree on it: `v = A @ v` of a square A."""
        if isinstance(p, Array) and isinstance(q, Array):
            joined = (
                join_types(replace(p, shape=()), replace(q, shape=())) if p.dtype != q.dtype else p
            )
            shape = tuple(
                a if self.b.facts.guard_equal(a, b) else OPEN for a, b in zip(p.shape, q.shape)
            )
            return Array(joined.dtype, shape)
        if isinstance(p, ListOf) and isinstance(q, ListOf):
            return p
        return join_types(p, q)


class _Within:
    """Emit into a branch's block, in its state, for a while."""

    def __init__(self, owner: Any, branch: Branch) -> None:
        self.owner, self.branch = owner, branch

    def __enter__(self) -> None:
        self.saved = self.owner.state, self.owner.b.block
        self.owner.state, self.owner.b.block = self.branch.state, self.branch.block

    def __exit__(self, *_: Any) -> None:
        self.owner.state, self.owner.b.block = self.saved


def joined_tensor(x: Cell, y: Cell) -> bool | None:
    """Whether an array is a tensor that is one of two; None if only one of them is."""
    return x.tensor if x.tensor is y.tensor else None


def _operands(what: Any) -> list[Any]:
    """The operands in a view step."""
    if isinstance(what, tuple):
        return [o for part in what for o in _operands(part)]
    return [what]


def _plain(type_: Type) -> Type:
    return replace(type_, value=None) if isinstance(type_, Scalar) else type_
