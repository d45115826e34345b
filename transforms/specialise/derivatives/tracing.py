"""Functions as blocks of operations, for derivatives of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...frontend.derivative_spec import DIRECTED, Derived
from ...frontend.signature import signature
from ...ir.builder import Sym
from ...ir.errors import S2STypeError
from ...ir.nodes import (
    Array,
    Assign,
    Block,
    Const,
    Function,
    Op,
    Operand,
    Var,
    calls_in,
    inner_targets_of,
    is_float,
    operands_of,
    targets_of,
    walk,
)
from ...ir.record import field, record, replace
from ...simplify import simplify_function
from ...simplify.cse import cse_block
from ...syntax import core
from ..frames import Frames
from ..heap.arrays import Arrays
from ..patterns import Leaf, Packer, Pattern, leaves_of, unpack
from ..places import Places
from ..session import Part
from ..surface.guards import Guards
from ..values import UNDEFINED, Args, Cell, Closure, Ended, Kwargs, Num, Obj, Partial, Ref, Value
from ..variables import Variables


@record(frozen=True)
class DerivedVal(Value):
    """A derivative of a function, not yet called.  `wrt` is a name, a position, or a tuple of
    them; `options` are those of its kind."""

    kind: str
    function: Value
    wrt: Any = 0
    has_aux: bool = False
    options: tuple[tuple[str, Any], ...] = ()
    skipped: int = 0  # arguments (`self`) that users do not count

    def option(self, name: str, default: Any = None) -> Any:
        return dict(self.options).get(name, default)


@record
class Traced:
    """What a function emitted for arguments `patterns`, whose leaves `given` go by the names
    `params` there."""

    block: Block
    patterns: list[Pattern]
    given: list[Operand]
    params: list[Var]
    result: Value
    spans: list[tuple[int, int]] = field(default_factory=list)  # leaves of each pattern

    def trees(self, leaves: list[Any]) -> list[list[Any]]:
        """One list of leaves per pattern."""
        return [leaves[first:last] for first, last in self.spans]


@record(eq=False)
class Tracing(Part):
    """Functions as blocks of operations, and structures as their leaves."""

    frames: Frames
    places: Places
    variables: Variables
    arrays: Arrays
    guards: Guards
    renamed_arrays: set[Cell] = field(default_factory=set, init=False)

    def trace(self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node) -> Traced:
        args, kwargs = list(args), dict(kwargs)
        wrt = derived.wrt if isinstance(derived.wrt, tuple) else (derived.wrt,)
        traced = Traced([], [], [], [], UNDEFINED)
        originals: list[tuple[Cell, Any]] = []
        fresh: list[tuple[Cell, Var]] = []
        for which in wrt:
            holder, key = self._argument(derived.function, args, kwargs, which, node)
            first = len(traced.given)
            packer = self.packer(node)
            pattern = packer.pack(holder[key])
            values: dict[int, Value] = {}
            for leaf in leaves_of(pattern):
                value = packer.leaves[leaf.index]
                operand = self.arrays.read(value) if isinstance(value, Ref) else value.operand
                self._check_float(operand, which, node)
                var = Var(self.b.names.fresh(_hint(operand, which)), operand.type)
                traced.given.append(operand)
                traced.params.append(var)
                values[leaf.index] = Num(var)
                if isinstance(value, Ref):
                    originals.append((value.cell, self.state.heap[value.cell]))
                    new = self.arrays.new_array(var, value.cell.label)
                    new.cell.contiguous = value.cell.contiguous
                    fresh.append((new.cell, var))
                    self.renamed_arrays.add(new.cell)
                    values[leaf.index] = new
            holder[key] = self.filled(pattern, values, str(which))
            traced.patterns.append(pattern)
            traced.spans.append((first, len(traced.given)))
        try:
            with self.b.into(traced.block):
                traced.result = self.evaluator.call(derived.function, tuple(args), kwargs, node)
        except Ended:
            self.name_arguments(traced)
            self.b.block += traced.block
            raise
        self._write_back(originals, fresh, node)
        return traced

    def _write_back(
        self, originals: list[tuple[Cell, Any]], fresh: list[tuple[Cell, Var]], node: core.Node
    ) -> None:
        """A function that writes into what it is differentiated by writes into the argument of
        a whole program; inside a program it is not known who shares that array."""
        cells = [cell for cell, _ in originals]
        for (cell, content), (new, var) in zip(originals, fresh, strict=True):
            changed = self.state.heap[new] is not var
            own = cell.param is not None or cell in self.renamed_arrays
            whole = len(self.places.stack) == 1 and isinstance(
                self.places.stack[0].identity, Derived
            )
            alone = own and whole and cells.count(cell) == 1
            if self.state.heap[cell] is not content or (changed and not alone):
                self.places.refuse(
                    node,
                    f"the function writes into {cell.label or 'the argument'}, by which it is "
                    "differentiated here",
                    "let it work on a copy: x = x.copy()",
                )
            if changed:
                self.state.heap[cell] = self.state.heap[new]

    def _argument(
        self,
        function: Value,
        args: list[Value],
        kwargs: dict[str, Value],
        which: Any,
        node: core.Node,
    ) -> tuple[Any, Any]:
        """Where the argument to differentiate by is: a container and its key."""
        if isinstance(which, str):
            if which in kwargs:
                return kwargs, which
            names = self.parameter_names(function)
            if which in names and names.index(which) < len(args):
                return args, names.index(which)
        elif -len(args) <= which < len(args):
            return args, which
        elif which >= 0:
            names = self.parameter_names(function)
            if which < len(names) and names[which] in kwargs:
                return kwargs, names[which]
        raise self.places.refusal(
            node,
            f"wrt={which!r}: there is no such argument in this call",
            "give wrt a name or position of an argument that is passed",
            S2STypeError,
        )

    def parameter_names(self, function: Value) -> list[str]:
        """The names of a function's parameters, `self` of a bound method not counted."""
        if isinstance(function, Closure):
            p = function.node.params
            return [q.name for q in (*p.positional_only, *p.plain, *p.keyword_only)]
        if isinstance(function, Partial):
            given = dict(function.kwargs)
            names = self.parameter_names(function.function)[len(function.args) :]
            return [n for n in names if n not in given]
        if isinstance(function, DerivedVal):
            names = self.parameter_names(function.function)
            at = 1 + function.skipped
            return [*names[:at], "v", *names[at:]] if function.kind in DIRECTED else names
        value = getattr(function, "value", None)
        if isinstance(function, Obj) and callable(value):
            try:
                return list(signature(value).parameters)
            except (TypeError, ValueError):
                pass
        return []

    def _check_float(self, operand: Operand, which: Any, node: core.Node) -> None:
        if not is_float(operand.type):
            dtype = operand.type.dtype
            raise self.places.refusal(
                node,
                f"wrt={which!r} is {dtype}: there is no derivative with respect to it",
                "pass a float: 3.0, not 3, or x.astype(float)",
                S2STypeError,
            )

    def packer(self, node: core.Node | None) -> Packer:
        def refuse(why: str) -> Any:
            return self.places.refuse(node, f"{why} has no derivative", "pass numbers and arrays")

        return Packer(self.frames, lambda index, number: False, refuse)

    def packed(self, value: Value, node: core.Node) -> tuple[Pattern, list[Operand]]:
        packer = self.packer(node)
        pattern = packer.pack(value)
        operands = [self.arrays.read(v) if isinstance(v, Ref) else v.operand for v in packer.leaves]
        return pattern, operands

    def matched(
        self, value: Value, pattern: Pattern, like: list[Operand], node: core.Node, what: str
    ) -> list[Operand]:
        """The leaves of a direction, in the shape and dtype of what it belongs to."""
        packer = self.packer(node)
        found = packer.pack(value)
        if not _alike(found, pattern) or len(packer.leaves) != len(like):
            raise self.places.refusal(
                node, f"{what} must have the structure of what it belongs to", "", S2STypeError
            )
        out = []
        for given, x in zip(packer.leaves, like):
            if not is_float(x.type):
                out.append(x)
                continue
            with self.guards.guarding(node):
                out.append(self.fitted(self.arrays.sym(given), x, what))
        return out

    def fitted(self, given: Sym, x: Operand, what: str) -> Operand:
        if given.ndim != x.type.ndim:
            raise ValueError(f"{what} has {given.ndim} dimensions, where {x.type.ndim} are needed")
        b = self.b
        if isinstance(x.type, Array):
            for axis, (a, e) in enumerate(zip(given.type.shape, x.type.shape)):
                if b.facts.relate(a, e) != "equal":
                    sizes = b.emit("shape", given, axis=axis), b.emit("shape", x, axis=axis)
                    b.check(sizes[0] == sizes[1], "ValueError", f"{what} has the wrong shape")
            if not isinstance(given.type, Array):
                given = b.emit("full_like", x, given, dtype=x.type.dtype)
            elif not all(map(b.facts.known_equal, given.type.shape, x.type.shape)):
                given = b.emit("broadcast_like", given, x)
        elif isinstance(given.type, Array):
            given = b.emit("index", given, items=())
        if given.dtype != x.type.dtype or getattr(given.type, "weak", False):
            given = b.emit("cast", given, dtype=x.type.dtype)
        return given.operand

    def as_function(self, traced: Traced, results: list[Operand]) -> Function:
        """The traced block as a function of the new names and of whatever else it reads."""
        # Later derivatives of a tape may be with respect to any name in its block.
        block = traced.block if self.variables.tapes else cse_block(traced.block, results)
        bound = {v.name for s in walk(block) for v in (*targets_of(s), *inner_targets_of(s))}
        params = {p.name: p for p in traced.params}
        own = [Var(p.name, p.type) for p in self.session.params]
        reads = [x for s in walk(block) for x in operands_of(s)]
        for x in (*own, *reads, *results):
            if isinstance(x, Var) and x.name not in bound:
                params.setdefault(x.name, x)
        sweeps = max((s.origin.sweep for s in walk(block) if s.origin), default=0)
        notes = {"inner_sweeps": sweeps}
        return Function("derived", list(params.values()), block, results, notes=notes)

    def callees(self, block: Block) -> dict[str, Function]:
        """The functions that a block calls must be complete to be differentiated."""
        made = {o.name: o.function for _, o in self.shared.made if o.function is not None}
        functions = {**made, **self.shared.derived}
        running = {o.name for o in self.shared.running}
        for name in calls_in(block):
            if name in running or name not in functions:
                self.places.refuse(
                    self.places.stmt,
                    "not supported: a derivative of a recursive function inside itself",
                    "take the derivative outside the recursion",
                )
        return functions

    def name_arguments(self, traced: Traced) -> None:
        self.name_again(zip(traced.params, traced.given))

    def name_again(self, pairs: Iterable[tuple[Var, Operand]]) -> None:
        for var, operand in pairs:
            op = self.b.definitions[var.name] = Op("same", (operand,))
            self.b.block.append(Assign(var, op))

    def splice(
        self,
        traced: Traced,
        made: Function,
        results: list[Operand],
        kept: list[Var] | None = None,
    ) -> list[Operand]:
        """Emits the product, simplified.  What the traced block defined (`kept` of it, if not
        all) keeps its names, by which the state of the program refers to it."""
        if kept is None:
            kept = [v for stmt in traced.block for v in targets_of(stmt)]
        done = simplify_function(replace(made, results=[*results, *kept]), self.b.facts)
        self.b.block += done.body
        new = done.results[len(results) :]
        defined = {v.name for stmt in done.body for v in targets_of(stmt)}
        self.name_again((v, x) for v, x in zip(kept, new) if v.name not in defined)
        for stmt in walk(done.body):
            if isinstance(stmt, Assign):
                self.b.definitions[stmt.target.name] = stmt.op
        return done.results[: len(results)]

    def filled(self, pattern: Pattern, values: dict[int, Value], name: str) -> Value:
        """A value of the structure `pattern` with these leaves."""
        return unpack(pattern, self.frames, lambda leaf, _: values[leaf.index], name)

    def wrap_operand(self, operand: Operand) -> Value:
        if isinstance(operand, Const) or not isinstance(operand.type, Array):
            return Num(operand)
        return self.arrays.new_array(operand)


def _hint(operand: Operand, which: Any) -> str:
    if isinstance(operand, Var):
        return operand.user or operand.name
    return which if isinstance(which, str) else "x"


def _alike(a: Pattern, b: Pattern) -> bool:
    """Whether two patterns have the same structure, whatever their leaves are."""
    if isinstance(a, Leaf) or isinstance(b, Leaf):
        return isinstance(a, Leaf) and isinstance(b, Leaf)
    parts = getattr(a, "parts", ()), getattr(b, "parts", ())
    same = getattr(a, "what", None) == getattr(b, "what", None)
    return same and len(parts[0]) == len(parts[1]) and all(map(_alike, *parts))
