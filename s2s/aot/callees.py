"""Callees that are not inlined, such as recursive functions:

    int32 f(int32 *code, void **unused, arguments…, components of results…,
            workspace, bytes, heap, words)

All arrays of a callee come from the workspace heap, because the recursion depth is unknown at
compile time.  Ownership of a returned array passes to the caller, which releases it.  An array
argument comes with its heap block: a callee that returns it, as lists that it appends to, retains
the block, before the caller releases the array that the result replaces.
"""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from ..codegen.array_values import Buffer
from ..codegen.kernel_module import INFO
from ..codegen.llvm_utils import INT, POINTER, entry_alloca
from ..codegen.partition.outline_nests import Plan
from ..codegen.statements import ERROR_CODE
from ..codegen.type_inference import Types
from ..codegen.value_types import Array
from . import linear_systems, workspace_heap
from .c_kernel import Body
from .size_query import argument_types, bind_parameters, parameters_of
from .workspace_plan import Memory


class Callees:
    """The functions of a kernel besides its entry.  Each is emitted at its first call, once per
    argument signature."""

    def __init__(self, functions: dict[str, ast.FunctionDef], space: dict[str, Any]) -> None:
        self.functions, self.space = functions, space
        self.emitted: dict[Any, Any] = {}

    @property
    def any(self) -> bool:
        return bool(self.functions)

    def is_callee(self, call: ast.expr) -> bool:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return False
        return call.func.id in self.functions

    def call(self, caller: Body, call: ast.Call) -> list[tuple[Any, Any]]:
        """Emit a call.  Returns the types and values of the results.  A status other than 0 is
        propagated to the caller."""
        builder = caller.builder
        assert isinstance(call.func, ast.Name)
        callee = caller.types.calls[call]
        given, results = callee.args, callee.result.types
        function = self._function(caller, call.func.id, given, results)
        parts: list[Any] = []
        for node, wanted in zip(call.args, given, strict=True):
            value = caller.expr(node)
            if isinstance(value, Buffer):
                parts += [value.data, *value.sizes, value.memory]
            else:
                parts.append(caller.cast(value, caller.types.of[node], wanted))
        places = [
            [entry_alloca(builder, k) for k in _components(caller.context, t)] for t in results
        ]
        code = entry_alloca(builder, ERROR_CODE)
        unused = entry_alloca(builder, INFO.as_pointer())
        rest = [caller.workspace, caller.bytes, *caller.heap]
        flat = [p for group in places for p in group]
        failed = builder.call(function, [code, unused, *parts, *flat, *rest])
        with builder.if_then(builder.icmp_signed("!=", failed, ERROR_CODE(0)), likely=False):
            builder.ret(failed)
        status = builder.load(code)
        with builder.if_then(builder.icmp_signed("!=", status, ERROR_CODE(0)), likely=False):
            caller.fail(status)
        found = []
        for type_, group in zip(results, places):
            values = [builder.load(p) for p in group]
            if isinstance(type_, Array):
                found.append((type_, Buffer(type_, values[0], values[1:-1], None, values[-1])))
            else:
                found.append((type_, values[0]))
        return found

    def _function(self, caller: Body, name: str, given: Any, results: Any) -> Any:
        """The LLVM function for the argument types `given`, emitted on first use."""
        key = name, given
        if key in self.emitted:
            return self.emitted[key]
        module, context = caller.builder.module, caller.context
        arguments = [k for t in given for k in _components(context, t)]
        places = [k.as_pointer() for t in results for k in _components(context, t)]
        kinds = [ERROR_CODE.as_pointer(), INFO.as_pointer().as_pointer(), *arguments, *places]
        kinds += [POINTER, INT, POINTER, INT]
        unique = module.get_unique_name(f"s2s.{name}")
        made = self.emitted[key] = ir.Function(module, ir.FunctionType(ERROR_CODE, kinds), unique)
        made.linkage = "internal"
        made.attributes.add("noinline")
        function = self.functions[name]
        known = Types(function, self.space, given)
        expanded = linear_systems.inline_linalg_calls(function, known)
        if expanded is not None:
            function, known = expanded, Types(expanded, self.space, given)
        _Callee(caller, made, known, Plan(function, known), results).run_callee(function)
        return made


def _components(context: Any, type_: Any) -> list[Any]:
    """The LLVM types of the components of an argument or a result.  An array has a data pointer,
    its sizes and the pointer to its heap block, null if it has none."""
    found = argument_types(context, type_)
    return [*found, POINTER] if isinstance(type_, Array) else found


class _Callee(Body):
    """Code generation for the body of a callee.  All its arrays are reference-counted."""

    def __init__(self, caller: Body, made: Any, known: Types, outline: Plan, results: Any) -> None:
        arrays = {n for n, t in known.names.items() if isinstance(t, Array)}
        memory = Memory(heap=True, counted=arrays)
        super().__init__(
            caller.context, made, known, caller.failures, memory, outline, set(), caller.messages,
            caller.products, caller.callees,
        )  # fmt: skip
        self.workspace, self.bytes, *self.heap = made.args[-4:]
        self.results = results

    def run_callee(self, function: ast.FunctionDef) -> None:
        given = list(self.made.args[2:-4])
        self.places = bind_parameters(self, parameters_of(function), given, blocks=True)
        self.statements(function)
        if not self.builder.block.is_terminated:
            self.builder.unreachable()

    def _return(self, s: ast.Return) -> None:
        """Store the result components, retain the returned arrays and release all owned ones."""
        assert isinstance(s.value, ast.Tuple)
        builder = self.builder
        places = iter(self.places)
        for element, wanted in zip(s.value.elts, self.results, strict=True):
            value = self.expr(element)
            if isinstance(value, Buffer):
                workspace_heap.retain(builder, value.memory)
                parts = [value.data, *value.sizes, value.memory]
            else:
                parts = [self.cast(value, self.types.of[element], wanted)]
            for part in parts:
                builder.store(part, next(places))
        for name in list(self.owned):
            workspace_heap.release(builder, self.memory_of(name))
        self.fail(ERROR_CODE(0))
