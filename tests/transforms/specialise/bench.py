"""Parts of the evaluator on their own: above them stands a fake evaluator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from s2s.transforms.frontend.check_subset import checked
from s2s.transforms.frontend.source import read
from s2s.transforms.ir.nodes import Array, Assign, Scalar, Stmt, Var
from s2s.transforms.ir.symbolic_dims import Dim
from s2s.transforms.specialise.frames import Frames
from s2s.transforms.specialise.heap.arrays import Arrays
from s2s.transforms.specialise.places import Frame, Places
from s2s.transforms.specialise.session import Part, Session
from s2s.transforms.specialise.shared import Shared
from s2s.transforms.specialise.values import Num, Ref, Value, constant
from s2s.transforms.specialise.wiring import Wiring
from s2s.transforms.syntax import core
from s2s.transforms.syntax.names import local_names

P = TypeVar("P", bound=Part)


def program(x):
    y = x * 2.0
    return y


class FakeEvaluator:
    """Answers by the functions that a test gives it, and keeps what it was called with."""

    def __init__(self, **answers: Callable[..., Any]) -> None:
        self.answers = answers
        self.seen: list[tuple[Any, ...]] = []
        self.env: Callable[[], dict[str, Value]] = dict

    def _answer(self, name: str, *args: Any) -> Any:
        self.seen.append((name, *args))
        return self.answers[name](*args)

    def eval(self, node: Any) -> Any:
        if isinstance(node, core.Const):
            return constant(node.value)
        if isinstance(node, core.Name):
            return self.env()[node.id]
        return self._answer("eval", node)

    def bind(self, target: Any, value: Any, node: Any) -> None:
        self.env()[target.id] = value

    def elements(self, nodes: Any) -> list[Any]:
        return [self.eval(n) for n in nodes]

    def run(self, stmts: Any, loop: bool = False) -> bool:
        return self._answer("run", stmts)

    def for_each(self, *args: Any) -> bool:
        return self._answer("for_each", *args)

    def call(self, callee: Any, args: Any, kwargs: Any, node: Any) -> Any:
        return self._answer("call", callee, args)

    def call_function(self, callee: Any, args: Any, kwargs: Any, node: Any) -> Any:
        return self._answer("call_function", callee, args)

    def call_method(self, owner: Any, name: str, args: Any, kwargs: Any, node: Any) -> Any:
        return self._answer("call_method", owner, name, args)

    def call_special(self, owner: Any, name: str, args: Any, node: Any) -> Any:
        return (
            None
            if "call_special" not in self.answers
            else self._answer("call_special", owner, name, args)
        )


class Bench:
    """The parts of an evaluator that runs the first statement of a function."""

    def __init__(self, function: Any = program, **answers: Callable[..., Any]) -> None:
        self.session = Session(Shared(function), False, frozenset(), frozenset())
        self.evaluator = FakeEvaluator(**answers)
        self.evaluator.env = lambda: self.session.state.env
        self.parts = Wiring(self.session, self.evaluator)
        source = read(function)
        node = checked(source)
        self.session.state.envs.append({})
        frame = Frame(
            source, function, (), node, local_names(node), None, 0, (), self[Frames], function
        )
        self[Places].enter(frame)
        self[Places].begin(node.body[0])
        self.node = node.body[0]

    def __getitem__(self, cls: type[P]) -> P:
        return self.parts[cls]

    @property
    def env(self) -> dict[str, Value]:
        return self.session.state.env

    @property
    def block(self) -> list[Stmt]:
        return self.session.b.block

    @property
    def ops(self) -> list[str]:
        """The operations that have been emitted."""
        return [s.op.name for s in self.block if isinstance(s, Assign)]

    def number(self, name: str = "x", dtype: str = "float64") -> Num:
        """A number of the run."""
        self._take(name)
        dim = Dim.of(name) if dtype == "int64" else None
        return Num(Var(name, Scalar(dtype, value=dim), name))

    def array(self, name: str = "a", ndim: int = 1, dtype: str = "float64") -> Ref:
        """An array of the run."""
        self._take(name)
        shape = tuple(Dim.of(f"{name}.{k}") for k in range(ndim))
        return self[Arrays].new_array(Var(name, Array(dtype, shape), name), name)

    def _take(self, name: str) -> None:
        names = self.session.b.names
        names.keep(names.fresh(name))
