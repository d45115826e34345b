"""Calls of derivatives: which derivative an object is, and the method that computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...frontend.derivative_spec import Derived
from ...ir.errors import S2STypeError
from ...ir.nodes import If, Raise
from ...ir.record import record, replace
from ...syntax import core
from ..dispatch import table
from ..heap.arrays import Arrays
from ..outside.objects import Objects
from ..places import Places
from ..session import Part, fixed
from ..surface.indexing import Indexing
from ..values import (
    Args,
    CheckpointedVal,
    Kwargs,
    Obj,
    Partial,
    RangeVal,
    TupleVal,
    Value,
    constant,
)
from .custom import CustomRules
from .derived import Derivatives
from .jacobians import Jacobians
from .tracing import DerivedVal
from .vmaps import Vmaps


@record(eq=False)
class DerivativeCalls(Part):
    """Objects that stand for derivatives, and calls of them."""

    custom: CustomRules
    vmaps: Vmaps
    jacobians: Jacobians
    places: Places
    arrays: Arrays
    objects: Objects
    indexing: Indexing
    derived: Derivatives
    by_kind: dict[str, Callable[..., Value]] = fixed()

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = self.derived, self.custom, self.vmaps, self.jacobians
        self.by_kind = table("derives", *parts)

    def checkpointed(self, over: Value, kwargs: dict[str, Value], node: core.Node) -> Value:
        if set(kwargs) not in ({"snapshots"}, {"memory"}):
            raise self.places.refusal(
                node,
                "a checkpointed loop needs one of snapshots= and memory=",
                "say how many states may be kept: s2s.checkpoint(range(n), snapshots=10)",
                S2STypeError,
            )
        ((name, value),) = kwargs.items()
        amount = self.indexing.integer(value, node)
        message = f"{name} must be at least 1"
        if amount.known is None:
            failure = Raise("ValueError", (message,), self.b.origin)
            enough = (self.b.sym(amount.operand) >= 1).operand
            self.b.block.append(If(enough, [], [failure], [], self.b.origin))
        elif amount.known[0] < 1:
            raise self.places.located(ValueError(message), node)
        return CheckpointedVal(over, amount, name == "memory")

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

    def make_derived(self, maker: Obj, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """`s2s.grad(f, wrt=…)` written inside the program."""
        kind = maker.value._s2s_transform
        if not args:  # `@s2s.grad(wrt=…)`: the function is still to come
            return Partial(maker, (), tuple(kwargs.items()))
        function, *rest = args
        if kind == "function":
            return function
        if kind == "checkpoint" and (kwargs or isinstance(function, RangeVal)):
            return self.checkpointed(function, kwargs, node)
        wrt = self.arrays.static(kwargs.get("wrt", constant(0)), node, "wrt")
        aux = self.arrays.static(kwargs.get("has_aux", constant(False)), node, "has_aux")
        known = (
            "wrt", "has_aux", "static_argnames", "boundscheck", "backend", "parallel", "source"
        )  # fmt: skip
        options = tuple((k, v) for k, v in kwargs.items() if k not in known)
        derived = DerivedVal(kind, function, wrt, aux, options)
        if not rest:
            return derived
        return self.call_at_once(derived, rest, node)

    def call_at_once(self, derived: DerivedVal, rest: list[Value], node: core.Node) -> Value:
        """`s2s.jvp(f, primals, tangents)` and `s2s.vjp(f, *primals)`."""
        if derived.kind == "jvp" and len(rest) == 2:
            primals, tangents = (self._items(r, node) for r in rest)
            derived = replace(derived, wrt=tuple(range(len(primals))))
            return self.derived.push(derived, tuple(primals), {}, list(tangents), node)
        if derived.kind == "vjp":
            derived = replace(derived, wrt=tuple(range(len(rest))))
            value = self.evaluator.call(derived.function, tuple(rest), {}, node)
            return TupleVal((value, Partial(DerivedVal("pullback", derived), tuple(rest))))
        return self.places.refuse(
            node, f"s2s.{derived.kind} takes the function alone", f"write s2s.{derived.kind}(f)(x)"
        )

    def _items(self, value: Value, node: core.Node) -> Any:
        items = self.objects.static_items(value)
        if items is None:
            self.places.refuse(node, "primals and tangents are tuples here", "write (x,), (v,)")
        return items

    def call_derived(
        self, derived: DerivedVal, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        return self.by_kind[derived.kind](derived, tuple(args), dict(kwargs), node)
