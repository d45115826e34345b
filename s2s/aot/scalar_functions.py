"""Code generation for helper functions written as lowered source.  They raise no errors, allocate
no arrays and return one int64."""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from ..codegen import value_types as types
from ..codegen.array_values import Buffer
from ..codegen.llvm_utils import INT
from ..codegen.statements import Body, ErrorCodes
from ..codegen.type_inference import Types
from ..codegen.type_lowering import memory_type
from ..codegen.value_types import Array

INT64_VECTOR = Array(types.int64, 1, "C")


class ScalarBody(Body):
    """The body of a function that returns one scalar."""

    def _return(self, s: ast.Return) -> None:
        assert isinstance(s.value, ast.Tuple)
        self.builder.ret(self.expr(s.value.elts[0]))

    _STATEMENTS = {**Body._STATEMENTS, ast.Return: _return}


def function(context: Any, module: Any, text: str, kinds: list[Any]) -> Any:
    """The LLVM function for the source `text` and the parameter types `kinds`.  It is emitted once
    per module."""
    (tree,) = ast.parse(text).body
    assert isinstance(tree, ast.FunctionDef)
    name = f"s2s.{tree.name}"
    found = module.globals.get(name)
    if found is not None:
        return found
    arguments = [
        memory_type(k.dtype).as_pointer() if isinstance(k, Array) else context.value_type(k)
        for k in kinds
    ]
    found = ir.Function(module, ir.FunctionType(INT, arguments), name)
    found.linkage = "internal"
    found.attributes.add("noinline")
    known = Types(tree, {}, tuple(kinds))
    body = ScalarBody(context, ir.IRBuilder(found.append_basic_block()), known, ErrorCodes())
    for parameter, kind, value in zip(tree.args.args, kinds, found.args):
        if isinstance(kind, Array):
            value = Buffer(kind, value, [INT(0)])
        body.parameter(parameter.arg, value)
    for stmt in tree.body:
        body.stmt(stmt)
    return found
