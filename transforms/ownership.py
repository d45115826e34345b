"""Makes every update safe to do in place, by copies where they are needed and cheapest.

In value form nobody shares memory; in the program that will run, arrays are references.
Here each value is related to the values it may share memory with when both are alive.  A
value takes on its source's memory along an *edge*: a view and its base, a new version and
the old one, a phi and its inputs.  An update conflicts if some value that is still alive
may share the memory it writes.  Then one edge between the two is cut by a copy: the one in
the fewest loops, a view's rather than a whole array's.  Relations of carried values start
from the loop's entry and grow along its back edge until they are stable, so that two
arrays that swap roles in a loop are never taken for one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .build import NameSupply
from .ir import (
    Array,
    Assign,
    Block,
    Call,
    For,
    Function,
    If,
    ListOf,
    Op,
    Operand,
    Origin,
    Record,
    Stmt,
    Type,
    Var,
    While,
    targets_of,
)
from .liveness import UPDATES, Liveness, rewrite_reads
from .rules.registry import RULES

_SHARING = (
    "alias", "transpose", "reshape", "squeeze", "expand_dims", "broadcast_to",
    "broadcast_like", "unbroadcast", "field", "list_get",
)  # fmt: skip
_READ_ONLY = ("broadcast_to", "broadcast_like")


def buffered(type_: Type) -> bool:
    """Whether values of a type are references to memory."""
    return isinstance(type_, (Array, ListOf, Record))


def shared_args(op: Op, result: Type) -> tuple[int, ...]:
    """Positions of the arguments whose memory the result of a (non-updating) operation may
    share."""
    if not buffered(result):
        return ()
    if op.name == "index":
        basic = all(item[0] not in ("array", "mask") for item in op.attrs["items"])
        return (0,) if basic else ()
    if op.name == "einsum":
        return (0,) if len(op.args) == 1 else ()
    if op.name in _SHARING or (op.name in RULES and RULES[op.name].kind == "view"):
        return (0,)
    return ()


@dataclass(eq=False)
class Edge:
    """`child` takes on the memory of `parent` in `stmt`, which stands in `block`."""

    kind: str  # view, update, element, init, next, then, else
    child: Var
    parent: Var
    stmt: Stmt
    block: Block
    loops: tuple[int, ...] = ()  # around `stmt`, outermost first
    position: int = 0  # of the argument, carried value or phi

    @property
    def cost(self) -> tuple[int, int]:
        """How often a copy here would run, and whether it copies a whole array."""
        part = isinstance(self.stmt, Assign) and self.stmt.op.name in ("index", "list_get")
        return len(self.loops) + (self.kind == "next"), 0 if part else 1


@dataclass
class Conflict:
    edge: Edge
    other: str
    candidates: list[Edge]


@dataclass
class _Facts:
    """What one walk finds out."""

    partners: dict[str, dict[str, None]] = field(default_factory=dict)
    why: dict[tuple[str, str], tuple[tuple[Edge, ...], tuple[str, str]]] = field(
        default_factory=dict
    )
    frozen: dict[str, tuple[Edge | None, str]] = field(default_factory=dict)
    root: dict[str, str] = field(default_factory=dict)  # "" where there are several
    fresh: dict[str, bool] = field(default_factory=dict)  # owned by the function, contiguous
    conflicts: dict[tuple[int, str], Conflict] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    loops: dict[str, tuple[int, ...]] = field(default_factory=dict)  # around the definition
    origins: dict[str, Origin | None] = field(default_factory=dict)


def own(function: Function, names: NameSupply, for_lowering: bool = False) -> _Walk:
    """Inserts copies into `function` (value form, changed in place) until every update may
    be done in place, results are fresh and effects reach their parameters."""
    rounds = 0
    while True:
        rounds += 1
        assert rounds < 200, "copies do not settle"
        walk = _Walk(function)
        cuts = _Cuts(function, walk, names)
        if cuts.settle_conflicts() or cuts.settle_outputs():
            continue
        if for_lowering and cuts.settle_mixtures():
            continue
        return walk


class _Walk:
    """Relates values in program order; loops are repeated until nothing changes."""

    def __init__(self, function: Function) -> None:
        written = {p.name for p, _ in function.effects}
        self.params = {p.name for p in function.params if buffered(p.type)}
        self.kept = self.params - written
        kept = [p.name for p in function.params if p.name in self.kept]
        self.live = Liveness(function, kept, variables=False)
        self.slots: frozenset[str] = function.notes.get("slot_variables", frozenset())
        self.facts = _Facts()
        self.changes = 0
        self.loops: tuple[int, ...] = ()
        self._edges: dict[tuple[str, str, int], Edge] = {}
        for p in function.params:
            self.facts.root[p.name] = p.name
            self.facts.fresh[p.name] = False
            self.facts.loops[p.name] = ()
        self.block(function.body)

    # ---- relations

    def partners(self, name: str) -> dict[str, None]:
        return self.facts.partners.setdefault(name, {})

    def related(self, a: str, b: str) -> bool:
        return a == b or b in self.partners(a)

    def relate(self, a: str, b: str, edges: tuple[Edge, ...], prior: tuple[str, str]) -> None:
        if a != b and b not in self.partners(a):
            self.partners(a)[b] = None
            self.partners(b)[a] = None
            self.facts.why[a, b] = (edges, prior)
            self.facts.why[b, a] = (edges, prior[::-1])
            self.changes += 1

    def visible(self, name: str, point: int) -> bool:
        return name in self.params or self.live.alive(name, point)

    def edge(
        self, kind: str, child: Var, parent: Var, stmt: Stmt, block: Block, position: int = 0
    ) -> Edge:
        key = (kind, child.name, position)
        if key not in self._edges:
            edge = self._edges[key] = Edge(kind, child, parent, stmt, block, self.loops, position)
            self.facts.edges.append(edge)
        return self._edges[key]

    def follow(self, edge: Edge | None, child: Var, parent: Var, point: int) -> None:
        """The child may share memory with whatever its parent may share memory with."""
        edges = () if edge is None else (edge,)
        for z in [parent.name, *self.partners(parent.name)]:
            if z != child.name and self.visible(z, point):
                self.relate(child.name, z, edges, (parent.name, z))
        self.freeze(edge, child, parent)

    def freeze(self, edge: Edge | None, child: Var, parent: Var) -> None:
        if parent.name in self.facts.frozen and child.name not in self.facts.frozen:
            self.facts.frozen[child.name] = (edge, parent.name)
            self.changes += 1

    def settle(self, name: str, root: str, fresh: bool) -> None:
        """The must-root and freshness of a value, weaker with every further source."""
        facts = self.facts
        if name not in facts.root:
            facts.root[name], facts.fresh[name] = root, fresh
            self.changes += 1
            return
        if facts.root[name] != root and facts.root[name] != "":
            facts.root[name] = ""
            self.changes += 1
        if facts.fresh[name] and not fresh:
            facts.fresh[name] = False
            self.changes += 1

    def inherit(self, child: Var, parent: str) -> None:
        facts = self.facts
        self.settle(child.name, facts.root.get(parent, parent), facts.fresh.get(parent, True))

    def join(self, edges: list[Edge], children: set[str], point: int) -> None:
        """Several children take on their parents' memory at once."""
        for edge in edges:
            parent, child = edge.parent.name, edge.child
            link = None if edge.kind == "result" else edge
            links = () if link is None else (link,)
            for z in [parent, *self.partners(parent)]:
                if z not in children and self.visible(z, point):
                    self.relate(child.name, z, links, (parent, z))
            self.freeze(link, child, edge.parent)
            self.inherit(child, parent)
        for i, a in enumerate(edges):
            for b in edges[:i]:
                if a.child != b.child and self.related(a.parent.name, b.parent.name):
                    links = tuple(e for e in (a, b) if e.kind != "result")
                    prior = (a.parent.name, b.parent.name)
                    self.relate(a.child.name, b.child.name, links, prior)

    # ---- statements

    def bind(self, v: Var, stmt: Stmt) -> None:
        self.facts.loops[v.name] = self.loops
        self.facts.origins[v.name] = getattr(stmt, "origin", None)

    def block(self, block: Block) -> None:
        for stmt in block:
            if isinstance(stmt, Assign):
                self.bind(stmt.target, stmt)
                if buffered(stmt.target.type):
                    self.assign(stmt, block)
            elif isinstance(stmt, Call):
                for v in stmt.targets:
                    self.bind(v, stmt)
                    if buffered(v.type):
                        self.settle(v.name, v.name, True)
            elif isinstance(stmt, If):
                self.branch(stmt, block)
            elif isinstance(stmt, (For, While)):
                self.loop(stmt, block)

    def assign(self, stmt: Assign, block: Block) -> None:
        op, target = stmt.op, stmt.target
        point = 2 * self.live.place(stmt).begin + 1
        if op.name in UPDATES:
            self.update(stmt, block, point)
            return
        positions = shared_args(op, target.type)
        for i in positions:
            parent = op.args[i]
            if isinstance(parent, Var) and buffered(parent.type):
                edge = self.edge("view", target, parent, stmt, block, i)
                if parent.name in self.slots:
                    self.facts.frozen.setdefault(target.name, (edge, ""))
                else:
                    self.follow(edge, target, parent, point)
        if op.name in _READ_ONLY:
            # Even a broadcast number: one element stands for many.
            edge = self.edge("view", target, target, stmt, block, 0)
            self.facts.frozen.setdefault(target.name, (edge, ""))
        if op.name == "pop":
            self.facts.frozen.setdefault(target.name, (None, ""))
        self.settle(target.name, target.name, not positions and op.name != "pop")

    def update(self, stmt: Assign, block: Block, point: int) -> None:
        base = stmt.op.args[0]
        assert isinstance(base, Var), stmt
        target = stmt.target
        edge = self.edge("update", target, base, stmt, block)
        for z in [base.name, *self.partners(base.name)]:
            if z != target.name and self.live.alive(z, point):
                found = Conflict(edge, z, [*self.chain(base.name, z), edge])
                self.facts.conflicts[id(stmt), z] = found
        if base.name in self.facts.frozen:
            found = Conflict(edge, "", [*self.frozen_chain(base.name), edge])
            self.facts.conflicts[id(stmt), ""] = found
        self.follow(edge, target, base, point)
        self.inherit(target, base.name)
        for i, v in enumerate(stmt.op.args[1:], 1):
            if stmt.op.name.startswith("list_") and isinstance(v, Var) and buffered(v.type):
                self.follow(self.edge("element", target, v, stmt, block, i), target, v, point)

    def branch(self, stmt: If, block: Block) -> None:
        self.block(stmt.then)
        self.block(stmt.orelse)
        for phi in stmt.phis:
            self.bind(phi.target, stmt)
        phis = [(i, p) for i, p in enumerate(stmt.phis) if buffered(p.target.type)]
        children = {p.target.name for _, p in phis}
        point = 2 * self.live.place(stmt).end
        for kind in ("then", "else"):
            edges = []
            for i, p in phis:
                value = p.then_value if kind == "then" else p.else_value
                if isinstance(value, Var):
                    edges.append(self.edge(kind, p.target, value, stmt, block, i))
            self.join(edges, children, point)

    def loop(self, stmt: For | While, block: Block) -> None:
        place = self.live.place(stmt)
        carried = [(i, c) for i, c in enumerate(stmt.carried) if buffered(c.phi.type)]
        phis = {c.phi.name for _, c in carried}
        outside, inside = self.loops, (*self.loops, id(stmt))
        self.loops = inside
        if isinstance(stmt, For):
            self.bind(stmt.index, stmt)
        for c in stmt.carried:
            self.bind(c.phi, stmt)
        self.loops = outside
        inits = [
            self.edge("init", c.phi, c.init, stmt, block, i)
            for i, c in carried
            if isinstance(c.init, Var)
        ]
        nexts = [
            self.edge("next", c.phi, c.next, stmt, block, i)
            for i, c in carried
            if isinstance(c.next, Var)
        ]
        self.join(inits, phis, 2 * place.begin + 1)
        while True:
            before = self.changes
            self.loops = inside
            if isinstance(stmt, While):
                self.block(stmt.test)
            self.block(stmt.body)
            self.loops = outside
            self.join(nexts, phis, 2 * place.tail + 1)
            if self.changes == before:
                break
        for c in stmt.carried:
            self.bind(c.result, stmt)
        results = [Edge("result", c.result, c.phi, stmt, block) for _, c in carried]
        self.join(results, {c.result.name for _, c in carried} | phis, 2 * place.end + 1)

    # ---- the edges by which two values came to share memory

    def chain(self, a: str, b: str) -> list[Edge]:
        edges: list[Edge] = []
        while a != b:
            step, (a, b) = self.facts.why[a, b]
            edges += step
        return edges

    def frozen_chain(self, name: str) -> list[Edge]:
        edges: list[Edge] = []
        while name:
            edge, name = self.facts.frozen[name]
            if edge is not None:
                edges.append(edge)
        return edges


