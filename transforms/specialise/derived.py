"""Derivatives inside the program: gradients and products as functions that are called.

A call of a derivative runs the function it is derived from into a block of its own, with new
names for what is differentiated by; the block is a function of those names and of whatever
else it reads.  Reverse or forward mode turns it into its product, which takes the block's
place.  It is value form like everything around it, so that what holds it may be differentiated
in turn: derivatives nest to any depth, and see closures, loops and effects as any call does.
"""

from __future__ import annotations

from typing import Any

from ..autodiff.callee_vjps import CalleeVjps
from ..autodiff.forward import CalleeJvps, forward_function
from ..autodiff.log_domain import erase_log_domain_in
from ..autodiff.reverse import generate_callee_vjps, reverse_function
from ..frontend.derivative_spec import DIRECTED, Derived
from ..frontend.signature import signature
from ..ir.errors import S2STypeError
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Const,
    Function,
    Module,
    Op,
    Operand,
    Scalar,
    Var,
    calls_in,
    inner_targets_of,
    is_complex,
    is_float,
    operands_of,
    targets_of,
    walk,
)
from ..ir.record import field, record, replace
from ..simplify import simplify_function
from ..simplify.cse import cse_block
from .arrays import Arrays
from .expressions import Expressions
from .joins import Joins
from .objects import Objects
from .patterns import Leaf, Packer, Pattern, leaves_of, unpack
from .places import Places
from .session import Part
from .tape import Tapes
from .values import (
    Cell,
    Closure,
    Ended,
    Num,
    Obj,
    Partial,
    RangeVal,
    Ref,
    TupleVal,
    Value,
    constant,
    kind_text,
)


