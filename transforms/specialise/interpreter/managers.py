"""`with` of the user's own context managers: `__enter__`, the body, `__exit__`.

`__exit__` is called as after a body that raised nothing.  It must not read its arguments, and must
return nothing: then it neither hides an error nor raises another.
"""

from __future__ import annotations

import inspect
import types
from typing import NoReturn

from ...frontend.check_subset import on_adjoint, on_pause, on_tape
from ...frontend.source import read
from ...ir.nodes import Operand
from ...ir.record import record
from ...syntax import core
from ...syntax.names import loads
from ...syntax.traverse import returns_of, walk
from ..control.updates import Updates
from ..derivatives.custom import CustomRules
from ..derivatives.tracing import Tracing
from ..dispatch import runs
from ..heap.arrays import Arrays
from ..outside.object_attributes import ObjectAttributes, made_by_library
from ..places import Places
from ..session import Part
from ..surface.guards import Guards
from ..tapes.tape import Tapes
from ..values import Num, Obj, Ref, Value


@record(eq=False)
class Managers(Part):
    """Context managers of the user's own."""

    places: Places
    arrays: Arrays
    updates: Updates
    object_attributes: ObjectAttributes
    guards: Guards
    tracing: Tracing
    custom: CustomRules
    tape: Tapes

    def run_managed(self, node: core.With, items: tuple[core.WithItem, ...]) -> bool:
        """Runs a `with` with these managers left to enter; True if it always ends in an error."""
        if not items:
            return self.evaluator.run(node.body)
        item, *rest = items
        if not self._may_manage(item.value):
            self._refuse_with(node)
        manager = self.evaluator.eval(item.value)
        enter, leave = (
            self.object_attributes.special(manager, "__enter__"),
            self.object_attributes.special(manager, "__exit__"),
        )
        if enter is None or leave is None:
            self._refuse_with(node)
        self._check_exit(leave, node)
        entered = self.evaluator.call_function(enter, (manager,), {}, node)
        if item.target is not None:
            self.evaluator.bind(item.target, entered, node)
        if self.run_managed(node, tuple(rest)):
            return True
        nothing: Value = Obj(None)
        self.evaluator.call_function(leave, (manager, nothing, nothing, nothing), {}, node)
        return False

    def _may_manage(self, value: core.Expr) -> bool:
        """False for a call that gives no manager of the user's: `open(...)`, `np.errstate(...)`."""
        callee = self.evaluator.eval(value.function) if isinstance(value, core.Call) else None
        if not isinstance(callee, Obj):
            return True
        if isinstance(callee.value, type):
            enter = inspect.getattr_static(callee.value, "__enter__", None)
            return isinstance(enter, types.FunctionType) and not made_by_library(enter)
        inner = inspect.unwrap(callee.value) if callable(callee.value) else None
        return isinstance(inner, types.FunctionType) and not inspect.isgeneratorfunction(inner)

    def _check_exit(self, leave: Obj, node: core.With) -> None:
        func = read(leave.value).node
        arguments = {p.name for p in func.params.all()[1:]}
        if arguments & {name.id for name in loads(func.body)}:
            self.places.refuse(
                node,
                "an `__exit__` that uses its arguments is not supported",
                "test conditions with `if`",
            )
        values = [r.value for r in returns_of(func.body) if r.value is not None]
        if not all(isinstance(v, core.Const) and v.value is None for v in values):
            self.places.refuse(
                node, "an `__exit__` that returns a value is not supported", "let it return nothing"
            )
        if any(isinstance(n, (core.Raise, core.Assert)) for n in walk(func.body)):
            self.places.refuse(
                node, "an `__exit__` that raises is not supported", "raise after the block"
            )

    def _refuse_with(self, node: core.With) -> NoReturn:
        self.places.refuse(
            node, "`with` is not supported here", "open resources outside the function"
        )
        raise AssertionError

    @runs(core.With)
    def run_With(self, node: core.With) -> bool | None:
        if on_tape(node):
            return self.tape.run_tapes(node)
        if on_pause(node):
            return self.tape.run_pause(node)
        if not on_adjoint(node):
            return self.run_managed(node, node.items)
        item = node.items[0]
        call = item.value
        assert isinstance(call, core.Call)
        owner = self.evaluator.eval(call.function)
        if not isinstance(owner, Obj) or not hasattr(owner.value, "_s2s_adjoint"):
            return self.run_managed(node, node.items)
        if len(call.args) != 1 or not isinstance(call.args[0], core.Name):
            self.places.refuse(
                call,
                "s2s.adjoint takes the name of a number or array",
                "write: with s2s.adjoint(h) as h_bar:",
            )
        if not isinstance(item.target, core.Name):
            self.places.refuse(
                call, "the adjoint needs a name", "write: with s2s.adjoint(h) as h_bar:"
            )
        name, bar_name = call.args[0].id, item.target.id
        value = self.evaluator.eval(call.args[0])
        if not isinstance(value, (Num, Ref)) or not self.custom.holds_floats(value):
            self.places.refuse(
                call.args[0], f"{name} is no float number or array", "name one that is"
            )
        operand = self.arrays.read(value) if isinstance(value, Ref) else value.operand

        def pullback(seed: Value) -> list[Operand]:
            self.state.env[bar_name] = seed
            self.evaluator.run(node.body)
            bar = self.state.env[bar_name]
            if not isinstance(bar, (Num, Ref)):
                self.places.refuse(node, f"{bar_name} must stay a number or array")
            with self.guards.guarding(node):
                return [self.tracing.fitted(self.arrays.sym(bar), operand, "the adjoint")]

        new = self.custom.customised(value, [operand], pullback, node)
        if isinstance(value, Ref) and isinstance(new, Ref):
            # The array goes on under its own name, and under those of its views.
            with self.guards.guarding(node):
                self.updates.write(value, (), self.arrays.sym(new), node)
        else:
            self.state.env[name] = new
        return None
