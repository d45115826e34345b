"""A kernel as a Numba intrinsic: what an otherwise empty function calls."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_USEREXC
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from .buffers import INT, POINTER, Buffer, pack, release, retain, unpack
from .emit import CODE, Body, Failures
from .infer import Types
from .outline import Plan, call_nest, is_parallel
from .share import can_share, share_out


def body(text: str, entry: str, space: dict[str, Any]) -> Any:
    """What does the same as function `entry` of a module, called with the same arguments;
    Numba knows the other functions of the module.  Only when it has to compile this one is the
    text read; it may turn out to be `Unsupported`."""

    def typed(*arguments: Any) -> tuple[Any, Any]:
        functions = (s for s in ast.parse(text).body if isinstance(s, ast.FunctionDef))
        function = next(s for s in functions if s.name == entry)
        known = Types(function, space, arguments)
        results = types.BaseTuple.from_types(known.results)

        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return Kernel(context, builder, known).run(function, sig, args)

        return signature(results, *arguments), code

    names = ", ".join(inspect.signature(space[entry]).parameters)
    made: dict[str, Any] = {"typed": typed}
    exec(f"def kernel(context, {names}):\n    return typed({names})\n", made)
    return intrinsic(made["kernel"])


class Kernel(Body):
    """The body of a kernel, inside a function of Numba's."""

    def __init__(self, context: Any, builder: Any, known: Types) -> None:
        super().__init__(context, builder, known, Failures())
        self.failed = builder.append_basic_block("failed")
        self.code = cgutils.alloca_once(builder, CODE)
        arrays = sum(isinstance(t, types.Array) for t in known.names.values())
        self.table = cgutils.alloca_once(builder, ir.ArrayType(POINTER, arrays), zfill=True)
        self.result: Any = None

    def run(self, function: ast.FunctionDef, sig: Any, args: Any) -> Any:
        for parameter, kind, value in zip(function.args.args, sig.args, args):
            if isinstance(kind, types.Array):
                value = unpack(self.context, self.builder, kind, value)
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
        if self.result is None:
            # The program always fails; what follows is never run.
            self.builder.position_at_end(self.builder.append_basic_block("never"))
            return ir.Constant(self.context.get_value_type(sig.return_type), ir.Undefined)
        return self.context.make_tuple(self.builder, sig.return_type, self.result)

    def _release(self, name: str) -> None:
        if name in self.owned and not self.builder.block.is_terminated:
            release(self.builder, self.memory_of(name))

    def _return(self, s: ast.Return) -> None:
        assert isinstance(s.value, ast.Tuple)
        self.result = [self.expr(e) for e in s.value.elts]
        for i, value in enumerate(self.result):
            if isinstance(value, Buffer):
                retain(self.builder, value.memory)
                self.result[i] = pack(self.context, self.builder, value)

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
        kinds = tuple(self.types.of[a] for a in args)
        values = tuple(self.expr(a) for a in args)
        self.types.wake()
        self.context.call_conv.set_dynamic_user_exc(self.builder, exception, values, kinds)
        self.fail(CODE(0))

    def _write_failures(self) -> None:
        """Lets go of all memory, then raises what the code says."""
        with self.builder.goto_block(self.failed):
            builder = self.builder
            with cgutils.for_range(builder, INT(len(self.owned))) as loop:
                release(builder, builder.gep(self.table, [INT(0), loop.index], inbounds=True))
            raised = builder.append_basic_block()
            choice = builder.switch(builder.load(self.code), raised)
            builder.position_at_end(raised)
            self.context.call_conv._return_errcode_raw(builder, RETCODE_USEREXC)
            for (exception, args), code in self.failures.known.items():
                block = builder.append_basic_block()
                choice.add_case(CODE(code), block)
                builder.position_at_end(block)
                self.context.call_conv.return_user_exc(builder, exception, args)


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
