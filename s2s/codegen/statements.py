"""Emission of statements as LLVM IR."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from .. import kernels
from . import value_types as types
from .array_values import Buffer, allocate, on_stack, release, retain, unpack
from .expressions import Expressions
from .gemm import gemm_call
from .llvm_utils import INT, POINTER, room
from .loop_metadata import advise
from .type_inference import Types, indices
from .type_lowering import Context
from .value_types import Array

CODE = ir.IntType(32)
# Arrays of constant size up to this many elements may be allocated on the stack.
SMALL = 64
NO_MEMORY = MemoryError, ("Allocation failed (probably too large).",)


class Failures:
    """The error codes of a kernel: its (exception, arguments), numbered from `first` on."""

    def __init__(self, first: int = 1) -> None:
        self.first = first
        self.known: dict[tuple[Any, ...], int] = {}

    def code(self, exception: Any, args: tuple[Any, ...]) -> int:
        return self.known.setdefault((exception, args), len(self.known) + self.first)


class Body(Expressions):
    """Emitter for the statements of one function.  `fail(code)` returns from the function with an
    error.  `values` are the IR values of variables that are assigned once, `slots` the allocas of
    the others.  `table` is an array of meminfo pointers of the arrays that are held; `owned[name]`
    is the index of a variable in it."""

    table: Any = None
    private: set[str] = set()  # arrays that have no alias and are not returned
    frugal = False  # whether to prefer short compile time to run time
    brief = False  # whether all loops have few iterations
    products: gemm_call.Library | None = None  # matrix products; None: those of the process

    def __init__(self, context: Context, builder: Any, types_: Types, failures: Failures) -> None:
        self.context = context
        self.builder = builder
        self.types = types_
        self.failures = failures
        self.values: dict[str, Any] = {}
        self.slots: dict[str, Any] = {}
        self.owned: dict[str, int] = {}
        self.exits: list[Any] = []
        self.depth = 0

    def fail(self, code: Any) -> None:
        raise NotImplementedError

    # ---- variables

    def variable(self, name: str) -> Any:
        if name in self.values:
            return self.values[name]
        type_ = self.types.names[name]
        if not isinstance(type_, Array):
            return self.builder.load(self._slot(name))
        shape: Buffer = self.slots[name][0]
        return shape.of_parts([self.builder.load(p) for p in self.slots[name][1]])

    def _slot(self, name: str) -> Any:
        if name not in self.slots:
            kind = self.context.value_type(self.types.names[name])
            self.slots[name] = room(self.builder, kind, zero=True)
        return self.slots[name]

    def assign(self, name: str, value: Any) -> None:
        if name in self.types.slots:
            self.builder.store(value, self._slot(name))
        else:
            self.values[name] = value

    def assign_array(self, name: str, buffer: Buffer, fresh: bool) -> None:
        """Bind a variable to an array; `fresh`: no other reference to its memory exists."""
        self.hold(name, buffer, fresh)
        if name not in self.types.slots:
            self.values[name] = buffer
            return
        if name not in self.slots:
            kinds = [p.type for p in buffer.parts()]
            allocas = [room(self.builder, k, zero=True) for k in kinds]
            self.slots[name] = buffer, allocas
        for part, alloca in zip(buffer.parts(), self.slots[name][1], strict=True):
            self.builder.store(part, alloca)

    def hold(self, name: str, buffer: Buffer, fresh: bool) -> None:
        """Record the meminfo of a variable's new array; retain it unless `fresh`."""
        if not fresh:
            retain(self.builder, buffer.memory)
        entry = self.memory_of(name)
        if name in self.types.slots or self.depth:
            release(self.builder, entry)
        self.builder.store(buffer.memory, entry)

    def memory_of(self, name: str) -> Any:
        """The address of the table entry for the meminfo of an array variable."""
        index = INT(self.owned.setdefault(name, len(self.owned)))
        return self.builder.gep(self.table, [INT(0), index], inbounds=True)

    def parameter(self, name: str, value: Any) -> None:
        """Bind a parameter of the function to its argument."""
        if isinstance(value, Buffer) and name in self.types.slots:
            self.assign_array(name, value, fresh=False)
        elif isinstance(value, Buffer):
            self.values[name] = value
        else:
            self.assign(name, value)

    # ---- statements

    def block(self, stmts: list[ast.stmt]) -> None:
        self.depth += 1
        for s in stmts:
            self.stmt(s)
        self.depth -= 1

    def stmt(self, s: ast.stmt) -> None:
        if not self.builder.block.is_terminated:
            self._STATEMENTS[type(s)](self, s)

    def _assign(self, s: ast.Assign) -> None:
        (target,) = s.targets
        if isinstance(target, ast.Subscript):
            buffer: Buffer = self.expr(target.value)
            value = self.as_type(s.value, buffer.type.dtype)
            self.store(buffer, [self.integer(i) for i in indices(target)], value)
            return
        if isinstance(target, ast.Tuple):
            self._several(target, s.value)
            return
        assert isinstance(target, ast.Name)
        type_ = self.types.names[target.id]
        if isinstance(type_, Array):
            self._bind(target.id, s.value)
        else:
            self.assign(target.id, self.as_type(s.value, type_))

    def _several(self, target: ast.Tuple, value: ast.expr) -> None:
        kinds = self.types.of[value].types
        whole = self.expr(value)
        for position, (element, kind) in enumerate(zip(target.elts, kinds, strict=True)):
            assert isinstance(element, ast.Name)
            part = self.builder.extract_value(whole, position)
            if isinstance(kind, Array):
                buffer = unpack(self.context, self.builder, kind, part)
                self.assign_array(element.id, buffer, fresh=True)
            else:
                self.assign(element.id, self.cast(part, kind, self.types.names[element.id]))

    def _bind(self, name: str, value: ast.expr) -> None:
        """Bind an array variable: to an alias, to a new array, to a reshaped view, or to the result
        of a call."""
        type_ = self.types.of[value]
        if not isinstance(value, ast.Call):
            self.assign_array(name, self.expr(value), fresh=False)
        elif self._is_method(value):
            assert isinstance(value.func, ast.Attribute) and isinstance(value.args[0], ast.Tuple)
            old: Buffer = self.expr(value.func.value)
            sizes = [self.integer(e) for e in value.args[0].elts]
            new = Buffer(type_, old.data, sizes, None, old.memory)
            self.assign_array(name, new, fresh=False)
        elif self.types.value(value.func) is np.empty:
            assert isinstance(value.args[0], ast.Tuple)
            sizes = [self.integer(e) for e in value.args[0].elts]
            if name in self.private and is_small(sizes):
                # It has no alias, so all iterations of a loop can share one alloca.
                self.values[name] = on_stack(self.builder, type_, sizes)
                return
            self.assign_array(name, self.new_array(name, type_, sizes), fresh=True)
        elif self.types.value(value.func) is kernels.reserve:
            self._reserve(name, value)
        else:
            self.assign_array(name, self.expr(value), fresh=True)

    def _reserve(self, name: str, value: ast.Call) -> None:
        """Replace a buffer by a longer one if its capacity is exceeded."""
        old: Buffer = self.expr(value.args[0])
        used, more = (self.integer(a) for a in value.args[1:])
        enough = self.builder.icmp_signed("<=", self.builder.add(used, more), old.sizes[0])
        with self.builder.if_then(self.builder.not_(enough), likely=False):
            self.assign_array(name, self.longer(name, value, old, used, more), fresh=True)

    def longer(self, name: str, value: ast.Call, old: Buffer, used: Any, more: Any) -> Buffer:
        """A new buffer with capacity for `more` elements, the used part of the old one copied."""
        builder, kind = self.builder, old.type
        twice = builder.shl(builder.add(used, more), INT(1))
        made = self.new_array(name, kind, [builder.add(twice, INT(8))])
        size = builder.mul(used, INT(kind.dtype.bytes))
        copy = builder.module.declare_intrinsic("llvm.memcpy", [POINTER, POINTER, INT])
        target, source = (builder.bitcast(b.data, POINTER) for b in (made, old))
        builder.call(copy, [target, source, size, ir.IntType(1)(0)])
        return made

    def new_array(self, name: str, type_: Any, sizes: list[Any]) -> Buffer:
        """Allocate the array of a variable."""
        return allocate(self.builder, type_, sizes, self._no_memory)

    def _no_memory(self) -> None:
        self.fail(CODE(self.failures.code(*NO_MEMORY)))

    def _aug_assign(self, s: ast.AugAssign) -> None:
        target = s.target
        assert isinstance(target, ast.Subscript)
        buffer: Buffer = self.expr(target.value)
        index = [self.integer(i) for i in indices(target)]
        kinds = [buffer.type.dtype, self.types.of[s.value]]
        old, value = self.load(buffer, index), self.expr(s.value)
        new = self.call(target, [old, value], kinds)
        result = self.types.calls[target].result
        self.store(buffer, index, self.cast(new, result, buffer.type.dtype))

    def _expression(self, s: ast.Expr) -> None:
        call = s.value
        assert isinstance(call, ast.Call)
        if call in self.types.calls:
            self.expr(call)
            return
        args = [self.expr(a) for a in call.args]
        products = self.products or gemm_call.shared()
        if self.types.value(call.func) is kernels.gemm_at:
            gemm_call.emit_at(self.builder, args, products)
        else:
            gemm_call.emit(self.context, self.builder, args, products)

    def _raise(self, s: ast.Raise) -> None:
        assert isinstance(s.exc, ast.Call)
        exception = self.types.value(s.exc.func)
        if all(isinstance(a, ast.Constant) for a in s.exc.args):
            args = tuple(a.value for a in s.exc.args)  # type: ignore[attr-defined]
            self.fail(CODE(self.failures.code(exception, args)))
        else:
            self.fail_with(exception, s.exc.args)

    def fail_with(self, exception: Any, args: list[ast.expr]) -> None:
        raise NotImplementedError

    def _pass(self, s: ast.Pass) -> None:
        pass

    # ---- control flow

    def _if(self, s: ast.If) -> None:
        test = self.as_type(s.test, types.boolean)
        if not s.orelse:
            with self.builder.if_then(test):
                self.block(s.body)
            return
        with self.builder.if_else(test) as (then, otherwise):
            with then:
                self.block(s.body)
            with otherwise:
                self.block(s.orelse)
        self._terminate_if_unreachable()

    def _terminate_if_unreachable(self) -> None:
        """Mark the merge block as unreachable if both branches have returned."""
        block = self.builder.block
        if not any(_branches_to(b, block) for b in self.builder.function.blocks):
            self.builder.unreachable()

    def _while(self, s: ast.While) -> None:
        builder = self.builder
        body, after = builder.append_basic_block(), builder.append_basic_block()
        builder.branch(body)
        builder.position_at_end(body)
        self.exits.append(after)
        self.block(s.body)
        self.exits.pop()
        if not builder.block.is_terminated:
            builder.branch(body)
        builder.position_at_end(after)

    def _break(self, s: ast.Break) -> None:
        self.builder.branch(self.exits[-1])

    def _for(self, s: ast.For) -> None:
        """Emit a loop in place, unless `apart` outlines it as a function."""
        if not self.apart(s):
            self.loop(s)

    def apart(self, s: ast.For) -> bool:
        """True if the loop was emitted as a call of an outlined function."""
        return False

    def loop(self, s: ast.For) -> None:
        """Emit a counted loop in place."""
        assert isinstance(s.iter, ast.Call) and isinstance(s.target, ast.Name)
        bounds = [self.integer(a) for a in s.iter.args]
        start, stop = (INT(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else INT(1)
        builder = self.builder
        before = builder.block
        head, inside, after = (builder.append_basic_block() for _ in range(3))
        builder.branch(head)
        builder.position_at_end(head)
        i = builder.phi(INT)
        i.add_incoming(start, before)
        builder.cbranch(self._continues(i, stop, step), inside, after)
        builder.position_at_end(inside)
        self.assign(s.target.id, i)
        self.exits.append(after)
        self.block(s.body)
        self.exits.pop()
        if not builder.block.is_terminated:
            i.add_incoming(builder.add(i, step, flags=["nsw"]), builder.block)
            advise(builder.branch(head), s, self.types, self.frugal, self.brief)
        builder.position_at_end(after)

    def _continues(self, i: Any, stop: Any, step: Any) -> Any:
        builder = self.builder
        if isinstance(step, ir.Constant):
            return builder.icmp_signed("<" if step.constant > 0 else ">", i, stop)
        up = builder.icmp_signed(">", step, INT(0))
        below, above = (builder.icmp_signed(sign, i, stop) for sign in "<>")
        return builder.select(up, below, above)

    def _return(self, s: ast.Return) -> None:
        raise NotImplementedError

    _STATEMENTS: dict[type, Callable[..., None]] = {
        ast.Assign: _assign,
        ast.AugAssign: _aug_assign,
        ast.Expr: _expression,
        ast.Raise: _raise,
        ast.Pass: _pass,
        ast.If: _if,
        ast.While: _while,
        ast.Break: _break,
        ast.For: lambda self, s: self._for(s),
        ast.Return: lambda self, s: self._return(s),
    }


def is_small(sizes: list[Any]) -> bool:
    """True if an array has constant size and at most `SMALL` elements."""
    if not all(isinstance(n, ir.Constant) for n in sizes):
        return False
    return math.prod(n.constant for n in sizes) <= SMALL


def _branches_to(block: Any, target: Any) -> bool:
    return block.is_terminated and target in getattr(block.terminator, "operands", ())
