"""The body of a kernel, whoever calls it and however it raises errors."""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from .buffers import Buffer, release, retain
from .context import Context
from .emit import CODE, Body, Failures
from .infer import Types
from .kinds import Array
from .outline import Plan, call_nest, is_parallel
from .share import can_share, share_out
from .writing import INT, POINTER, counting, room


class Errors:
    """How a function ends that fails."""

    def set(self, builder: Any, exception: Any, args: tuple[Any, ...]) -> None:
        """Notes an error."""
        raise NotImplementedError

    def set_with(self, builder: Any, exception: Any, values: list[Any], kinds: list[Any]) -> None:
        """Notes an error that run-time values belong to; what is known is its own kind."""
        raise NotImplementedError

    def leave(self, builder: Any) -> None:
        """Returns, with the error that was noted last."""
        builder.ret(CODE(1))


class Kernel(Body):
    def __init__(self, context: Context, builder: Any, known: Types, errors: Errors) -> None:
        super().__init__(context, builder, known, Failures())
        self.errors = errors
        self.failed = builder.append_basic_block("failed")
        self.code = room(builder, CODE)
        arrays = sum(isinstance(t, Array) for t in known.names.values())
        self.table = room(builder, ir.ArrayType(POINTER, arrays), zero=True)
        self.results: list[Any] | None = None

    def run(self, function: ast.FunctionDef, values: list[Any]) -> list[Any] | None:
        """The results for arguments, which are values and `Buffer`s; None if it always fails."""
        for parameter, value in zip(function.args.args, values):
            self.parameter(parameter.arg, value)
        self.plan = Plan(function, self.types)
        self.frugal = self.plan.huge
        self.private = self.plan.private - returned(function)
        self.constant = self.plan.constant
        last = last_mentions(function.body)
        for position, stmt in enumerate(function.body):
            self.stmt(stmt)
            for name in last.get(position, ()):
                self._release(name)
        self._write_failures()
        return self.results

    def _release(self, name: str) -> None:
        if name in self.owned and not self.builder.block.is_terminated:
            release(self.builder, self.memory_of(name))

    def _return(self, s: ast.Return) -> None:
        assert isinstance(s.value, ast.Tuple)
        self.results = [self.expr(e) for e in s.value.elts]
        for value in self.results:
            if isinstance(value, Buffer):
                retain(self.builder, value.memory)

    def apart(self, s: ast.For) -> bool:
        if is_parallel(s) and can_share(self, self.plan, s):
            share_out(self, self.plan, s)
            return True
        alone = self.plan.stands_alone(s)
        if alone:
            call_nest(self, self.plan, s)
        return alone

    # ---- errors

    def fail(self, code: Any) -> None:
        self.builder.store(code, self.code)
        self.builder.branch(self.failed)

    def fail_with(self, exception: Any, args: list[ast.expr]) -> None:
        values = [a.value if isinstance(a, ast.Constant) else self.expr(a) for a in args]
        self.errors.set_with(self.builder, exception, values, [self.types.of.get(a) for a in args])
        self.fail(CODE(0))

    def _write_failures(self) -> None:
        """Lets go of all memory, then raises what the code says."""
        builder = self.builder
        with builder.goto_block(self.failed):
            with counting(builder, INT(len(self.owned))) as i:
                release(builder, builder.gep(self.table, [INT(0), i], inbounds=True))
            raised = builder.append_basic_block()
            choice = builder.switch(builder.load(self.code), raised)
            builder.position_at_end(raised)
            self.errors.leave(builder)
            for (exception, args), code in self.failures.known.items():
                block = builder.append_basic_block()
                choice.add_case(CODE(code), block)
                builder.position_at_end(block)
                self.errors.set(builder, exception, args)
                self.errors.leave(builder)


def returned(function: ast.FunctionDef) -> set[str]:
    given = [s.value for s in ast.walk(function) if isinstance(s, ast.Return)]
    return {n.id for e in given if e for n in ast.walk(e) if isinstance(n, ast.Name)}


def last_mentions(stmts: list[ast.stmt]) -> dict[int, list[str]]:
    """The names that are mentioned for the last time in each statement."""
    last: dict[str, int] = {}
    for position, stmt in enumerate(stmts):
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name):
                last[node.id] = position
    out: dict[int, list[str]] = {}
    for name, position in last.items():
        out.setdefault(position, []).append(name)
    return out
