"""Derivatives that the user's program gives itself: `custom_gradient`, `checkpoint`, `adjoint`.

Each leaves a `Custom` statement: values, what they are to be differentiated by, and the code
that pulls their adjoints back, specialised here, where the program's names are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ...autodiff.callee_vjps import CalleeVjps
from ...autodiff.cotangents import bar_type
from ...ir.errors import S2STypeError
from ...ir.nodes import (
    Array,
    Block,
    Custom,
    Function,
    Module,
    Operand,
    Var,
    inner_targets_of,
    is_float,
    operands_of,
    targets_of,
    walk,
)
from ...ir.record import record
from ...syntax import core
from ..dispatch import derives
from ..heap.arrays import Arrays
from ..operations.attributes import Attributes
from ..patterns import Pattern, leaves_of
from ..places import Places
from ..session import Part
from ..surface.surface_calls import SurfaceCalls
from ..values import (
    UNDEFINED,
    Args,
    Closure,
    DictVal,
    InstanceVal,
    Kwargs,
    ListVal,
    Num,
    Obj,
    Ref,
    TupleVal,
    Value,
    kind_text,
)
from ..variables import Variables
from .derived import Derivatives
from .tracing import DerivedVal, Traced, Tracing


@record(eq=False)
class CustomRules(Part):
    """Derivatives that a program defines itself."""

    places: Places
    variables: Variables
    arrays: Arrays
    surface_calls: SurfaceCalls
    attributes: Attributes
    tracing: Tracing
    derived: Derivatives

    # ---- custom_gradient

    @derives("custom")
    def derive_custom(
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        """`f` returns its value and the function that pulls the value's adjoint back."""
        if kwargs:
            args, kwargs = self._positional(derived.function, args, kwargs, node), {}
        float_args = [i for i, a in enumerate(args) if self.holds_floats(a)]
        traced = self.tracing.trace(replace(derived, wrt=tuple(float_args)), args, kwargs, node)
        result = traced.result
        if not isinstance(result, TupleVal) or len(result.values) != 2:
            raise self.places.refusal(
                node,
                "a function with a custom gradient returns (value, gradient function)",
                "return y, grad where grad(y_bar) gives one adjoint per argument",
                S2STypeError,
            )
        value, pull = result.values
        self.variables.refuse_variables_inside(traced.block, node)
        self.tracing.name_arguments(traced)
        self.b.block += traced.block

        def pullback(seed: Value) -> list[Operand]:
            bars = self.evaluator.call(pull, self._seeds(pull, seed), {}, node)
            return self._bars(bars, traced, args, float_args, node)

        return self.customised(value, traced.params, pullback, node)

    def _seeds(self, pull: Value, seed: Value) -> tuple[Value, ...]:
        """The arguments of a gradient function: the adjoint of the value, or of each of several
        values if it takes that many."""
        if isinstance(seed, TupleVal) and isinstance(pull, Closure):
            several = pull.node.params.star is not None
            if several or 1 < len(self.tracing.parameter_names(pull)) == len(seed.values):
                return seed.values
        return (seed,)

    def _positional(self, function: Value, args: Args, kwargs: Kwargs, node: core.Node) -> Any:
        """Arguments in order of the parameters, which maps adjoints to parameters."""
        names = self.tracing.parameter_names(function)
        rest = [n for n in names[len(args) :] if n in kwargs]
        if len(rest) != len(kwargs) or rest != names[len(args) : len(args) + len(rest)]:
            self.places.refuse(
                node,
                "a function with a custom gradient takes its arguments by position",
                "leave out the keywords",
            )
        return (*args, *(kwargs[n] for n in rest))

    def holds_floats(self, value: Value) -> bool:
        if isinstance(value, Num):
            return is_float(value.operand.type)
        if isinstance(value, Ref):
            return is_float(self.arrays.ref_type(value))
        if not isinstance(value, (TupleVal, ListVal, DictVal, InstanceVal)):
            return False
        pattern = self.tracing.packer(None).pack(value)
        return any(is_float(leaf.type) for leaf in leaves_of(pattern))

    def _bars(
        self, bars: Value, traced: Traced, args: Args, float_args: list[int], node: core.Node
    ) -> list[Operand]:
        """The adjoints that a gradient function returned, one per leaf of the arguments."""
        several = isinstance(bars, TupleVal)
        parts = list(bars.values) if several else [bars]
        if len(parts) == len(args):
            parts = [parts[i] for i in float_args]
        if len(parts) != len(float_args):
            raise self.places.refusal(
                node,
                f"the gradient function returns {len(parts)} adjoints, and the function has "
                f"{len(float_args)} arguments with floats",
                "return one adjoint per argument, None where there is none",
                S2STypeError,
            )
        out: list[Operand] = []
        for part, pattern, own in zip(parts, traced.patterns, traced.trees(traced.params)):
            if isinstance(part, Obj) and part.value is None:
                out += [self._zeros(x) for x in own]
            else:
                out += self.tracing.matched(part, pattern, own, node, "the adjoint")
        return out

    def _zeros(self, x: Operand) -> Operand:
        return self.b.emit("zeros_like", x, dtype=x.type.dtype).operand

    # ---- implicit

    @derives("implicit")
    def derive_implicit(
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        """`f` finds the x at which a residual is 0; how x moves follows from the residual."""
        if kwargs:
            args = self._positional(derived.function, args, kwargs, node)
        float_args = [i for i, a in enumerate(args) if self.holds_floats(a)]
        traced = self.tracing.trace(replace(derived, wrt=tuple(float_args)), args, {}, node)
        x = traced.result
        if not isinstance(x, (Num, Ref)) or not self.holds_floats(x):
            raise self.places.refusal(
                node,
                f"an implicit function returns one number or array, not {kind_text(x)}",
                "put the unknowns into one array: s2s.flatten",
                S2STypeError,
            )
        self.variables.refuse_variables_inside(traced.block, node)
        self.tracing.name_arguments(traced)
        self.b.block += traced.block
        ((which, equation),) = derived.options

        def pullback(seed: Value) -> list[Operand]:
            by_x = DerivedVal("jacobian", equation, 0)
            slope = self.arrays.sym(self.evaluator.call(by_x, (x, *args), {}, node))
            if which == "fixed_point":
                slope = self._minus_identity(slope, x, node)
            adjoint = self._solved(slope, seed, x, node)
            by_args = DerivedVal("vjp", equation, tuple(i + 1 for i in float_args))
            bars = self.derived.pull(by_args, (x, *args), {}, self.arrays.wrap(-adjoint), node)[1]
            return self._bars(bars, traced, args, float_args, node)

        return self.customised(x, traced.params, pullback, node)

    def _minus_identity(self, slope: Any, x: Value, node: core.Node) -> Any:
        if isinstance(x, Num):
            return slope - 1.0
        size = self._size(x, node)
        square = self.b.emit("reshape", slope, size, size)
        eye = self.b.emit("eye", size, size, 0, dtype=slope.dtype)
        return square - eye

    def _size(self, x: Value, node: core.Node) -> Any:
        return self.arrays.sym(self.attributes.attribute(x, "size", node))

    def _solved(self, slope: Any, seed: Value, x: Value, node: core.Node) -> Any:
        """u with slope.T @ u = seed, in the shape of x."""
        if isinstance(x, Num):
            return self.arrays.sym(seed) / slope
        size = self._size(x, node)
        square = self.b.emit("reshape", slope, size, size)
        flat = self.arrays.wrap(self.b.emit("reshape", self.arrays.sym(seed), size))
        across = self.arrays.wrap(self.b.emit("transpose", square, axes=(1, 0)))
        solved = self.arrays.sym(
            self.surface_calls.call_surface("numpy.linalg.solve", (across, flat), {}, node)
        )
        return self.b.emit("reshape", solved, *self.arrays.sym(x).shape)

    # ---- checkpoint

    @derives("checkpoint")
    def derive_checkpoint(
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        """`f`, whose inner values are computed again in the sweep and not saved."""
        whole = replace(derived, kind="", wrt=())
        traced = self.tracing.trace(whole, args, kwargs, node)
        block = traced.block
        bound = {v.name for s in walk(block) for v in (*targets_of(s), *inner_targets_of(s))}
        reads = dict.fromkeys(x for s in walk(block) for x in operands_of(s) if isinstance(x, Var))
        inputs = [x for x in reads if x.name not in bound and is_float(x.type)]
        self.b.block += block

        def pullback(seed: Value) -> list[Operand]:
            with self.b.into([]):
                pattern, outs = self.tracing.packed(traced.result, node)
            seeds = self.tracing.matched(seed, pattern, outs, node, "the adjoint")
            floats = [(o, s) for o, s in zip(outs, seeds) if is_float(o.type)]
            again = Traced(self._quiet(block), [], [], inputs, UNDEFINED)
            return self.derived.pulled_again(again, [o for o, _ in floats], [s for _, s in floats])

        return self.customised(traced.result, inputs, pullback, node)

    def _quiet(self, block: Block) -> Block:
        """The block without its prints and errors, which have been made by then."""
        products = CalleeVjps(Module(self.tracing.callees(block), ""))
        made = products.without_effects(Function("again", [], block, []))
        self.shared.derived.update(products.functions)
        return made.body

    # ---- the statement

    def customised(
        self,
        value: Value,
        inputs: Sequence[Operand],
        pull: Callable[[Value], list[Operand]],
        node: core.Node,
    ) -> Value:
        """`value`, with a derivative of its own; `pull` runs the code for it."""
        pattern, leaves = self.tracing.packed(value, node)
        floats = {leaf.index: x for leaf, x in zip(leaves_of(pattern), leaves) if is_float(x.type)}
        if not floats or not inputs:
            return value
        seeds = {i: Var(self.b.names.fresh("out_bar"), bar_type(x.type)) for i, x in floats.items()}
        block: Block = []
        before, checks = self.state.copy(), self.b.checks
        with self.b.into(block):
            seed = self._tree(pattern, {**dict(enumerate(leaves)), **seeds}, "seed")
            bars = pull(seed)
        self.session.state, self.b.checks = before, checks
        targets = {
            i: Var(self.b.names.fresh(self.b.hint), _contiguous(x.type)) for i, x in floats.items()
        }
        rule = self._pullback(block, list(seeds.values()), bars)
        self.b.block.append(
            Custom(
                list(targets.values()), tuple(floats.values()), tuple(inputs),
                tuple(rule.params[: -len(seeds)]), rule, self.b.origin,
            )
        )  # fmt: skip
        return self._tree(pattern, {**dict(enumerate(leaves)), **targets}, "value")

    def _pullback(self, block: Block, seeds: list[Var], bars: list[Operand]) -> Function:
        bound = {v.name for s in walk(block) for v in (*targets_of(s), *inner_targets_of(s))}
        bound |= {s.name for s in seeds}
        reads = [x for s in walk(block) for x in operands_of(s)]
        captured = {
            x.name: x for x in (*reads, *bars) if isinstance(x, Var) and x.name not in bound
        }
        return Function("pullback", [*captured.values(), *seeds], block, bars)

    def _tree(self, pattern: Pattern, leaves: dict[int, Operand], name: str) -> Value:
        return self.tracing.filled(
            pattern, {i: self.tracing.wrap_operand(x) for i, x in leaves.items()}, name
        )


def _contiguous(type_: Any) -> Any:
    return replace(type_, layout="C") if isinstance(type_, Array) else type_
