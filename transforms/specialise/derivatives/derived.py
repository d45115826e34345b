"""Derivatives inside the program: gradients and products as functions that are called.

A call of a derivative runs the function it is derived from into a block of its own, with new
names for what is differentiated by; the block is a function of those names and of whatever
else it reads.  Reverse or forward mode turns it into its product, which takes the block's
place.  It is in value form, so that the program around it can be differentiated again: derivatives
nest to any depth, with closures, loops and effects as in any call.
"""

from __future__ import annotations

from typing import Any

from ...autodiff.callee_vjps import CalleeVjps
from ...autodiff.forward import CalleeJvps, forward_function
from ...autodiff.log_domain import erase_log_domain_in
from ...autodiff.reverse import generate_callee_vjps, reverse_function
from ...ir.errors import S2STypeError
from ...ir.nodes import Block, Const, Function, Module, Operand, Scalar, Var, is_complex, is_float
from ...ir.record import record, replace
from ...syntax import core
from ..dispatch import derives
from ..frames import Frames
from ..heap.arrays import Arrays
from ..outside.objects import Objects
from ..patterns import Leaf, leaves_of, unpack
from ..places import Places
from ..session import Part
from ..values import Args, Kwargs, Num, Obj, Ref, TupleVal, Value, kind_text
from ..variables import Variables
from .tracing import DerivedVal, Traced, Tracing


