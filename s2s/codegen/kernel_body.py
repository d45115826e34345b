"""The body of a kernel, independent of its calling convention and error reporting."""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from .array_values import Buffer, release, retain
from .llvm_utils import INT, POINTER, counted_loop, entry_alloca
from .partition.outline_nests import Plan
from .partition.shared_frame import Frame
from .partition.split_function import Framed, call_part
from .statements import ERROR_CODE, ErrorCodes
from .syntax_helpers import walk
from .type_inference import Types
from .type_lowering import Context


class Errors:
    """Error reporting of a function: an interface for the calling conventions."""

    def set(self, builder: Any, exception: Any, args: tuple[Any, ...]) -> None:
        """Record an error with constant arguments."""
        raise NotImplementedError

    def set_with(self, builder: Any, exception: Any, values: list[Any], kinds: list[Any]) -> None:
        """Record an error whose arguments are IR values of types `kinds`, or Python constants."""
        raise NotImplementedError

    def leave(self, builder: Any) -> None:
        """Return from the function with the error recorded last."""
        builder.ret(ERROR_CODE(1))


class Kernel(Framed):
    """Emits the statements of a kernel, its error exits and the calls of its parts."""

    def __init__(
        self,
        context: Context,
        builder: Any,
        known: Types,
        errors: Errors,
        plan: Plan,
        frame: Frame | None = None,
        base: Any = None,
    ) -> None:
        super().__init__(context, builder, known, ErrorCodes(), plan, frame, base)
        self.errors = errors
        self.failed = builder.append_basic_block("failed")
        self.code = entry_alloca(builder, ERROR_CODE)
        self.results: list[Any] | None = None

    def run(self, function: ast.FunctionDef, values: list[Any]) -> list[Any] | None:
        """Emit the kernel and return its results; None if it always fails.  Arguments are IR values
        and `Buffer`s, unless they are passed in the frame."""
        if self.frame is not None:
            self._clear_frame(self.frame)
            values = [self._load_argument(a.arg) for a in function.args.args]
        for parameter, value in zip(function.args.args, values):
            if value is not None:
                self.parameter(parameter.arg, value)
        self.private = self.plan.private - returned_names(function) - {*self.words}
        last = last_uses(function.body)
        for part in self.frame.parts if self.frame else function.body:
            if isinstance(part, ast.stmt):
                self.statement(part, last.get(part, []))
            elif not self.builder.block.is_terminated:
                code = call_part(self, part, last)
                failed = self.builder.icmp_unsigned("!=", code, ERROR_CODE(0))
                with self.builder.if_then(failed, likely=False):
                    self.fail(code)
        self._emit_error_exit()
        return self.results

    def _clear_frame(self, frame: Frame) -> None:
        """Zero the frame except for the arguments at its start."""
        start = self.builder.bitcast(self.table, POINTER)
        memset = self.builder.module.declare_intrinsic("llvm.memset", [POINTER, INT])
        size = INT(8 * (frame.size - frame.table))
        self.builder.call(memset, [start, ir.IntType(8)(0), size, ir.IntType(1)(0)])

    def _load_argument(self, name: str) -> Any:
        """Load an argument from the frame if it is reassigned; None for others."""
        assert self.frame is not None
        if name not in self.types.slots:
            return None
        return self.of_parts(name, self.read(self.frame.given[name]))

    def _return(self, s: ast.Return) -> None:
        assert isinstance(s.value, ast.Tuple)
        self.results = [self.expr(e) for e in s.value.elts]
        for value in self.results:
            if isinstance(value, Buffer):
                retain(self.builder, value.memory)

    # ---- errors

    def fail(self, code: Any) -> None:
        self.builder.store(code, self.code)
        self.builder.branch(self.failed)

    def fail_with(self, exception: Any, args: list[ast.expr]) -> None:
        values = [a.value if isinstance(a, ast.Constant) else self.expr(a) for a in args]
        self.errors.set_with(self.builder, exception, values, [self.types.of.get(a) for a in args])
        self.fail(ERROR_CODE(0))

    def _emit_error_exit(self) -> None:
        """Emit the common error exit: release all arrays, then raise the error of the code."""
        builder = self.builder
        with builder.goto_block(self.failed):
            with counted_loop(builder, INT(len(self.owned))) as i:
                release(builder, builder.gep(self.table, [INT(0), i], inbounds=True))
            raised = builder.append_basic_block()
            choice = builder.switch(builder.load(self.code), raised)
            builder.position_at_end(raised)
            self.errors.leave(builder)
            for (exception, args), code in self.failures.known.items():
                block = builder.append_basic_block()
                choice.add_case(ERROR_CODE(code), block)
                builder.position_at_end(block)
                self.errors.set(builder, exception, args)
                self.errors.leave(builder)


def returned_names(function: ast.FunctionDef) -> set[str]:
    """The names that occur in return statements."""
    values = [s.value for s in walk(function) if isinstance(s, ast.Return)]
    return {n.id for e in values if e for n in walk(e) if isinstance(n, ast.Name)}


def last_uses(stmts: list[ast.stmt]) -> dict[ast.stmt, list[str]]:
    """Last uses: for each statement, the names that no later statement mentions."""
    last: dict[str, ast.stmt] = {}
    for stmt in stmts:
        for node in walk(stmt):
            if isinstance(node, ast.Name):
                last[node.id] = stmt
    out: dict[ast.stmt, list[str]] = {}
    for name, stmt in last.items():
        out.setdefault(stmt, []).append(name)
    return out
