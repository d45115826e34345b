"""Flow-sensitive alias analysis: which live values may share memory, and along which edges.

A value gets its source's memory along an *edge*: a view and its base, a new version and the old
one, a phi and its inputs.  The relation of carried values starts at the loop's entry and grows
along its back edge to a fixpoint, so that two arrays that swap roles in a loop are never merged.
An update conflicts with every value that is still live and may share the memory it writes.
"""

from __future__ import annotations

from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Call,
    Draw,
    For,
    Function,
    If,
    ListOf,
    Op,
    Origin,
    Pack,
    Record,
    Stmt,
    Type,
    Var,
    While,
)
from ..ir.op_registry import RULES
from ..ir.record import field, record
from .live_ranges import UPDATES, Liveness

_SHARING = (
    "alias", "transpose", "reshape", "squeeze", "expand_dims", "broadcast_to",
    "broadcast_like", "unbroadcast", "field", "list_get", "real", "imag", "tuple_part",
)  # fmt: skip
_READ_ONLY = ("broadcast_to", "broadcast_like")


def is_reference(type_: Type) -> bool:
    """True if values of a type are references to memory."""
    return isinstance(type_, (Array, ListOf, Record, Pack))


def aliased_args(op: Op, result: Type) -> tuple[int, ...]:
    """The positions of the arguments that the result of a (non-updating) operation may alias."""
    if not is_reference(result):
        return ()
    if op.name == "index":
        basic = all(item[0] not in ("array", "mask") for item in op.attrs["items"])
        return (0,) if basic else ()
    if op.name == "einsum":
        return (0,) if len(op.args) == 1 else ()
    if op.name in _SHARING or (op.name in RULES and RULES[op.name].kind == "view"):
        return (0,)
    return ()


@record(eq=False)
class Edge:
    """`child` gets the memory of `parent` in `stmt`, a statement of `block`."""

    kind: str  # view, update, element, init, next, then, else
    child: Var
    parent: Var
    stmt: Stmt
    block: Block
    loops: tuple[int, ...] = ()  # around `stmt`, outermost first
    position: int = 0  # of the argument, carried value or phi

    @property
    def cost(self) -> tuple[int, int]:
        """The loop depth of a copy on this edge, and 0 if it copies a part of an array, else 1."""
        part = isinstance(self.stmt, Assign) and self.stmt.op.name in ("index", "list_get")
        return len(self.loops) + (self.kind == "next"), 0 if part else 1


@record
class Conflict:
    """An update (`edge`) that would overwrite the live value `other`, or read-only memory if
    `other` is "".  A copy on any of the `candidates` resolves it."""

    edge: Edge
    other: str
    candidates: list[Edge]


@record
class Facts:
    """The results of the analysis, by name of a value.

    `partners` are the values that it may share memory with, and `why` the edges that relate two
    values and the earlier pair they derive from.  `frozen` are values in read-only memory, with
    the edge and the value they got it from."""

    partners: dict[str, dict[str, None]] = field(default_factory=dict)
    why: dict[tuple[str, str], tuple[tuple[Edge, ...], tuple[str, str]]] = field(
        default_factory=dict
    )
    frozen: dict[str, tuple[Edge | None, str]] = field(default_factory=dict)
    root: dict[str, str] = field(default_factory=dict)  # must-alias; "" if there are several
    fresh: dict[str, bool] = field(default_factory=dict)  # owned by the function, contiguous
    conflicts: dict[tuple[int, str], Conflict] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    loops: dict[str, tuple[int, ...]] = field(default_factory=dict)  # around the definition
    origins: dict[str, Origin | None] = field(default_factory=dict)


