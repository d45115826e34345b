"""The interface of the evaluator that every part may use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..syntax import core
from .values import Args, Kwargs, Obj, Value


class Evaluator(Protocol):
    """The methods that parts call upward: evaluation of syntax, and calls.  Everything else a
    part takes from the parts below it."""

    def eval(self, node: core.Expr) -> Value:
        """The value of an expression."""
        ...

    def elements(self, nodes: tuple[core.Expr, ...]) -> list[Value]:
        """The values of expressions, some of them starred."""
        ...

    def run(self, stmts: core.Block, loop: bool = False) -> bool:
        """Runs a block; whether it always ends in an error."""
        ...

    def bind(self, target: core.Expr, value: Value, node: core.Node) -> None:
        """Assigns a value to a target."""
        ...

    def for_each(
        self,
        target: core.Expr,
        iterable: Value,
        body: Callable[[], bool],
        until: str | None,
        node: core.Node,
    ) -> bool:
        """Runs a body for each element; whether that always ends in an error."""
        ...

    def call(self, callee: Value, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """Calls any value."""
        ...

    def call_function(self, callee: Obj, args: Args, kwargs: Kwargs, node: core.Node) -> Value:
        """Calls a Python function by its text."""
        ...

    def call_method(
        self, owner: Value, name: str, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        """Calls a method of any value."""
        ...

    def call_special(self, owner: Value, name: str, args: Args, node: core.Node) -> Value | None:
        """Calls the method of the user's class for an operator; None if there is none that supports
        the operands."""
        ...
