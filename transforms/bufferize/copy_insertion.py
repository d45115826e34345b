"""Copy insertion: resolve alias conflicts so that every update can be done in place.

In value form values do not alias; in the emitted program arrays are references.  Where an update
would overwrite a value that is still live (`alias_analysis.py` finds these conflicts), a copy cuts
one of the edges by which the two share memory.  The cheapest edge is cut: the one in the fewest
loops, and a view in preference to a whole array.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ir.builder import NameSupply
from ..ir.fixpoint import IterationLimit
from ..ir.nodes import (
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
    Stmt,
    Var,
    While,
    targets_of,
)
from .alias_analysis import AliasAnalysis, Edge, is_reference
from .live_ranges import rewrite_reads


def insert_copies(
    function: Function, names: NameSupply, for_lowering: bool = False
) -> AliasAnalysis:
    """Insert copies into `function` (value form, modified in place) until every update can be
    done in place, results are fresh and effects are in the memory of their parameters.  Returns
    the alias analysis of the result."""
    rounds = IterationLimit("storage: insert copies")
    while True:
        rounds.count()
        walk = AliasAnalysis(function, for_lowering)
        cuts = _Cuts(function, walk, names)
        if cuts.resolve_conflicts() or cuts.separate_outputs():
            continue
        if for_lowering and cuts.unify_layouts():
            continue
        return walk


class _Cuts:
    """Inserts copies after one alias analysis.  `cut` are the edges that have been cut."""

    def __init__(self, function: Function, walk: AliasAnalysis, names: NameSupply) -> None:
        self.function = function
        self.walk = walk
        self.facts = walk.facts
        self.names = names
        self.cut: set[Edge] = set()

    def resolve_conflicts(self) -> bool:
        """Cut one edge of each conflict.  True if anything changed."""
        for conflict in self.facts.conflicts.values():
            if self.cut.intersection(conflict.candidates):
                continue
            stmt = conflict.edge.stmt
            if isinstance(stmt, Assign) and stmt.op.attrs.get("optional"):
                stmt.op = Op("add", stmt.op.args)
                self.cut.add(conflict.edge)
                continue
            edge = min(conflict.candidates, key=lambda e: e.cost)
            keeping = edge.kind in ("update", "init") and conflict.other == edge.parent.name
            if not (keeping and self.keep_old(edge)):
                self.copy(edge)
            self.cut.add(edge)
        return bool(self.cut)

    def separate_outputs(self) -> bool:
        """Copy results that share memory with parameters or with each other, and store effects
        that are not in the memory of their parameter.  True if anything changed."""
        function, walk = self.function, self.walk
        changed = False
        seen: set[str] = set()
        if function.notes.get("callee") or "title" in function.notes:
            changed = self.separate_repeated_results()
        inout = {i: function.params[j].name for i, j in function.notes.get("inout", ())}
        for i, result in enumerate([*function.results]):
            if not isinstance(result, Var) or not is_reference(result.type) or result.name in seen:
                continue
            if i in inout and self.facts.root.get(result.name) == inout[i]:
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

    def separate_repeated_results(self) -> bool:
        """Copy a result of a callee or of a derivative that is returned more than once, since the
        caller may write into each.  True if anything changed."""
        results = self.function.results
        changed = False
        for i, result in enumerate(results):
            if isinstance(result, Var) and is_reference(result.type) and result in results[:i]:
                copy = results[i] = self.fresh(result, _stem(result))
                self.function.body.append(Assign(copy, Op("copy", (result,)), None))
                changed = True
        return changed

    def unify_layouts(self) -> bool:
        """Copy inputs of phis such that each variable has one memory layout, as compiled code
        requires: on all paths it holds the same buffer, or buffers that the function owns.  True
        if anything changed."""
        for edge in self.facts.edges:
            if edge.kind not in ("init", "next", "then", "else"):
                continue
            several = not self.facts.root.get(edge.child.name)
            if several and not self.facts.fresh.get(edge.parent.name, True):
                if isinstance(edge.parent.type, (Array, ListOf)):
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
        """Cut an edge: give the child memory of its own."""
        stmt, block = edge.stmt, edge.block
        parent = edge.parent
        if edge.kind == "view":
            assert isinstance(stmt, Assign)
            view = Var(self.names.fresh(f"{_stem(edge.child)}_view"), stmt.target.type)
            block.insert(_at(block, stmt), Assign(view, stmt.op, None))
            stmt.op, stmt.origin = Op("copy", (view,)), None
            return
        # The copy takes the user's name of the child.
        copy = self.fresh(parent, _stem(edge.child), edge.child.user)
        assign = Assign(copy, Op("copy", (parent,)), None)
        if edge.kind in ("update", "element"):
            assert isinstance(stmt, (Assign, Call))
            args = list(stmt.op.args if isinstance(stmt, Assign) else stmt.args)
            args[edge.position] = copy
            if isinstance(stmt, Assign):
                stmt.op = replace(stmt.op, args=tuple(args))
            else:
                stmt.args = tuple(args)
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
        """Copy the old version for its later reads, rather than moving the new version to other
        memory.  The user's statements stay unchanged.  True on success."""
        facts, walk, parent = self.facts, self.walk, edge.parent
        block = edge.block
        related = [parent.name, *walk.partners(parent.name)]
        read_only = any(z in walk.read_only_params for z in related)
        if facts.loops.get(parent.name) != edge.loops or read_only:
            return False
        if parent.name in facts.frozen:
            return False
        at = _at(block, edge.stmt)
        cut = 2 * walk.live.points(edge.stmt).begin
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
        self.function.effects = [(p, kept if v == parent else v) for p, v in self.function.effects]
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


def line_of(origin: Origin, readable: bool = True) -> int:
    """The line that names a saved value; in readable text a line of the user's."""
    site = origin.site if readable else None
    return origin.stmt.line if site is None else site.stmt.line


def saved_name(v: Var, origin: Origin | None) -> str:
    """The name of a copy of an old version: that of the value and the line that defines it."""
    base = v.user or stem(v.name)
    return f"{base}_L{origin.stmt.line}" if origin is not None else f"{base}_in"


def group_start(block: Block, at: int, after: Var) -> int:
    """The index in `block` of the first IR statement of the source statement that block[at]
    belongs to, but not before the definition of `after`."""
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