@record(frozen=True)
class DerivedVal:
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
class Derivatives(Part):
    """Functions that are derivatives of others, and their calls."""

    places: Places
    arrays: Arrays
    joins: Joins
    expressions: Expressions
    objects: Objects
    tape: Tapes
    renamed_arrays: set[Cell] = field(default_factory=set, init=False)

    # ---- what is called

    def derived_of(self, callee: Obj) -> DerivedVal | None:
        """The derivative behind an object of the user's program, if it is one."""
        value = callee.value
        if isinstance(value, Derived):
            inner = Obj(value.function, self._below(callee.path, "function"))
            wrt = value.wrt[0] if value.single and value.wrt else value.wrt
            options = tuple(
                (name, self._option(v, callee.path, k)) for k, (name, v) in enumerate(value.options)
            )
            return DerivedVal(value.kind, inner, wrt, value.has_aux, options, value.skipped)
        return None

    def _option(self, value: Any, path: Any, k: int) -> Any:
        """Functions among the options are values of the program, reached by a path."""
        if not callable(value):
            return value
        if not path:
            return Obj(value)
        return self.objects.lift(value, (*path, (".", "options"), ("[]", k), ("[]", 1)))

    def _below(self, path: Any, attribute: str) -> Any:
        return (*path, (".", attribute)) if path else ()

    def make_derived(self, maker: Obj, args: Any, kwargs: Any, node: Any) -> Value:
        """`s2s.grad(f, wrt=…)` written inside the program."""
        kind = maker.value._s2s_transform
        if not args:  # `@s2s.grad(wrt=…)`: the function is still to come
            return Partial(maker, (), tuple(kwargs.items()))
        function, *rest = args
        if kind == "function":
            return function
        if kind == "checkpoint" and (kwargs or isinstance(function, RangeVal)):
            return self.evaluator.checkpoints.checkpointed(function, kwargs, node)
        wrt = self.expressions.static(kwargs.get("wrt", constant(0)), node, "wrt")
        aux = self.expressions.static(kwargs.get("has_aux", constant(False)), node, "has_aux")
        known = (
            "wrt", "has_aux", "static_argnames", "boundscheck", "backend", "parallel", "source"
        )  # fmt: skip
        options = tuple((k, v) for k, v in kwargs.items() if k not in known)
        derived = DerivedVal(kind, function, wrt, aux, options)
        if not rest:
            return derived
        return self.call_at_once(derived, rest, node)

    def call_at_once(self, derived: DerivedVal, rest: list[Value], node: Any) -> Value:
        """`s2s.jvp(f, primals, tangents)` and `s2s.vjp(f, *primals)`."""
        if derived.kind == "jvp" and len(rest) == 2:
            primals, tangents = (self._items(r, node) for r in rest)
            derived = replace(derived, wrt=tuple(range(len(primals))))
            return self.push(derived, tuple(primals), {}, list(tangents), node)
        if derived.kind == "vjp":
            derived = replace(derived, wrt=tuple(range(len(rest))))
            value = self.evaluator.call(derived.function, tuple(rest), {}, node)
            return TupleVal((value, Partial(DerivedVal("pullback", derived), tuple(rest))))
        return self.places.refuse(
            node, f"s2s.{derived.kind} takes the function alone", f"write s2s.{derived.kind}(f)(x)"
        )

    def _items(self, value: Value, node: Any) -> Any:
        items = self.expressions.static_items(value)
        if items is None:
            self.places.refuse(node, "primals and tangents are tuples here", "write (x,), (v,)")
        return items

    def call_derived(self, derived: DerivedVal, args: Any, kwargs: Any, node: Any) -> Value:
        return self.evaluator.derive_methods[derived.kind](derived, tuple(args), dict(kwargs), node)

    # ---- the kinds

    def derive_grad(self, derived: DerivedVal, args: Any, kwargs: Any, node: Any) -> Value:
        value, gradients = self.gradients(derived, args, kwargs, node)
        if derived.has_aux:
            return TupleVal((gradients, value.values[1]))
        return gradients

    def derive_value_and_grad(self, derived: DerivedVal, args: Any, kwargs: Any, node: Any) -> Any:
        return TupleVal(self.gradients(derived, args, kwargs, node))

    def derive_jvp(self, derived: DerivedVal, args: Any, kwargs: Any, node: Any) -> Value:
        args, direction = self._directed(derived, args, kwargs, node)
        return self.push(derived, args, kwargs, self._per_wrt(derived, direction, node), node)

    def derive_vjp(self, derived: DerivedVal, args: Any, kwargs: Any, node: Any) -> Value:
        args, seed = self._directed(derived, args, kwargs, node)
        return TupleVal(self.pull(derived, args, kwargs, seed, node))

    def derive_pullback(self, derived: DerivedVal, args: Any, kwargs: Any, node: Any) -> Value:
        """What `s2s.vjp(f, *primals)` returned, called with a cotangent."""
        *primals, seed = args
        return self.pull(derived.function, tuple(primals), {}, seed, node)[1]

    def derive_hvp(self, derived: DerivedVal, args: Any, kwargs: Any, node: Any) -> Value:
        """Forward over reverse: the tangent of the gradient."""
        args, direction = self._directed(derived, args, kwargs, node)
        gradient = replace(derived, kind="grad")
        outer = DerivedVal("jvp", gradient, derived.wrt)
        directions = self._per_wrt(derived, direction, node)
        return self.push(outer, args, kwargs, directions, node).values[1]

    def _directed(self, derived: DerivedVal, args: Any, kwargs: Any, node: Any) -> Any:
        """The function's own arguments, and the direction among them: after the first."""
        at = 1 + derived.skipped
        names = self.parameter_names(derived)
        name = names[at] if len(names) > at else "v"
        if name in kwargs and len(args) <= at:
            return args, kwargs.pop(name)
        if len(args) <= at:
            raise self.places.refusal(
                node,
                f"{derived.kind} needs a direction after the first argument",
                f"call it as s2s.{derived.kind}(f)(x, v)",
                S2STypeError,
            )
        return (*args[:at], *args[at + 1 :]), args[at]

    def _per_wrt(self, derived: DerivedVal, direction: Value, node: Any) -> list[Value]:
        if not isinstance(derived.wrt, tuple):
            return [direction]
        items = self.expressions.static_items(direction)
        if items is None or len(items) != len(derived.wrt):
            raise self.places.refusal(
                node,
                f"the direction must be a tuple of {len(derived.wrt)}, one per wrt",
                "",
                S2STypeError,
            )
        return list(items)

    # ---- reverse mode

    def gradients(self, derived: DerivedVal, args: Any, kwargs: Any, node: Any) -> Any:
        """The value (with its aux) and the gradients."""
        traced = self.trace(derived, args, kwargs, node)
        value = traced.result
        if derived.has_aux:
            if not isinstance(value, TupleVal) or len(value.values) != 2:
                raise self.places.refusal(
                    node,
                    "has_aux=True needs a function that returns (value, aux)",
                    "return the pair, or leave has_aux out",
                    S2STypeError,
                )
            value = value.values[0]
        out = self._number(value, traced.block, node)
        seed = Const(1.0, Scalar(out.type.dtype))
        bars = self.pulled(traced, [out], [seed])
        return traced.result, self.like_wrt(derived, traced, bars)

    def _number(self, value: Value, block: Block, node: Any) -> Operand:
        """The one float that a gradient is taken of."""
        if isinstance(value, Ref) and self.joins.ref_type(value).ndim == 0:
            with self.b.into(block):
                value = Num(self.b.emit("index", self.arrays.read(value), items=()).operand)
        if isinstance(value, Num) and is_complex(value.operand.type):
            raise self.places.refusal(
                node,
                "a gradient needs a real result, and this function returns a complex number",
                "return its real part, its imaginary part or its absolute value",
                S2STypeError,
            )
        if isinstance(value, Num) and is_float(value.operand.type):
            return value.operand
        what = kind_text(value) if not isinstance(value, Num) else value.operand.type.dtype
        raise self.places.refusal(
            node,
            f"a gradient needs one float, and this function returns {what}",
            "return a number, for example result.sum(); or use s2s.vjp or s2s.jacobian",
            S2STypeError,
        )

    def pull(
        self, derived: DerivedVal, args: Any, kwargs: Any, seed: Value, node: Any
    ) -> tuple[Value, Value]:
        """The value, and the adjoints of the arguments for the adjoint `seed` of the value."""
        traced = self.trace(derived, args, kwargs, node)
        with self.b.into(traced.block):
            pattern, outs = self._leaves(traced.result, node)
        if pattern is None or not outs:
            self.places.refuse(
                node, f"the function returns {kind_text(traced.result)}", "return numbers or arrays"
            )
        with self.b.into(traced.block):
            seeds = self.matched(seed, pattern, outs, node, "the cotangent")
        floats = [(o, s) for o, s in zip(outs, seeds) if is_float(o.type)]
        bars = self.pulled(traced, [o for o, _ in floats], [s for _, s in floats])
        return traced.result, self.like_wrt(derived, traced, bars)

    def pulled(self, traced: Traced, outs: list[Operand], seeds: list[Operand]) -> list[Operand]:
        """Puts the product of the traced block into the program; the adjoints of `params`."""
        self.name_arguments(traced)
        made = self._product(traced, outs, seeds)
        return self._splice(traced, made, made.results)

    def pulled_apart(
        self, traced: Traced, outs: list[Operand], seeds: list[Operand]
    ) -> list[Operand]:
        """The same where the block is there already, and is computed again."""
        made = self._product(traced, outs, seeds)
        self.b.block += made.body
        return made.results

    def _product(self, traced: Traced, outs: list[Operand], seeds: list[Operand]) -> Function:
        """The vector-Jacobian product of the traced block for given seeds."""
        function = self._function(traced, outs)
        made = self.reverse_of(function, tuple(p.name for p in traced.params))
        # The seeds may be made of what the forward part computes.
        split, own = made.notes["forward"], len(function.params)
        named: Block = []
        with self.b.into(named):
            self._name_again(zip(made.params[own:], seeds))
        body = [*made.body[:split], *named, *made.body[split:]]
        return replace(made, params=made.params[:own], body=body)

    def reverse_of(
        self,
        function: Function,
        wrt: tuple[str, ...],
        inner: tuple[str, ...] = (),
        split: bool = True,
    ) -> Function:
        """The vector-Jacobian product of a function made of the program's own statements, and
        those of the functions it calls.  Without `split` its forward part calls the functions
        that these statements call, and no others."""
        products = CalleeVjps(Module(self.callees(function.body), ""), split)
        seeded = tuple(range(len(function.results)))
        made = reverse_function(function, wrt, seeded, self.b.facts, products, self.b.names, inner)
        generate_callee_vjps(products)
        self.shared.derived.update(products.functions)
        # A tape may be asked for derivatives by values that logarithms pass by.
        return erase_log_domain_in(made) if self.tape.tapes else made

    # ---- forward mode

    def forward_of(self, function: Function, wrt: tuple[str, ...]) -> tuple[Function, list[Var]]:
        """The Jacobian-vector product of such a function, which yields tangents alone, and the
        parameters for the tangents it is given."""
        pushes = CalleeJvps.of(self.callees(function.body))
        facts, names = self.b.facts, self.b.names
        made = forward_function(function, wrt, function.results, facts, pushes, names)
        made = erase_log_domain_in(made) if self.tape.tapes else made
        pushes.finish()
        self.shared.derived.update(pushes.functions)
        tangents = made.results[len(function.results) :]
        return replace(made, results=tangents), made.params[len(function.params) :]

    def push(
        self, derived: DerivedVal, args: Any, kwargs: Any, directions: list[Value], node: Any
    ) -> TupleVal:
        """The value and its tangent."""
        traced = self.trace(derived, args, kwargs, node)
        dots: list[Operand] = []
        for pattern, leaves, direction in zip(
            traced.patterns, traced.trees(traced.given), directions, strict=True
        ):
            dots += self.matched(direction, pattern, leaves, node, "the direction")
        with self.b.into(traced.block):
            pattern, outs = self._leaves(traced.result, node)
        floats = [o for o in outs if is_float(o.type)]
        function = self._function(traced, floats)
        made, seeds = self.forward_of(function, tuple(p.name for p in traced.params))
        self.name_arguments(traced)
        self._name_again(zip(seeds, dots))
        tangents = self._splice(traced, made, made.results)
        positions = [i for i, o in enumerate(outs) if is_float(o.type)]
        found = dict(zip(positions, tangents))

        def leaf(leaf: Leaf, name: str) -> Value:
            dot = found.get(leaf.index)
            return Obj(None) if dot is None else self.wrap_operand(dot)

        return TupleVal((traced.result, unpack(pattern, self.evaluator, leaf, "tangent")))

    # ---- what a function emits, by itself

    def trace(self, derived: DerivedVal, args: Any, kwargs: Any, node: Any) -> Traced:
        args, kwargs = list(args), dict(kwargs)
        wrt = derived.wrt if isinstance(derived.wrt, tuple) else (derived.wrt,)
        traced = Traced([], [], [], [], None)
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
        self, originals: list[tuple[Cell, Any]], fresh: list[tuple[Cell, Var]], node: Any
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
        self, function: Value, args: list[Value], kwargs: dict[str, Value], which: Any, node: Any
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

    def _check_float(self, operand: Operand, which: Any, node: Any) -> None:
        if not is_float(operand.type):
            dtype = operand.type.dtype
            raise self.places.refusal(
                node,
                f"wrt={which!r} is {dtype}: there is no derivative with respect to it",
                "pass a float: 3.0, not 3, or x.astype(float)",
                S2STypeError,
            )

    def packer(self, node: Any) -> Packer:
        def refuse(why: str) -> Any:
            return self.places.refuse(node, f"{why} has no derivative", "pass numbers and arrays")

        return Packer(self.evaluator, lambda index, number: False, refuse)

    def _leaves(self, value: Value, node: Any) -> tuple[Pattern, list[Operand]]:
        packer = self.packer(node)
        pattern = packer.pack(value)
        operands = [self.arrays.read(v) if isinstance(v, Ref) else v.operand for v in packer.leaves]
        return pattern, operands

    def matched(
        self, value: Value, pattern: Pattern, like: list[Operand], node: Any, what: str
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
            with self.evaluator.calls.guarding(node):
                out.append(self._fitted(self.arrays.sym(given), x, what))
        return out

    def _fitted(self, given: Any, x: Operand, what: str) -> Operand:
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

    def like_wrt(self, derived: DerivedVal, traced: Traced, bars: list[Operand]) -> Value:
        """Gradients in the structure of the arguments they belong to."""
        trees = []
        for pattern, own in zip(traced.patterns, traced.trees(bars)):
            values = {
                leaf.index: self.wrap_operand(bar) for leaf, bar in zip(leaves_of(pattern), own)
            }
            trees.append(self.filled(pattern, values, "gradient"))
        return TupleVal(tuple(trees)) if isinstance(derived.wrt, tuple) else trees[0]

    # ---- putting the product in place of the block

    def _function(self, traced: Traced, results: list[Operand]) -> Function:
        """The traced block as a function of the new names and of whatever else it reads."""
        # A tape may be asked for derivatives by any of the names in its block, later.
        block = traced.block if self.tape.tapes else cse_block(traced.block, results)
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
        self._name_again(zip(traced.params, traced.given))

    def _name_again(self, pairs: Any) -> None:
        for var, operand in pairs:
            op = self.b.definitions[var.name] = Op("same", (operand,))
            self.b.block.append(Assign(var, op))

    def _splice(
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
        self._name_again((v, x) for v, x in zip(kept, new) if v.name not in defined)
        for stmt in walk(done.body):
            if isinstance(stmt, Assign):
                self.b.definitions[stmt.target.name] = stmt.op
        return done.results[: len(results)]

    def filled(self, pattern: Pattern, values: dict[int, Value], name: str) -> Value:
        """A value of the structure `pattern` with these leaves."""
        return unpack(pattern, self.evaluator, lambda leaf, _: values[leaf.index], name)

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