@record(eq=False)
class Derivatives(Part):
    """Functions that are derivatives of others, and their calls."""

    frames: Frames
    places: Places
    variables: Variables
    arrays: Arrays
    objects: Objects
    tracing: Tracing

    # ---- the kinds

    @derives("grad")
    def derive_grad(
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        value, gradients = self.gradients(derived, args, kwargs, node)
        if derived.has_aux:
            assert isinstance(value, TupleVal)
            return TupleVal((gradients, value.values[1]))
        return gradients

    @derives("value_and_grad")
    def derive_value_and_grad(
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        return TupleVal(self.gradients(derived, args, kwargs, node))

    @derives("jvp")
    def derive_jvp(self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        args, direction = self._directed(derived, args, kwargs, node)
        return self.push(derived, args, kwargs, self._per_wrt(derived, direction, node), node)

    @derives("vjp")
    def derive_vjp(self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        args, seed = self._directed(derived, args, kwargs, node)
        return TupleVal(self.pull(derived, args, kwargs, seed, node))

    @derives("pullback")
    def derive_pullback(
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        """What `s2s.vjp(f, *primals)` returned, called with a cotangent."""
        *primals, seed = args
        assert isinstance(derived.function, DerivedVal)
        return self.pull(derived.function, tuple(primals), {}, seed, node)[1]

    @derives("hvp")
    def derive_hvp(self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """Forward over reverse: the tangent of the gradient."""
        args, direction = self._directed(derived, args, kwargs, node)
        gradient = replace(derived, kind="grad")
        outer = DerivedVal("jvp", gradient, derived.wrt)
        directions = self._per_wrt(derived, direction, node)
        return self.push(outer, args, kwargs, directions, node).values[1]

    def _directed(self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node) -> Any:
        """The function's own arguments, and the direction among them: after the first."""
        at = 1 + derived.skipped
        names = self.tracing.parameter_names(derived)
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

    def _per_wrt(self, derived: DerivedVal, direction: Value, node: core.Node) -> list[Value]:
        if not isinstance(derived.wrt, tuple):
            return [direction]
        items = self.objects.static_items(direction)
        if items is None or len(items) != len(derived.wrt):
            raise self.places.refusal(
                node,
                f"the direction must be a tuple of {len(derived.wrt)}, one per wrt",
                "",
                S2STypeError,
            )
        return list(items)

    # ---- reverse mode

    def gradients(
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node
    ) -> tuple[Value, Value]:
        """The value (with its aux) and the gradients."""
        traced = self.tracing.trace(derived, args, kwargs, node)
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

    def _number(self, value: Value, block: Block, node: core.Node) -> Operand:
        """The one float that a gradient is taken of."""
        if isinstance(value, Ref) and self.arrays.ref_type(value).ndim == 0:
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
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, seed: Value, node: core.Node
    ) -> tuple[Value, Value]:
        """The value, and the adjoints of the arguments for the adjoint `seed` of the value."""
        traced = self.tracing.trace(derived, args, kwargs, node)
        with self.b.into(traced.block):
            pattern, outs = self.tracing.packed(traced.result, node)
        if pattern is None or not outs:
            self.places.refuse(
                node, f"the function returns {kind_text(traced.result)}", "return numbers or arrays"
            )
        with self.b.into(traced.block):
            seeds = self.tracing.matched(seed, pattern, outs, node, "the cotangent")
        floats = [(o, s) for o, s in zip(outs, seeds) if is_float(o.type)]
        bars = self.pulled(traced, [o for o, _ in floats], [s for _, s in floats])
        return traced.result, self.like_wrt(derived, traced, bars)

    def pulled(self, traced: Traced, outs: list[Operand], seeds: list[Operand]) -> list[Operand]:
        """Puts the product of the traced block into the program; the adjoints of `params`."""
        self.tracing.name_arguments(traced)
        made = self._product(traced, outs, seeds)
        return self.tracing.splice(traced, made, made.results)

    def pulled_again(
        self, traced: Traced, outs: list[Operand], seeds: list[Operand]
    ) -> list[Operand]:
        """The same where the program contains the block already, which is computed again."""
        made = self._product(traced, outs, seeds)
        self.b.block += made.body
        return made.results

    def _product(self, traced: Traced, outs: list[Operand], seeds: list[Operand]) -> Function:
        """The vector-Jacobian product of the traced block for given seeds."""
        function = self.tracing.as_function(traced, outs)
        made = self.reverse_of(function, tuple(p.name for p in traced.params))
        # The seeds may be made of what the forward part computes.
        split, own = made.notes["forward"], len(function.params)
        named: Block = []
        with self.b.into(named):
            self.tracing.name_again(zip(made.params[own:], seeds))
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
        products = CalleeVjps(Module(self.tracing.callees(function.body), ""), split)
        seeded = tuple(range(len(function.results)))
        made = reverse_function(function, wrt, seeded, self.b.facts, products, self.b.names, inner)
        generate_callee_vjps(products)
        self.shared.derived.update(products.functions)
        # The derivatives of a tape may be with respect to values outside the domains of logarithms.
        return erase_log_domain_in(made) if self.variables.tapes else made

    # ---- forward mode

    def forward_of(self, function: Function, wrt: tuple[str, ...]) -> tuple[Function, list[Var]]:
        """The Jacobian-vector product of such a function, which yields tangents alone, and the
        parameters for the tangents it is given."""
        pushes = CalleeJvps.of(self.tracing.callees(function.body))
        facts, names = self.b.facts, self.b.names
        made = forward_function(function, wrt, function.results, facts, pushes, names)
        made = erase_log_domain_in(made) if self.variables.tapes else made
        pushes.finish()
        self.shared.derived.update(pushes.functions)
        tangents = made.results[len(function.results) :]
        return replace(made, results=tangents), made.params[len(function.params) :]

    def push(
        self,
        derived: DerivedVal,
        args: Args,
        kwargs: Kwargs,
        directions: list[Value],
        node: core.Node,
    ) -> TupleVal:
        """The value and its tangent."""
        traced = self.tracing.trace(derived, args, kwargs, node)
        dots: list[Operand] = []
        for pattern, leaves, direction in zip(
            traced.patterns, traced.trees(traced.given), directions, strict=True
        ):
            dots += self.tracing.matched(direction, pattern, leaves, node, "the direction")
        with self.b.into(traced.block):
            pattern, outs = self.tracing.packed(traced.result, node)
        floats = [o for o in outs if is_float(o.type)]
        function = self.tracing.as_function(traced, floats)
        made, seeds = self.forward_of(function, tuple(p.name for p in traced.params))
        self.tracing.name_arguments(traced)
        self.tracing.name_again(zip(seeds, dots))
        tangents = self.tracing.splice(traced, made, made.results)
        positions = [i for i, o in enumerate(outs) if is_float(o.type)]
        found = dict(zip(positions, tangents))

        def leaf(leaf: Leaf, name: str) -> Value:
            dot = found.get(leaf.index)
            return Obj(None) if dot is None else self.tracing.wrap_operand(dot)

        return TupleVal((traced.result, unpack(pattern, self.frames, leaf, "tangent")))

    # ---- what a function emits, by itself

    def like_wrt(self, derived: DerivedVal, traced: Traced, bars: list[Operand]) -> Value:
        """Gradients in the structure of the arguments they belong to."""
        trees = []
        for pattern, own in zip(traced.patterns, traced.trees(bars)):
            values = {
                leaf.index: self.tracing.wrap_operand(bar)
                for leaf, bar in zip(leaves_of(pattern), own)
            }
            trees.append(self.tracing.filled(pattern, values, "gradient"))
        return TupleVal(tuple(trees)) if isinstance(derived.wrt, tuple) else trees[0]
