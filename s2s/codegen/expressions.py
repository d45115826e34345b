"""Emission of expressions as LLVM IR.

Arithmetic on the common scalar types is emitted by `arithmetic.py`.  For everything else, Numba's
implementation of the operator or function is used, so that both compilation paths agree.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from llvmlite import ir
from llvmlite.ir.instructions import LoadInstr

from .. import kernels
from . import arithmetic, elementary
from . import value_types as types
from .array_values import Buffer, pack, unpack
from .llvm_utils import declared, new_function, room
from .type_inference import Types, indices
from .type_lowering import Context, to_numba
from .value_types import Array, Boolean, Callee, Float, Integer, Literal


class Expressions:
    """Emits expressions at the builder's insertion point.  Subclasses supply the variables."""

    context: Context
    builder: Any
    types: Types
    constant: set[str] = set()  # arrays whose elements never change

    def variable(self, name: str) -> Any:
        raise NotImplementedError

    # ---- by kind of node

    def expr(self, node: ast.expr) -> Any:
        """The IR value of a scalar expression, the `Buffer` of an array expression."""
        return self._KINDS[type(node)](self, node)

    def as_type(self, node: ast.expr, type_: Any) -> Any:
        """The value of a scalar expression, converted to a type."""
        return self.cast(self.expr(node), self.types.of[node], type_)

    def cast(self, value: Any, old: Any, new: Any) -> Any:
        if old == new:
            return value
        if arithmetic.can_convert(old, new):
            return arithmetic.converted(self.builder, value, old, new)
        self.types.wake()
        return self.context.numba.cast(self.builder, value, to_numba(old), to_numba(new))

    def integer(self, node: ast.expr) -> Any:
        return self.as_type(node, types.intp)

    def _name(self, node: ast.Name) -> Any:
        return self.variable(node.id)

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, str):
            self.types.wake()
            kind = to_numba(types.string)
            return self.context.numba.get_constant_generic(self.builder, kind, node.value)
        return self._number(node.value, self.types.of[node])

    def _number(self, value: Any, type_: Any) -> Any:
        return ir.Constant(self.context.value_type(type_), value)

    def _attribute(self, node: ast.Attribute) -> Any:
        return self._number(self.types.value(node), types.float64)

    def _subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.value, ast.Attribute):
            axis = node.slice
            assert isinstance(axis, ast.Constant)
            return self.expr(node.value.value).sizes[axis.value]
        buffer: Buffer = self.expr(node.value)
        index = [self.integer(i) for i in indices(node)]
        type_ = self.types.of[node]
        if isinstance(type_, Array):
            return buffer.part(self.builder, type_, index)
        value = self.load(buffer, index)
        if isinstance(node.value, ast.Name) and node.value.id in self.constant:
            self._mark_invariant(value)
        return value

    def _mark_invariant(self, loaded: Any) -> None:
        """Mark a load as invariant, so that LLVM keeps its value across stores to other arrays."""
        if isinstance(loaded, LoadInstr):
            loaded.set_metadata("invariant.load", self.builder.module.add_metadata([]))

    def load(self, buffer: Buffer, index: list[Any]) -> Any:
        address = buffer.place(self.builder, index)
        return self.context.load(self.builder, buffer.type.dtype, address)

    def store(self, buffer: Buffer, index: list[Any], value: Any) -> None:
        address = buffer.place(self.builder, index)
        self.context.store(self.builder, buffer.type.dtype, value, address)

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.expr(node.left), self.expr(node.right)
        return self.call(node, [left, right], [self.types.of[node.left], self.types.of[node.right]])

    def _compare(self, node: ast.Compare) -> Any:
        (other,) = node.comparators
        left, right = self.expr(node.left), self.expr(other)
        return self.call(node, [left, right], [self.types.of[node.left], self.types.of[other]])

    def _unary(self, node: ast.UnaryOp) -> Any:
        return self.call(node, [self.expr(node.operand)], [self.types.of[node.operand]])

    # ---- conditional expressions

    def _bool_op(self, node: ast.BoolOp) -> Any:
        first, *rest = node.values
        value = self.expr(first)
        both = isinstance(node.op, ast.And)
        for other in rest:
            if is_cheap(other):
                join = self.builder.and_ if both else self.builder.or_
                value = join(value, self.expr(other))
            else:
                skipped = ir.IntType(1)(0 if both else 1)
                needed = value if both else self.builder.not_(value)
                value = self._branch(needed, lambda o=other: self.expr(o), lambda s=skipped: s)
        return value

    def _conditional(self, node: ast.IfExp) -> Any:
        type_ = self.types.of[node]
        name = _extremum_intrinsic(node)
        if name is not None and isinstance(type_, Float):
            values = [self.as_type(part, type_) for part in (node.body, node.orelse)]
            kind = values[0].type
            function = ir.FunctionType(kind, [kind, kind])
            called = declared(self.builder.module, function, f"llvm.{name}.f{type_.bits}")
            return self.builder.call(called, values)
        test = self.as_type(node.test, types.boolean)
        if is_cheap(node.body) and is_cheap(node.orelse):
            yes, no = self.as_type(node.body, type_), self.as_type(node.orelse, type_)
            return self.builder.select(test, yes, no)
        return self._branch(
            test,
            lambda: self.as_type(node.body, type_),
            lambda: self.as_type(node.orelse, type_),
        )

    def _branch(self, test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """Evaluate only one of two expressions, with branches and a phi."""
        builder = self.builder
        with builder.if_else(test) as (then, otherwise):
            with then:
                first = yes()
                after_first = builder.block
            with otherwise:
                second = no()
                after_second = builder.block
        phi = builder.phi(first.type)
        phi.add_incoming(first, after_first)
        phi.add_incoming(second, after_second)
        return phi

    # ---- calls

    def _function_call(self, node: ast.Call) -> Any:
        function = self.types.value(node.func) if not self._is_method(node) else None
        kinds = [self.types.of[a] for a in node.args]
        if isinstance(function, type) and issubclass(function, np.generic):
            (argument,) = node.args
            return self.as_type(argument, self.types.of[node])
        if function is kernels.lent:
            (argument,) = node.args
            return replace(self.expr(argument), type=self.types.of[node])
        return self.call(node, [self.expr(a) for a in node.args], kinds)

    def _is_method(self, node: ast.Call) -> bool:
        return isinstance(node.func, ast.Attribute) and node.func.attr == "reshape"

    def call(self, node: ast.expr, args: list[Any], kinds: list[Any]) -> Any:
        """Emit the operator or function of a node, for IR values `args` of types `kinds`."""
        callee = self.types.calls[node]
        if callee.numba is None:
            function = elementary.find(callee)
            if function is not None:
                return elementary.call(self.builder, function, callee, args)
            write = arithmetic.writer(callee)
            assert write is not None
            return write(self.builder, *args)
        wanted = callee.args
        if callee.gathers:
            *alone, rest = wanted
            last = self._values(args[len(alone) :], kinds[len(alone) :], rest.types)
            values = self._values(args[: len(alone)], kinds[: len(alone)], alone)
            values.append(self.context.numba.make_tuple(self.builder, to_numba(rest), last))
        else:
            values = self._values(args, kinds, wanted)
        function = elementary.find(callee)
        if function is not None:
            return elementary.call(self.builder, function, callee, values)
        if never_fails(callee):
            result = self._shared_call(callee, values)
        else:
            self.types.wake()
            result = self.context.numba.get_function(*callee.numba)(self.builder, values)
        if isinstance(callee.result, Array):
            return unpack(self.context, self.builder, callee.result, result)
        return result

    def _values(self, args: Any, kinds: Any, wanted: Any) -> list[Any]:
        """Arguments, converted to the parameter types, arrays in Numba's data model."""
        values = []
        for value, old, new in zip(args, kinds, wanted, strict=True):
            if isinstance(value, Buffer):
                value = pack(self.context, self.builder, value)
            values.append(self.cast(value, old, new) if _needs_cast(old, new) else value)
        return values

    def _shared_call(self, callee: Callee, values: list[Any]) -> Any:
        """Call a scalar function implemented by Numba, which is emitted once per module.  It may
        call other Numba functions, so it has Numba's calling convention: a pointer for the result
        and one for the exception, which stays null."""
        numba, (_, signature) = self.context.numba, callee.numba
        function = self._shared_function(callee)
        result = room(self.builder, function.args[0].type.pointee, zero=True)
        no_error = ir.Constant(function.args[1].type, None)
        given = numba.get_arg_packer(signature.args).as_arguments(self.builder, values)
        self.builder.call(function, [result, no_error, *given])
        found = self.builder.load(result)
        return numba.get_returned_value(self.builder, signature.return_type, found)

    def _shared_function(self, callee: Callee) -> Any:
        module, numba, (kind, signature) = self.builder.module, self.context.numba, callee.numba
        name = f"s2s.{callee.function!r}{signature}".replace('"', "'")
        function = module.globals.get(name)
        if function is None:
            type_ = numba.call_conv.get_function_type(signature.return_type, signature.args)
            function = new_function(module, type_, name, "alwaysinline")
            builder = ir.IRBuilder(function.append_basic_block())
            packer = numba.get_arg_packer(signature.args)
            values = packer.from_arguments(builder, function.args[2:])
            self.types.wake()
            result = numba.get_function(kind, signature)(builder, values)
            given = numba.get_return_value(builder, signature.return_type, result)
            numba.call_conv.return_value(builder, given)
        return function

    _KINDS: dict[type, Callable[..., Any]] = {
        ast.Name: _name,
        ast.Constant: _constant,
        ast.Attribute: _attribute,
        ast.Subscript: _subscript,
        ast.BinOp: _binary,
        ast.Compare: _compare,
        ast.UnaryOp: _unary,
        ast.BoolOp: _bool_op,
        ast.IfExp: _conditional,
        ast.Call: _function_call,
    }


def _needs_cast(old: Any, new: Any) -> bool:
    return old != new and not isinstance(new, (Literal, Array))


def never_fails(callee: Callee) -> bool:
    """True if the emitted code neither raises nor depends on an enclosing Numba function."""
    if callee.numba is None or elementary.find(callee) is not None:
        return True
    if not all(isinstance(t, (Float, Integer, Boolean)) for t in (*callee.args, callee.result)):
        return False
    key = callee.function
    if isinstance(key, np.ufunc):
        return all(isinstance(t, Float) for t in callee.args)
    return getattr(key, "__module__", "") == "_operator" and key.__name__ not in ("pow", "ipow")


def _is_cast(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return name in ("float32", "float64", "int64", "bool_")


def is_cheap(node: ast.expr) -> bool:
    """True if an expression may be evaluated speculatively: it has no element loads, no calls but
    casts, no conditionals, integer divisions or powers."""
    for part in ast.walk(node):
        if isinstance(part, ast.IfExp) or (isinstance(part, ast.Call) and not _is_cast(part)):
            return False
        if isinstance(part, ast.Subscript) and not isinstance(part.value, ast.Attribute):
            return False
        if isinstance(part, ast.BinOp) and isinstance(part.op, (ast.FloorDiv, ast.Mod, ast.Pow)):
            return False
    return True


def _extremum_intrinsic(node: ast.IfExp) -> str | None:
    """The intrinsic `maximum` or `minimum` for `x if x > y or x != x else y`, which propagates nan.
    LLVM vectorises the intrinsic but not the select pattern."""
    match node:
        case ast.IfExp(
            test=ast.BoolOp(
                op=ast.Or(),
                values=[
                    ast.Compare(left=ast.Name(id=a), ops=[sign], comparators=[ast.Name(id=b)]),
                    ast.Compare(
                        left=ast.Name(id=c), ops=[ast.NotEq()], comparators=[ast.Name(id=d)]
                    ),
                ],
            ),
            body=ast.Name(id=e),
            orelse=ast.Name(id=f),
        ) if a == c == d == e and b == f:
            return {ast.Gt: "maximum", ast.Lt: "minimum"}.get(type(sign))
    return None
