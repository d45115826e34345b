"""Failure atomicity: find the arrays that a failed call must restore.

A call that returns an error leaves the state and the caller's arrays unchanged.  Scalars and
random generators are written only when a call succeeds.  An array that the kernel writes in place
needs a backup only if the kernel can fail at or after its first write.  `c_entry.py` keeps the
backups at the end of the workspace.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

import numpy as np

from .. import kernels
from ..codegen.type_inference import Types
from ..codegen.value_types import Array
from .workspace_plan import Memory, alias_sets, is_reshape


def parameters_to_back_up(
    function: ast.FunctionDef,
    known: Types,
    memory: Memory,
    callees: Iterable[str],
    written: Iterable[int],
    checked_at_return: bool,
) -> list[int]:
    """The positions of those parameters among `written` that need a backup.  `callees` are the
    functions that are not inlined.  `checked_at_return` is True if the return statement checks
    sizes of results."""
    names = [a.arg for a in function.args.args]
    family = alias_sets(function, known)
    fails = _Failures(known, memory, frozenset(callees), checked_at_return)
    last_failure = max((i for i, s in enumerate(function.body) if fails.may_fail(s)), default=-1)
    first_write: dict[str, int] = {}
    for position, stmt in reversed(list(enumerate(function.body))):
        for name in _written(stmt, known):
            first_write[family[name]] = position
    never = len(function.body)
    return [i for i in written if first_write.get(family[names[i]], never) <= last_failure]


class _Failures:
    """Finds the statements that may fail."""

    def __init__(
        self, known: Types, memory: Memory, callees: frozenset[str], checked_at_return: bool
    ) -> None:
        self.known, self.memory, self.callees = known, memory, callees
        self.checked_at_return = checked_at_return

    def may_fail(self, stmt: ast.stmt) -> bool:
        for node in ast.walk(stmt):
            if isinstance(node, ast.Raise):
                return True
            if isinstance(node, ast.Return) and self.checked_at_return:
                return True
            if isinstance(node, ast.Assign) and self._allocates_from_heap(node):
                return True
            if isinstance(node, ast.Call) and self._calls_fallible(node):
                return True
        return False

    def _allocates_from_heap(self, stmt: ast.Assign) -> bool:
        call = stmt.value
        if not isinstance(call, ast.Call) or not isinstance(stmt.targets[0], ast.Name):
            return False
        if is_reshape(call):
            return False
        if self.known.value(call.func) is kernels.reserve:
            return True
        placed = stmt in self.memory.slot_of or stmt in self.memory.pool_of
        return self.known.value(call.func) is np.empty and not placed

    def _calls_fallible(self, call: ast.Call) -> bool:
        """True for a callee that is not inlined, and for a Numba function over arrays.  Numba
        functions over scalars do not fail."""
        if isinstance(call.func, ast.Name) and call.func.id in self.callees:
            return True
        callee = self.known.calls.get(call)
        if callee is None or callee.numba is None:
            return False
        return any(isinstance(self.known.of.get(a), Array) for a in call.args)


# Matrix products read their operands and write only the last argument.  Other functions may write
# any array argument.
_PRODUCTS = (kernels.gemm, kernels.gemm_at)


def _written(stmt: ast.stmt, known: Types) -> set[str]:
    """The arrays that a statement may write, by a subscript store or as arguments of a call."""
    found = set()
    for node in ast.walk(stmt):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found |= _names(node.value)
        elif isinstance(node, ast.Call) and not is_reshape(node):
            product = known.value(node.func) in _PRODUCTS
            for argument in node.args[-1:] if product else node.args:
                if isinstance(known.of.get(argument), Array):
                    found |= _names(argument)
    return {n for n in found if isinstance(known.names.get(n), Array)}


def _names(node: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
