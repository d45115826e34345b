"""What is requested of a tape: the product of its region, put into the program.

A gradient that is requested where the region stands replaces the region by its forward part,
which saves what the sweep needs, and the sweep follows.  Anywhere else, in a branch or a loop
further inside, and for Jacobians, the region stays as it is: its own values are in sight there,
and only the loops and branches in it, which the sweep runs backwards, are computed again.
"""

from __future__ import annotations

from typing import Any

from ...autodiff.activity import Activity, activity
from ...autodiff.callee_vjps import CalleeVjps
from ...autodiff.custom_derivative import inline
from ...autodiff.revolve import free_variables
from ...diagnostics.activity_report import location_of
from ...ir.nodes import (
    Assign,
    Block,
    For,
    Function,
    If,
    Module,
    Operand,
    Save,
    Span,
    Stmt,
    Var,
    While,
    is_complex,
    is_float,
    map_blocks,
    walk,
)
from ...ir.record import record, replace
from ...rules.axes_and_sizes import constant_value, product
from ...syntax import core
from ...syntax.printer import show
from ..derivatives.derived import Derivatives
from ..derivatives.jacobians import Jacobians
from ..derivatives.tracing import Traced, Tracing
from ..dispatch import answers
from ..heap.arrays import Arrays
from ..patterns import Leaf, Pattern, leaves_of
from ..places import Places
from ..session import Part
from ..surface.guards import Guards
from ..values import UNDEFINED, Args, Cell, Kwargs, Obj, Ref, Value
from ..variables import Tape, Variables
from .tape import Tapes, Unconnected, defined, defining


@record
class Asked:
    """A request: `sources` are the values that count as what was requested, in the structure
    `pattern` with the leaves `packed`, None where the tape knows of none; `whys` says why.
    `outs` is what is differentiated; `reach` are the values between."""

    tape: Tape
    region: Block
    function: Function
    outs: list[Operand]
    pattern: Pattern
    packed: list[Any]
    sources: list[Var | None]
    whys: list[str]
    reach: Activity
    node: core.Call

    @property
    def connected(self) -> list[Var]:
        """The sources on which the target depends, each once."""
        return list(dict.fromkeys(v for v in self.sources if v is not None and v in self.reach))