class AliasAnalysis:
    """The analysis: walks the program in order, and each loop to a fixpoint."""

    def __init__(self, function: Function, for_lowering: bool = False) -> None:
        self.for_lowering = for_lowering
        self.types = {p.name: p.type for p in function.params}
        written = {p.name for p, _ in function.effects}
        written |= {function.params[i].name for _, i in function.notes.get("inout", ())}
        self.params = {p.name for p in function.params if is_reference(p.type)}
        self.read_only_params = self.params - written
        read_only = [p.name for p in function.params if p.name in self.read_only_params]
        self.live = Liveness(function, read_only, variables=False)
        self.slots: frozenset[str] = function.notes.get("slot_variables", frozenset())
        self.facts = Facts()
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
            self.facts.why[b, a] = (edges, (prior[1], prior[0]))
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
        """Propagate the relation along an edge: the child may share memory with everything that
        its parent may share memory with."""
        edges = () if edge is None else (edge,)
        for z in [parent.name, *self.partners(parent.name)]:
            if z != child.name and self.visible(z, point):
                self.relate(child.name, z, edges, (parent.name, z))
        self.freeze(edge, child, parent)

    def freeze(self, edge: Edge | None, child: Var, parent: Var) -> None:
        """Propagate read-only memory along an edge."""
        if parent.name in self.facts.frozen and child.name not in self.facts.frozen:
            self.facts.frozen[child.name] = (edge, parent.name)
            self.changes += 1

    def meet(self, name: str, root: str, fresh: bool) -> None:
        """Lattice meet of the must-alias root and the freshness of a value with those of another
        source."""
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
        self.meet(child.name, facts.root.get(parent, parent), facts.fresh.get(parent, True))

    def join(self, edges: list[Edge], children: set[str], point: int) -> None:
        """Propagate along several edges at once, as a parallel assignment."""
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
        self.types[v.name] = v.type
        self.facts.origins[v.name] = getattr(stmt, "origin", None)

    def block(self, block: Block) -> None:
        for stmt in block:
            if isinstance(stmt, Assign):
                self.bind(stmt.target, stmt)
                if is_reference(stmt.target.type):
                    self.assign(stmt, block)
            elif isinstance(stmt, (Call, Draw)):
                inout = dict(stmt.inout) if isinstance(stmt, Call) else {}
                for i, v in enumerate(stmt.targets):
                    self.bind(v, stmt)
                    if isinstance(stmt, Call) and i in inout:
                        point = 2 * self.live.points(stmt).begin + 1
                        self.new_version(v, inout[i], stmt, block, point)
                    elif is_reference(v.type):
                        self.meet(v.name, v.name, True)
            elif isinstance(stmt, If):
                self.branch(stmt, block)
            elif isinstance(stmt, (For, While)):
                self.loop(stmt, block)

    def assign(self, stmt: Assign, block: Block) -> None:
        op, target = stmt.op, stmt.target
        point = 2 * self.live.points(stmt).begin + 1
        if op.name in UPDATES:
            self.update(stmt, block, point)
            return
        positions = aliased_args(op, target.type)
        for i in positions:
            parent = op.args[i]
            if isinstance(parent, Var) and is_reference(parent.type):
                edge = self.edge("view", target, parent, stmt, block, i)
                if parent.name in self.slots:
                    self.facts.frozen.setdefault(target.name, (edge, ""))
                else:
                    self.follow(edge, target, parent, point)
        if op.name in _READ_ONLY:
            # Even a broadcast scalar is read-only: all elements share one memory location.
            edge = self.edge("view", target, target, stmt, block, 0)
            self.facts.frozen.setdefault(target.name, (edge, ""))
        if op.name == "pop":
            self.facts.frozen.setdefault(target.name, (None, ""))
        self.meet(target.name, target.name, not positions and op.name != "pop")

    def update(self, stmt: Assign, block: Block, point: int) -> None:
        self.new_version(stmt.target, 0, stmt, block, point)
        for i, v in enumerate(stmt.op.args[1:], 1):
            if stmt.op.name.startswith("list_") and isinstance(v, Var) and is_reference(v.type):
                edge = self.edge("element", stmt.target, v, stmt, block, i)
                self.follow(edge, stmt.target, v, point)

    def new_version(
        self, target: Var, position: int, stmt: Assign | Call, block: Block, point: int
    ) -> None:
        """The target is the argument at a position, overwritten."""
        base = (stmt.op.args if isinstance(stmt, Assign) else stmt.args)[position]
        assert isinstance(base, Var), stmt
        edge = self.edge("update", target, base, stmt, block, position)
        for z in [base.name, *self.partners(base.name)]:
            if z == target.name or not self.live.alive(z, point):
                continue
            chain = self.chain(base.name, z)
            if isinstance(base.type, ListOf) and self.is_unaffected(z, chain):
                continue
            self.facts.conflicts[id(stmt), z] = Conflict(edge, z, [*chain, edge])
        if base.name in self.facts.frozen:
            found = Conflict(edge, "", [*self.frozen_chain(base.name), edge])
            self.facts.conflicts[id(stmt), ""] = found
        self.follow(edge, target, base, point)
        self.inherit(target, base.name)

    def is_unaffected(self, z: str, chain: list[Edge]) -> bool:
        """True if `z` is an array that does not change when a list that it may be an element of
        is updated.  In compiled code, lists hold copies of their elements, and a value read from
        a list is a view of the list's memory."""
        if isinstance(self.types.get(z), ListOf):
            return False
        return not self.for_lowering or any(edge.kind == "element" for edge in chain)

    def branch(self, stmt: If, block: Block) -> None:
        self.block(stmt.then)
        self.block(stmt.orelse)
        for phi in stmt.phis:
            self.bind(phi.target, stmt)
        phis = [(i, p) for i, p in enumerate(stmt.phis) if is_reference(p.target.type)]
        children = {p.target.name for _, p in phis}
        point = 2 * self.live.points(stmt).end
        for kind in ("then", "else"):
            edges = []
            for i, p in phis:
                value = p.then_value if kind == "then" else p.else_value
                if isinstance(value, Var):
                    edges.append(self.edge(kind, p.target, value, stmt, block, i))
            self.join(edges, children, point)

    def loop(self, stmt: For | While, block: Block) -> None:
        place = self.live.points(stmt)
        carried = [(i, c) for i, c in enumerate(stmt.carried) if is_reference(c.phi.type)]
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

    # ---- the edges along which two values share memory

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