class _Cuts:
    """Rewrites the function after one walk."""

    def __init__(self, function: Function, walk: _Walk, names: NameSupply) -> None:
        self.function = function
        self.walk = walk
        self.facts = walk.facts
        self.names = names
        self.cut: set[Edge] = set()

    def settle_conflicts(self) -> bool:
        for conflict in self.facts.conflicts.values():
            if self.cut.intersection(conflict.candidates):
                continue
            stmt = conflict.edge.stmt
            assert isinstance(stmt, Assign)
            if stmt.op.attrs.get("optional"):
                stmt.op = Op("add", stmt.op.args)
                self.cut.add(conflict.edge)
                continue
            edge = min(conflict.candidates, key=lambda e: e.cost)
            keeping = edge.kind in ("update", "init") and conflict.other == edge.parent.name
            if not (keeping and self.keep_old(edge)):
                self.copy(edge)
            self.cut.add(edge)
        return bool(self.cut)

    def settle_outputs(self) -> bool:
        """Results that share memory with parameters or one another are copied; effects that
        are not in their parameter's memory are stored there."""
        function, walk = self.function, self.walk
        changed = False
        seen: set[str] = set()
        if function.notes.get("callee"):
            changed = self.settle_twice()
        for result in list(function.results):
            if not isinstance(result, Var) or not buffered(result.type) or result.name in seen:
                continue
            others = {result.name, *walk.partners(result.name)}
            if others & (walk.params | seen) or result.name in self.facts.frozen:
                copy = self.fresh(result, _stem(result))
                function.body.append(Assign(copy, Op("copy", (result,)), None))
                function.results = [copy if r == result else r for r in function.results]
                changed = True
            seen.add(result.name)
        for i, (param, value) in enumerate(function.effects):
            name = value.name if isinstance(value, Var) else ""
            if self.facts.root.get(name) != param.name:
                final = Var(self.names.fresh(param.name), param.type, param.user)
                op = Op("update", (param, value), {"path": (), "final": True})
                function.body.append(Assign(final, op, None))
                function.effects[i] = (param, final)
                changed = True
        return changed

    def settle_twice(self) -> bool:
        """A caller may write into each of the results it is given: no two are one array."""
        results = self.function.results
        changed = False
        for i, result in enumerate(results):
            if isinstance(result, Var) and buffered(result.type) and result in results[:i]:
                results[i] = self.fresh(result, _stem(result))
                self.function.body.append(Assign(results[i], Op("copy", (result,)), None))
                changed = True
        return changed

    def settle_mixtures(self) -> bool:
        """A variable of compiled code has one memory layout: what is assigned to it on
        several paths is either one buffer all along or always the function's own."""
        for edge in self.facts.edges:
            if edge.kind not in ("init", "next", "then", "else"):
                continue
            several = not self.facts.root.get(edge.child.name)
            if several and not self.facts.fresh.get(edge.parent.name, True):
                if isinstance(edge.parent.type, Array):
                    self.copy(edge)
                    self.cut.add(edge)
        return bool(self.cut)

    # ---- rewriting

    def fresh(self, like: Var, hint: str, user: str = "") -> Var:
        type_: Any = like.type
        if isinstance(type_, Array):
            type_ = replace(type_, layout="C")
        return Var(self.names.fresh(hint), type_, user)

    def copy(self, edge: Edge) -> None:
        """Gives the child memory of its own."""
        stmt, block = edge.stmt, edge.block
        parent = edge.parent
        if edge.kind == "view":
            assert isinstance(stmt, Assign)
            view = Var(self.names.fresh(f"{_stem(edge.child)}_view"), stmt.target.type)
            block.insert(_at(block, stmt), Assign(view, stmt.op, None))
            stmt.op, stmt.origin = Op("copy", (view,)), None
            return
        # The copy continues the child, which is what the user's name stands for.
        copy = self.fresh(parent, _stem(edge.child), edge.child.user)
        assign = Assign(copy, Op("copy", (parent,)), None)
        if edge.kind in ("update", "element"):
            assert isinstance(stmt, Assign)
            args = list(stmt.op.args)
            args[edge.position] = copy
            stmt.op = replace(stmt.op, args=tuple(args))
            block.insert(_at(block, stmt), assign)
        elif edge.kind == "init":
            assert isinstance(stmt, (For, While))
            stmt.carried[edge.position].init = copy
            block.insert(_at(block, stmt), assign)
        elif edge.kind == "next":
            assert isinstance(stmt, (For, While))
            stmt.carried[edge.position].next = copy
            stmt.body.append(assign)
        elif edge.kind == "then":
            assert isinstance(stmt, If)
            stmt.phis[edge.position].then_value = copy
            stmt.then.append(assign)
        else:
            assert isinstance(stmt, If) and edge.kind == "else"
            stmt.phis[edge.position].else_value = copy
            stmt.orelse.append(assign)

    def keep_old(self, edge: Edge) -> bool:
        """Instead of moving the new version elsewhere, keeps a copy of the old one for those
        who read it later; so the user's statements stay as they are."""
        facts, walk, parent = self.facts, self.walk, edge.parent
        block = edge.block
        related = [parent.name, *walk.partners(parent.name)]
        if facts.loops.get(parent.name) != edge.loops or any(z in walk.kept for z in related):
            return False
        if parent.name in facts.frozen:
            return False
        at = _at(block, edge.stmt)
        cut = 2 * walk.live.place(edge.stmt).begin
        later, inside = _Reads(parent.name, cut), _Reads(parent.name, cut)
        rewrite_reads(self.function.body, walk.live, later)
        rewrite_reads(block[at:], walk.live, inside)
        outputs = [*self.function.results, *(v for _, v in self.function.effects)]
        top = block is self.function.body
        if later.count != inside.count or (parent in outputs and not top):
            return False
        if not inside.count and parent not in outputs:
            return False
        kept = self.fresh(parent, saved_name(parent, facts.origins.get(parent.name)))
        notes = self.function.notes
        notes["kept"] = (*notes.get("kept", ()), kept.name)

        def swap(operand: Operand, point: int) -> Operand:
            return kept if operand == parent and point > cut else operand

        rewrite_reads(block[at:], walk.live, swap)
        self.function.results = [kept if r == parent else r for r in self.function.results]
        self.function.effects = [
            (p, kept if v == parent else v) for p, v in self.function.effects
        ]
        block.insert(group_start(block, at, parent), Assign(kept, Op("copy", (parent,)), None))
        return True


