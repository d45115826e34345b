"""`with` of the user's own context managers: `__enter__`, the body, `__exit__`.

`__exit__` is called as after a body that raised nothing.  It must not read its arguments, and must
return nothing: then it neither hides an error nor raises another.
"""

from __future__ import annotations

import inspect
import types
from typing import NoReturn

from ..frontend.source import read
from ..ir.record import record
from ..syntax import core
from ..syntax.names import loads
from ..syntax.traverse import returns_of, walk
from .expressions import Expressions
from .operators import Operators, made_by_library
from .places import Places
from .session import Part
from .values import Obj, Value


@record(eq=False)
class Managers(Part):
    """Context managers of the user's own."""

    places: Places
    expressions: Expressions
    operators: Operators

    def run_managed(self, node: core.With, items: tuple[core.WithItem, ...]) -> bool:
        """Runs a `with` with these managers left to enter; True if it always ends in an error."""
        if not items:
            return self.evaluator.run(node.body)
        item, *rest = items
        if not self._may_manage(item.value):
            self._refuse_with(node)
        manager = self.expressions.eval(item.value)
        enter, leave = (
            self.operators.special(manager, "__enter__"),
            self.operators.special(manager, "__exit__"),
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
        callee = self.expressions.eval(value.function) if isinstance(value, core.Call) else None
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
