"""Type inference for a lowered function: the types of all its variables and expressions.

Lowered source has one type per name and no implicit conversions, so one pass over it suffices.
Overloads of operators and functions are resolved by `arithmetic.py`, or by Numba's typing context
if they are not found there.  Each (function, argument types) pair is resolved once.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import kernels
from ..kernels import registry
from ..runtime.locks import hold_compiler_lock
from . import arithmetic
from . import value_types as types
from .type_lowering import of_numba, to_numba
from .value_types import Array, Callee, Number, Tuple

OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


# Strings and generators are only ever passed on to functions.
_PASSED = (types.none, types.string, types.generator)


class Unsupported(Exception):
    """Lowered source that only Numba's own front end can compile."""


class ReturnsArgument(Exception):
    """A kernel may return part of an argument that it borrows."""


class NeedsNumba(Unsupported):
    """Lowered source that calls a Numba function, for a target that has none."""


class Types:
    """The inferred types: `of[node]` of an expression, `names[name]` of a variable, `results` of
    the returned values.  `calls[node]` is the overload of an operator or call.  `slots` are the
    names that need memory: they are assigned more than once, or read where they may be unbound.
    `loops` are loop variables.  `prepare` is called before the first use of Numba; it registers the
    functions of the module, whose namespace is `space`, with Numba."""

    def __init__(
        self,
        function: ast.FunctionDef,
        space: dict[str, Any],
        arguments: tuple[Any, ...],
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self.space = space
        self.awake = False
        self.prepare = prepare
        self.names: dict[str, Any] = {}
        self.of: dict[ast.expr, Any] = {}
        self.calls: dict[ast.expr, Callee] = {}
        self.results: tuple[Any, ...] = ()
        self.slots: set[str] = set()
        self.routines: dict[str, Any] = {}  # external routines that are called: compile results
        self._known: dict[Any, Callee] = {}
        self._home: dict[str, int] = {}
        self.loops: set[str] = set()
        self._open: list[int] = [0]
        self._blocks = 0
        for parameter, type_ in zip(function.args.args, arguments, strict=True):
            self._check(type_)
            self.names[parameter.arg] = type_
            self._home[parameter.arg] = 0
        for stmt in function.body:
            self.stmt(stmt)

    # ---- statements

    def stmt(self, s: ast.stmt) -> None:
        if isinstance(s, ast.Assign):
            (target,) = s.targets
            if isinstance(target, ast.Name):
                self.bind(target.id, self.expr(s.value))
            elif isinstance(target, ast.Subscript):
                self.place(target)
                self.expr(s.value)
            else:
                self._assign_tuple(target, s.value)
        elif isinstance(s, ast.AugAssign):
            assert isinstance(s.target, ast.Subscript)
            left, right = self.place(s.target), self.expr(s.value)
            self.calls[s.target] = self.resolve(OPERATORS[type(s.op)], (left, right))
        elif isinstance(s, ast.For):
            self._for(s)
        elif isinstance(s, ast.While):
            self.block(s.body)
        elif isinstance(s, ast.If):
            self.expr(s.test)
            self.block(s.body)
            self.block(s.orelse)
        elif isinstance(s, ast.Raise):
            assert isinstance(s.exc, ast.Call)
            for a in s.exc.args:
                if not (isinstance(a, ast.Constant) and isinstance(a.value, str)):
                    self.expr(a)
        elif isinstance(s, ast.Return):
            assert isinstance(s.value, ast.Tuple)
            self.results = tuple(self.expr(e) for e in s.value.elts)
        elif isinstance(s, ast.Expr):
            self.expr(s.value)
        elif not isinstance(s, (ast.Break, ast.Pass)):
            raise Unsupported(ast.dump(s))

    def block(self, stmts: list[ast.stmt]) -> None:
        self._blocks += 1
        self._open.append(self._blocks)
        for s in stmts:
            self.stmt(s)
        self._open.pop()

    def _for(self, s: ast.For) -> None:
        assert isinstance(s.iter, ast.Call) and isinstance(s.target, ast.Name)
        for a in s.iter.args:
            self.expr(a)
        name = s.target.id
        if name in self._home and (name not in self.loops or self._home[name] in self._open):
            self.slots.add(name)
        if self.names.setdefault(name, types.intp) != types.intp:
            raise Unsupported(f"{name} has two types")
        self.loops.add(name)
        self._home[name] = self._blocks + 1
        self.block(s.body)

    def _assign_tuple(self, target: ast.expr, value: ast.expr) -> None:
        """The names of what a call returns."""
        kinds = self.expr(value)
        assert isinstance(target, ast.Tuple)
        for element, type_ in zip(target.elts, kinds.types, strict=True):
            assert isinstance(element, ast.Name)
            self.bind(element.id, type_)

    def bind(self, name: str, type_: Any) -> None:
        if isinstance(type_, Tuple) or type_ == types.generator:
            raise Unsupported(f"a variable that is a {type_}")
        known = self.names.setdefault(name, type_)
        if known != type_:
            self.names[name] = self._both(known, type_)
        if name in self._home:
            self.slots.add(name)
        self._home[name] = self._open[-1]

    def _both(self, a: Any, b: Any) -> Any:
        """The common type of a variable that is bound to arrays of different types."""
        if isinstance(a, Array) and isinstance(b, Array):
            if (a.dtype, a.ndim, a.layout) == (b.dtype, b.ndim, b.layout):
                return a if a.readonly else b
        raise Unsupported("a name has two types")

    # ---- expressions

    def place(self, node: ast.Subscript) -> Any:
        """The type of an element that is stored to."""
        type_ = self.expr(node)
        if isinstance(type_, Array):
            raise Unsupported("a write to a part of an array")
        return type_

    def expr(self, node: ast.expr) -> Any:
        found = self.of[node] = self._expr(node)
        return found

    def _expr(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            name = node.id
            if name not in self.names:
                raise Unsupported(name)
            if self._home[name] not in self._open:
                self.slots.add(name)
            return self.names[name]
        if isinstance(node, ast.Constant):
            return self._constant(node.value)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Compare):
            (op,), (right,) = node.ops, node.comparators
            return self._operator(node, type(op), (self.expr(node.left), self.expr(right)))
        if isinstance(node, ast.BoolOp):
            if any(self.expr(v) != types.boolean for v in node.values):
                raise Unsupported("and, or of numbers")
            return types.boolean
        if isinstance(node, ast.UnaryOp):
            return self._operator(node, type(node.op), (self.expr(node.operand),))
        if isinstance(node, ast.IfExp):
            self.expr(node.test)
            a, b = self.expr(node.body), self.expr(node.orelse)
            both = a if a == b else self._unified(a, b)
            self._check(both)
            return both
        if isinstance(node, ast.Attribute) and isinstance(self.value(node), float):
            return types.float64
        raise Unsupported(ast.dump(node))

    def _unified(self, a: Any, b: Any) -> Any:
        found = self.load_numba().unify_types(to_numba(a), to_numba(b))
        if found is None:
            raise Unsupported(f"a choice of {a} and {b}")
        return of_numba(found)

    def _constant(self, value: Any) -> Any:
        if isinstance(value, bool):
            return types.boolean
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            return types.int64
        if isinstance(value, float):
            return types.float64
        if isinstance(value, str):
            return types.string
        raise Unsupported(repr(value))

    def _subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.value, ast.Attribute):
            if node.value.attr != "shape":
                raise Unsupported(node.value.attr)
            self.expr(node.value.value)
            return types.intp
        array = self.expr(node.value)
        if not isinstance(array, Array):
            raise Unsupported("a part of something else")
        given = indices(node)
        if not all(isinstance(self.expr(i), types.Integer) for i in given):
            raise Unsupported("an index that is no integer")
        left = array.ndim - len(given)
        return array.with_rank(left) if left else array.dtype

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.expr(node.left), self.expr(node.right)
        if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant):
            if isinstance(node.right.value, int):  # a constant exponent: the power is unrolled
                right = types.Literal(node.right.value)
        return self._operator(node, type(node.op), (left, right))

    def _operator(self, node: ast.expr, op: type, args: tuple[Any, ...]) -> Any:
        found = self.calls[node] = self.resolve(OPERATORS[op], args)
        return found.result

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "reshape":
            array = self.expr(node.func.value)
            (sizes,) = node.args
            assert isinstance(sizes, ast.Tuple)
            for e in sizes.elts:
                self.expr(e)
            return array.with_rank(len(sizes.elts))
        if isinstance(node.func, ast.Name) and node.func.id in self.space:
            self.load_numba()  # a function of the same text
        function = self.value(node.func)
        if function is np.empty:
            sizes, dtype = node.args
            assert isinstance(sizes, ast.Tuple)
            for e in sizes.elts:
                self.expr(e)
            return Array(self._of_dtype(self.value(dtype)), len(sizes.elts), "C")
        args = tuple(self.expr(a) for a in node.args)
        if function in (kernels.gemm, kernels.gemm_at) and args[-1].dtype in arithmetic.FLOATS:
            return types.none
        if function is kernels.lent:
            return args[0].read_only()
        if isinstance(function, type) and issubclass(function, np.generic):
            return self._of_dtype(function)
        if function is kernels.reserve:
            return args[0]
        self.calls[node] = found = self.resolve(function, args)
        return found.result

    # ---- what Numba knows

    def resolve(self, function: Any, args: tuple[Any, ...]) -> Callee:
        key = function, args
        if key not in self._known:
            self._known[key] = arithmetic.resolve(function, args) or self._asked(function, args)
        return self._known[key]

    def _asked(self, function: Any, args: tuple[Any, ...]) -> Callee:
        from numba.core.errors import NumbaError

        context = self.load_numba()
        ranks = tuple(a.ndim if isinstance(a, Array) else 0 for a in args)
        routine = registry.compiled_form(function, ranks)
        try:
            kind = context.resolve_value_type(function if routine is None else routine)
            found = context.resolve_function_type(kind, tuple(map(to_numba, args)), {})
        except NumbaError as error:
            raise Unsupported(str(error)) from error
        parameters = found.pysig.parameters.values() if found and found.pysig else ()
        gathers = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        if found is None or len(args) < len(found.args) - gathers:
            raise Unsupported(f"{function} of {args}")
        result = of_numba(found.return_type)
        for type_ in (*args, result):
            self._check(type_)
        if routine is not None:
            name = f"{function.__module__}.{function.__qualname__}{found}"
            self.routines[name] = routine.overloads[found.args]
        else:
            function = getattr(kind, "typing_key", None)
        wanted = tuple(map(of_numba, found.args))
        return Callee(function, wanted, result, (kind, found), gathers)

    def load_numba(self) -> Any:
        """Before Numba is asked for anything: how Numba finds types."""
        from numba.core.registry import cpu_target

        if not self.awake:
            hold_compiler_lock()
            if self.prepare is not None:
                self.prepare()
            arithmetic.load_numba_registries()
            self.awake = True
        return cpu_target.typing_context

    def value(self, node: ast.expr) -> Any:
        """The value of a dotted name of the module."""
        if isinstance(node, ast.Name):
            if node.id in self.names:
                raise Unsupported("a variable is called")
            if node.id in self.space:
                return self.space[node.id]
            return self.space["__builtins__"][node.id]
        if isinstance(node, ast.Attribute):
            return getattr(self.value(node.value), node.attr)
        raise Unsupported(ast.dump(node))

    def _of_dtype(self, dtype: Any) -> Any:
        found = types.of_dtype(dtype)
        self._check(found)
        return found

    def _check(self, type_: Any) -> None:
        if isinstance(type_, Tuple):
            for part in type_.types:
                self._check(part)
            return
        element = type_.dtype if isinstance(type_, Array) else type_
        if not isinstance(element, (Number, types.Literal)) and element not in _PASSED:
            raise Unsupported(str(type_))


def indices(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