@record(eq=False)
class TapeProducts(Part):
    """Gradients and Jacobians of a tape."""

    places: Places
    variables: Variables
    arrays: Arrays
    guards: Guards
    tracing: Tracing
    derived: Derivatives
    jacobians: Jacobians
    tape: Tapes

    # ---- gradient

    @answers("gradient")
    def tape_gradient(self, tape: Tape, args: Args, kwargs: Kwargs, node: core.Call) -> Value:
        names = ("target", "sources", "output_gradients", "unconnected_gradients")
        given = {**dict(zip(names, args)), **kwargs}
        outs, seeds = self._targets(given, node)
        asked = self._asked_of(tape, outs, given["sources"], node)
        wanted = asked.connected
        bars: dict[str, Operand] = {}
        if wanted and tape.block is self.b.block and not tape.copies:
            bars = self._swept_in_place(asked, wanted, seeds)
        elif wanted:
            made = self._separate_sweep(asked, wanted)
            found = self._inlined(made, dict(zip(made.params[-len(seeds) :], seeds)))
            bars = dict(zip((v.name for v in wanted), found))
        return self._answer(asked, bars, given, ())

    def _targets(
        self, given: dict[str, Value], node: core.Call
    ) -> tuple[list[Operand], list[Operand]]:
        """What is differentiated, and the adjoints it is given."""
        pattern, outs = self.tracing.packed(given["target"], node)
        outs = [self.tape.first_name(x) for x in outs]
        seeds = given.get("output_gradients")
        if seeds is None or (isinstance(seeds, Obj) and seeds.value is None):
            ones = [self._ones(x) if is_float(x.type) else x for x in outs]
        else:
            ones = self.tracing.matched(seeds, pattern, outs, node, "output_gradients")
        pairs = [(o, s) for o, s in zip(outs, ones) if is_float(o.type)]
        return [o for o, _ in pairs], [s for _, s in pairs]

    def _ones(self, x: Operand) -> Operand:
        return self.b.emit("full_like", x, 1.0, dtype=x.type.dtype).operand

    def _answer(
        self, asked: Asked, bars: dict[str, Operand], given: dict[str, Value], rows: Any
    ) -> Value:
        """The adjoints in the structure of the sources; zeros have the sizes `rows` in front."""
        zero = self.tape.unconnected_choice(given, asked.node) == "zero"
        values: dict[int, Value] = {}
        for position, leaf in enumerate(leaves_of(asked.pattern)):
            source, why = asked.sources[position], asked.whys[position]
            if source is not None and source.name in bars:
                values[leaf.index] = self._given(asked.tape, bars[source.name])
                continue
            text = _source_text(asked.node, position, len(asked.sources))
            origin = self.places.origin(asked.node)
            lost = Unconnected(text, origin, why, asked.function, source)
            self.shared.unconnected[lost] = None
            values[leaf.index] = Obj(None)
            if zero:
                like = self.arrays.sym(asked.packed[leaf.index])
                sizes = [*rows, *like.shape]
                made = self.b.emit("zeros", *sizes, dtype=like.dtype) if sizes else self.b.emit(
                    "zeros_like", like, dtype=like.dtype
                )  # fmt: skip
                values[leaf.index] = self._given(asked.tape, made.operand)
        return self.tracing.filled(asked.pattern, values, "gradient")

    def _given(self, tape: Tape, operand: Operand) -> Value:
        """What a tape gives: a number, an array, or a tensor of the `tf` namespace."""
        value = self.tracing.wrap_operand(operand)
        return self.arrays.as_tensor(value) if tape.tensors else value

    # ---- Jacobians

    @answers("jacobian")
    def tape_jacobian(self, tape: Tape, args: Args, kwargs: Kwargs, node: core.Call) -> Value:
        given = _named(args, kwargs)
        out = self._one_target(given, node)
        asked = self._asked_of(tape, [out], given["sources"], node)
        wanted, rows = asked.connected, self.b.sym(out).shape
        if not rows:
            made = [] if not wanted else self._one_by_one(asked, wanted, self._ones(out))
            return self._answer(asked, dict(zip((v.name for v in wanted), made)), given, rows)
        bars = []
        if wanted:
            basis = self.jacobians.basis_of([out], [])
            seeds = self.jacobians.directions(basis, [out])
            bars = [
                self.jacobians.shaped_as(self.b.sym(bar), [*basis.sizes[0], *self.b.sym(v).shape])
                for v, bar in zip(wanted, self._many(asked, wanted, seeds[0], basis.total))
            ]
        return self._answer(asked, dict(zip((v.name for v in wanted), bars)), given, rows)

    @answers("batch_jacobian")
    def tape_batch_jacobian(self, tape: Tape, args: Args, kwargs: Kwargs, node: core.Call) -> Value:
        given = _named(args, kwargs)
        sources: Any = given.get("source", given.get("sources"))
        out = self._one_target(given, node)
        asked = self._asked_of(tape, [out], sources, node)
        self._check_batches(asked, out, node)
        batch, *rows = self.b.sym(out).shape
        sizes = [batch, *rows, *self.arrays.sym(asked.packed[0]).shape[1:]]
        if not asked.connected:  # zeros in any case, as in TensorFlow
            return self._given(tape, self.b.emit("zeros", *sizes, dtype=out.type.dtype).operand)
        (source,) = asked.connected
        total = constant_value(product(rows))
        eye = self.b.emit("eye", total, total, 0, dtype=out.type.dtype)
        eye = self.b.emit("reshape", eye, total, 1, *rows)
        seeds = self.b.emit("broadcast_to", eye, total, batch, *rows)
        (bar,) = self._many(asked, [source], seeds.operand, total)
        turned = self.b.emit("transpose", bar, axes=(1, 0, *range(2, bar.type.ndim)))
        return self._given(tape, self.jacobians.shaped_as(turned, sizes))

    def _check_batches(self, asked: Asked, out: Operand, node: core.Call) -> None:
        ok = isinstance(asked.pattern, Leaf)
        source = self.arrays.sym(asked.packed[0]) if ok else None
        if source is None or source.ndim < 2 or out.type.ndim < 2:
            text = "batch_jacobian takes one target and one source, of two axes or more each"
            raise self.places.located(ValueError(text), node)
        with self.guards.guarding(node):
            rows = self.b.sym(out).shape[0], source.shape[0]
            text = "batch_jacobian: target and source differ in their first axis: "
            self.b.check(rows[0] == rows[1], "ValueError", text, rows[0], " and ", rows[1])

    def _one_target(self, given: dict[str, Value], node: core.Call) -> Operand:
        pattern, outs = self.tracing.packed(given["target"], node)
        if not isinstance(pattern, Leaf) or not is_float(outs[0].type):
            self.places.refuse(
                node,
                "a Jacobian is taken of one number or array of floats",
                "call it once for each",
            )
        if is_complex(outs[0].type):
            self.places.refuse(
                node,
                "not supported: a Jacobian of complex numbers",
                "take it of real and imaginary parts",
            )
        return self.tape.first_name(outs[0])

    def _one_by_one(self, asked: Asked, wanted: list[Var], seed: Operand) -> list[Operand]:
        made = self._separate_sweep(asked, wanted)
        return self._inlined(made, {made.params[-1]: seed})

    def _many(self, asked: Asked, wanted: list[Var], seeds: Operand, total: Any) -> list[Operand]:
        """The adjoints for many seeds at once; they have these along a new first axis."""
        made = self._separate_sweep(asked, wanted)
        seed = made.params[-1]
        many = self.jacobians.over_seeds(made, [seed], total)
        given = next(p for p in many.params if p.name == seed.name)
        return self._inlined(many, {given: seeds})

    # ---- the question

    def _asked_of(self, tape: Tape, outs: list[Operand], sources: Value, node: core.Call) -> Asked:
        if not self.tape.in_reach(tape):
            self.places.refuse(
                node,
                "this tape was made in another branch, loop or function than its gradient is "
                "asked for",
                "ask inside the branch or loop that holds the `with` block",
            )
        if tape.around:
            self.places.refuse(
                node,
                "a tape around this one is asked inside its block",
                "ask it after the block, or decorate the step with @s2s.function",
            )
        region = self.tape.region(tape)
        function = self.tracing.as_function(Traced(region, [], [], [], UNDEFINED), outs)
        function.notes["unrecorded"] = frozenset(tape.unrecorded)
        packer = self.tracing.packer(node)
        asked = Asked(
            tape, region, function, outs, packer.pack(sources), packer.leaves, [], [],
            Activity(frozenset(), frozenset()), node,
        )  # fmt: skip
        bound = set(defined(region))
        self._refuse_elements(asked, bound)
        for leaf in leaves_of(asked.pattern):
            source, why = self._source(asked, packer.leaves[leaf.index], bound)
            asked.sources.append(source)
            asked.whys.append(why or self._outside(outs, bound, asked.sources))
        wanted = [v for v in asked.sources if v is not None]
        asked.reach = activity(function, [v.name for v in wanted], outs)
        self._refuse_earlier_iterations(asked, bound)
        return asked

    def _refuse_elements(self, asked: Asked, bound: set[str]) -> None:
        """An element of a run-time list exists since the list was made, but is read out of it
        after the block."""
        for x in asked.outs:
            made = self.b.definitions.get(getattr(x, "name", ""))
            if made is None or made.name != "list_get" or x.name in bound:  # type: ignore[union-attr]
                continue
            if getattr(made.args[0], "name", "") in bound:
                self.places.refuse(
                    asked.node,
                    "the target is an element of a list whose length is known only at run time",
                    "give the element a name inside the block",
                )

    def _source(self, asked: Asked, value: Any, bound: set[str]) -> tuple[Var | None, str]:
        """The value that counts as a source, or why there is none."""
        tape = asked.tape
        if isinstance(value, Ref) and value.cell in self.variables.variables and not value.path:
            return self._variable_source(tape, value.cell)
        if isinstance(value, Ref) and value.cell.choice is not None:
            self.places.refuse(
                asked.node,
                "this source is one of two arrays, as it turns out at run time",
                "ask for the gradient inside the branches",
            )
        if isinstance(value, Ref) and value.cell in tape.cells and not value.path:
            return tape.cells[value.cell], ""  # whatever was written into it since
        x = (
            self.arrays.read(value)
            if isinstance(value, Ref)
            else self.tape.first_name(value.operand)
        )
        if not is_float(x.type):
            return None, f"is {x.type.dtype}, and there are derivatives by floats only"
        if not isinstance(x, Var):
            return None, "is a constant"
        if x.name in tape.watched:
            return x, ""
        if x.name not in bound:
            made = defining([*self.b.around, self.b.block], x.name)
            place = location_of(made.origin) if made is not None else None
            if place is None:
                return None, "is not watched by the tape"
            return None, f"is computed outside of the tape's block ({place})"
        if x not in activity(asked.function, self._roots(tape), [x]):
            return None, "is computed from nothing that the tape watches"
        return x, ""

    def _variable_source(self, tape: Tape, cell: Cell) -> tuple[Var | None, str]:
        entry = tape.entry.get(cell) or cell.param
        variable = self.variables.variables[cell]
        assert entry is not None
        if not is_float(entry.type):
            return None, f"is {entry.type.dtype}, and there are derivatives by floats only"
        if tape.accessed and variable.trainable:
            return entry, ""
        if cell in tape.cells:
            return tape.cells[cell], ""
        if variable.trainable:
            return None, "is not watched: the tape has watch_accessed_variables=False"
        return None, "is not watched: it is a Variable with trainable=False"

    def _roots(self, tape: Tape) -> list[str]:
        """Everything that the tape watches."""
        own = (self._variable_source(tape, c)[0] for c in self.variables.variables)
        return [*tape.watched, *(v.name for v in own if v is not None)]

    def _outside(self, outs: list[Operand], bound: set[str], sources: list[Var | None]) -> str:
        """Says so if the target was not computed in the tape's block."""
        for x in outs:
            if not isinstance(x, Var) or x.name in bound or x in sources:
                return ""
        for x in outs:
            made = defining([*self.b.around, self.b.block], x.name)  # type: ignore[union-attr]
            place = location_of(made.origin) if made is not None else None
            if place is not None:
                return f"is not connected: the target is computed outside of the block ({place})"
        return "is not connected: the target is not computed in the tape's block"

    def _refuse_earlier_iterations(self, asked: Asked, bound: set[str]) -> None:
        """Inside a loop of its own open block a tape knows the present iteration only: what was
        carried here from those before has no derivative yet."""
        tape = asked.tape
        if tape.end is not None or tape.block is self.b.block:
            return
        own = {*tape.taken, *bound, *(p.name for p in self.session.params)}
        given = [p for p in asked.function.params if p.name not in own and is_float(p.type)]
        if any(v in activity(asked.function, [v.name], asked.outs) for v in given):
            self.places.refuse(
                asked.node,
                "this gradient reaches back into earlier iterations of a loop that is "
                "still running",
                "ask for it after the loop, or open the tape inside the loop",
            )

    # ---- products

    def _swept_in_place(
        self, asked: Asked, wanted: list[Var], seeds: list[Operand]
    ) -> dict[str, Operand]:
        """Puts forward part and sweep into the program; the adjoints by name."""
        tape, function, last = asked.tape, asked.function, asked.tape.last
        wrt, inner = self._wrt(asked, wanted)
        made = self.derived.reverse_of(function, wrt, inner)
        split, places = made.notes["forward"], made.notes["places"]
        start, grown = tape.start, split - len(asked.region)

        def moved(at: int) -> int:
            if at >= last:
                return at + grown
            return at if at <= start else start + places[at - start]

        tape.block[start:last] = made.body[:split]
        for other in self.variables.tapes:
            if other.block is tape.block:
                other.start = moved(other.start)
                other.end = None if other.end is None else moved(other.end)
        self.tracing.name_again(zip(made.params[len(function.params) :], seeds))
        origin = self.places.origin(asked.node)
        sweep = made.body[split:]
        if origin is not None and not origin.frame:
            sweep = _requested_by(sweep, origin.stmt)
        self.b.block += sweep
        return dict(zip((*wrt, *inner), made.results))

    def _wrt(self, asked: Asked, wanted: list[Var]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of sources from outside the region, and of those it defines."""
        bound = set(defined(asked.region))
        params = {p.name for p in asked.function.params}
        asked.function.params += [v for v in wanted if v.name not in bound | params]
        inside = tuple(v.name for v in wanted if v.name in bound)
        return tuple(v.name for v in wanted if v.name not in bound), inside

    def _separate_sweep(self, asked: Asked, wanted: list[Var]) -> Function:
        """The sweep and what it computes again, as a function of what is in sight at the
        request, and of the seeds; its results are the adjoints of `wanted`."""
        wrt, inner = self._wrt(asked, wanted)
        made = self.derived.reverse_of(asked.function, wrt, inner, split=False)
        split, own = made.notes["forward"], len(asked.function.params)
        sweep = made.body[split:]
        slots = set(_restored(sweep))
        again = [s for s in made.body[:split] if slots & set(_saved([s]))]
        again = (
            CalleeVjps(Module(self.tracing.callees(again), ""))
            .without_effects(replace(made, body=again))
            .body
        )
        body = _without_saves([*again, *sweep], slots | set(_restored(again)))
        results = dict(zip((*wrt, *inner), made.results))
        ordered = [results[v.name] for v in wanted]
        seeds = made.params[own:]
        given = [v for v in free_variables(body, ordered) if v not in seeds]
        return replace(made, params=[*given, *seeds], body=body, results=ordered)

    def _inlined(self, made: Function, seeds: dict[Var, Operand]) -> list[Operand]:
        given = {p.name: x for p, x in seeds.items()}
        return inline(self.b, made, [given.get(p.name, p) for p in made.params], None)


def _requested_by(sweep: Block, statement: Span) -> Block:
    """A sweep whose origins hold the statement of the user's that requests it."""

    def marked(stmt: Stmt) -> Stmt:
        stmt = map_blocks(stmt, lambda block: [marked(s) for s in block])
        if stmt.origin is None:
            return stmt
        return replace(stmt, origin=replace(stmt.origin, requested=statement))

    return [marked(s) for s in sweep]


def _restored(block: Block) -> list[str]:
    ops = (s.op for s in walk(block) if isinstance(s, Assign))
    return [op.attrs["slot"].name for op in ops if op.name == "restore"]


def _saved(block: Block) -> list[str]:
    return [s.slot.name for s in walk(block) if isinstance(s, Save)]


def _without_saves(block: Block, slots: set[str]) -> Block:
    """The block without saves for other sweeps than those in `slots`."""
    out: Block = []
    for stmt in block:
        if isinstance(stmt, Save) and stmt.slot.name not in slots:
            continue
        if isinstance(stmt, If):
            then, orelse = (_without_saves(b, slots) for b in (stmt.then, stmt.orelse))
            stmt = replace(stmt, then=then, orelse=orelse)
        elif isinstance(stmt, For):
            stmt = replace(stmt, body=_without_saves(stmt.body, slots))
        elif isinstance(stmt, While):
            test, body = (_without_saves(b, slots) for b in (stmt.test, stmt.body))
            stmt = replace(stmt, test=test, body=body)
        out.append(stmt)
    return out


def _named(args: Args, kwargs: Kwargs) -> dict[str, Value]:
    names = ("target", "sources", "unconnected_gradients", "parallel_iterations")
    return {**dict(zip(names, args)), **kwargs}


def _source_text(node: core.Call, index: int, count: int) -> str:
    """The user's text for one of the sources in a call of `gradient`."""
    named = [k.value for k in node.keywords if k.name in ("sources", "source")]
    sources = named[0] if named else node.args[1]
    if isinstance(sources, core.Seq) and len(sources.items) == count:
        return show(sources.items[index])
    return show(sources) if count == 1 else f"{show(sources)}[{index}]"