class _Reads:
    """Counts the reads of a name after a point."""

    def __init__(self, name: str, after: int) -> None:
        self.name, self.after, self.count = name, after, 0

    def __call__(self, operand: Operand, point: int) -> Operand:
        if isinstance(operand, Var) and operand.name == self.name and point > self.after:
            self.count += 1
        return operand


def _at(block: Block, stmt: Stmt) -> int:
    return next(i for i, s in enumerate(block) if s is stmt)


def _stem(v: Var) -> str:
    return v.user or stem(v.name)


def stem(name: str) -> str:
    """`h_bar` for `h_bar_2`."""
    head, _, tail = name.rpartition("_")
    return head if head and tail.isdigit() else name


def saved_name(v: Var, origin: Origin | None) -> str:
    """A kept value is named for the line that made it."""
    base = v.user or stem(v.name)
    return f"{base}_L{origin.stmt.line}" if origin is not None else f"{base}_in"


def group_start(block: Block, at: int, after: Var) -> int:
    """Where the source statement that block[at] belongs to begins in `block`, but not
    before the definition of `after`."""
    origin = getattr(block[at], "origin", None)
    if origin is None:
        return at
    while at > 0:
        before = block[at - 1]
        other = getattr(before, "origin", None)
        if other is None or other.stmt != origin.stmt or other.frame != origin.frame:
            break
        if after in list(targets_of(before)):
            break
        at -= 1
    return at
