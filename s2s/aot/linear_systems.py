"""Dense linear algebra as lowered source, inlined in place of LAPACK calls.

A call `status = rt.linalg.solve(a, b, out)` is replaced by the body of the function of that name in
`LOWERED_SOURCE`, with renamed variables.  Thus its temporary arrays take part in the workspace
plan.  `FLOAT` stands for the element type of the first matrix.  Calls between functions of
`LOWERED_SOURCE` are inlined, too.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator
from typing import Any

from ..codegen.type_inference import Types
from ..codegen.value_types import Array

LOWERED_SOURCE = """
def eliminate(u, b):
    n = u.shape[0]
    k = b.shape[1]
    sign = 1
    for j in range(n):
        top = j
        for i in range(j + 1, n):
            if np.abs(u[i, j]) > np.abs(u[top, j]):
                top = i
        if u[top, j] == FLOAT(0.0):
            sign = 0
            break
        if top != j:
            sign = -sign
            for c in range(n):
                held = u[j, c]
                u[j, c] = u[top, c]
                u[top, c] = held
            for c in range(k):
                held = b[j, c]
                b[j, c] = b[top, c]
                b[top, c] = held
        for i in range(j + 1, n):
            factor = u[i, j] / u[j, j]
            for c in range(j + 1, n):
                u[i, c] += -factor * u[j, c]
            for c in range(k):
                b[i, c] += -factor * b[j, c]
    return sign


def copied(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j]


def solve(a, b, out):
    n = a.shape[0]
    u = np.empty((a.shape[0], a.shape[0]), FLOAT)
    copied(a, u)
    copied(b, out)
    sign = eliminate(u, out)
    if sign != 0:
        for i in range(n - 1, -1, -1):
            for p in range(i + 1, n):
                factor = u[i, p]
                for j in range(out.shape[1]):
                    out[i, j] += -factor * out[p, j]
            for j in range(out.shape[1]):
                out[i, j] = out[i, j] / u[i, i]
    return 1 if sign == 0 else 0


def inv(a, out):
    one = np.empty((a.shape[0], a.shape[0]), FLOAT)
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            one[i, j] = FLOAT(1.0) if i == j else FLOAT(0.0)
    status = solve(a, one, out)
    return status


def factored(a, u):
    nothing = np.empty((a.shape[0], 0), FLOAT)
    copied(a, u)
    sign = eliminate(u, nothing)
    return sign


def det(a):
    u = np.empty((a.shape[0], a.shape[0]), FLOAT)
    sign = factored(a, u)
    product = FLOAT(sign)
    for i in range(a.shape[0]):
        product = product * u[i, i]
    return FLOAT(0.0) if sign == 0 else product


def slogdet_log(a):
    u = np.empty((a.shape[0], a.shape[0]), FLOAT)
    sign = factored(a, u)
    total = FLOAT(0.0)
    if sign == 0:
        total = FLOAT(-np.inf)
    else:
        for i in range(a.shape[0]):
            total = total + np.log(np.abs(u[i, i]))
    return total


def slogdet_sign(a):
    u = np.empty((a.shape[0], a.shape[0]), FLOAT)
    sign = factored(a, u)
    total = FLOAT(sign)
    for i in range(a.shape[0]):
        if u[i, i] < FLOAT(0.0):
            total = -total
    return FLOAT(0.0) if sign == 0 else total


def cholesky(a, out):
    n = a.shape[0]
    bad = 0
    for i in range(n):
        for j in range(n):
            out[i, j] = FLOAT(0.0)
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for p in range(j):
                total = total - out[i, p] * out[j, p]
            if i == j:
                if not total > FLOAT(0.0):
                    bad = 1
                out[i, i] = np.sqrt(total)
            else:
                out[i, j] = total / out[j, j]
        if bad != 0:
            break
    return bad


def solve_triangular(a, b, trans, lower, unit, out):
    n = a.shape[0]
    bad = 0
    if not unit:
        for i in range(n - 1, -1, -1):
            if a[i, i] == FLOAT(0.0):
                bad = i + 1
    copied(b, out)
    down = (lower and trans == 0) or (not lower and trans != 0)
    for step in range(n):
        i = step if down else n - 1 - step
        if not unit:
            for c in range(out.shape[1]):
                out[i, c] = out[i, c] / a[i, i]
        for p in range(step + 1, n):
            r = p if down else n - 1 - p
            factor = a[r, i] if trans == 0 else a[i, r]
            for c in range(out.shape[1]):
                out[r, c] += -factor * out[i, c]
    return bad


def factorise(lu, pivots):
    n = lu.shape[0]
    for j in range(n):
        top = j
        for i in range(j + 1, n):
            if np.abs(lu[i, j]) > np.abs(lu[top, j]):
                top = i
        pivots[j] = np.int32(top)
        if top != j:
            for c in range(n):
                held = lu[j, c]
                lu[j, c] = lu[top, c]
                lu[top, c] = held
        if lu[j, j] != FLOAT(0.0):
            for i in range(j + 1, n):
                lu[i, j] = lu[i, j] / lu[j, j]
                factor = lu[i, j]
                for c in range(j + 1, n):
                    lu[i, c] += -factor * lu[j, c]


def lu_compact(a, out):
    pivots = np.empty((a.shape[0],), np.int32)
    copied(a, out)
    factorise(out, pivots)


def lu_pivots(a, out):
    lu = np.empty((a.shape[0], a.shape[0]), FLOAT)
    copied(a, lu)
    factorise(lu, out)
"""

FUNCTIONS = {s.name: s for s in ast.parse(LOWERED_SOURCE).body if isinstance(s, ast.FunctionDef)}
# Parameters that may be vectors; a vector is reshaped to a matrix of one column.
_COLUMNS = {"solve": ("b", "out"), "solve_triangular": ("b", "out")}


def inline_linalg_calls(function: ast.FunctionDef, known: Types) -> ast.FunctionDef | None:
    """The function with all `rt.linalg` calls inlined, or None if there are none."""
    expander = _Expander(known)
    new = copy.copy(function)
    new.body = expander.block(function.body)
    return ast.fix_missing_locations(new) if expander.found else None


class _Expander:
    """Inlines `rt.linalg` calls; `found` is set if there was one."""

    def __init__(self, known: Types) -> None:
        self.types = known
        self.numbers = itertools.count(1)
        self.found = False

    def block(self, stmts: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in stmts:
            call = _called(s)
            if call is not None and _is_linalg_call(call):
                self.found = True
                out += self._inlined(s, call)
                continue
            if isinstance(s, (ast.For, ast.While, ast.If)):
                s = copy.copy(s)
                s.body = self.block(s.body)
                s.orelse = self.block(s.orelse)
            out.append(s)
        return out

    def _inlined(self, s: ast.stmt, call: ast.Call) -> list[ast.stmt]:
        """The inlined body for a call statement, with the location of that statement."""
        assert isinstance(call.func, ast.Attribute)
        kinds = [self.types.of[a] for a in call.args]
        name = call.func.attr
        target = s.targets[0] if isinstance(s, ast.Assign) else None
        first = next(k for k in kinds if isinstance(k, Array))
        lines = self._instantiate(name, call.args, kinds, target, first.dtype)
        for line in lines:
            for node in ast.walk(line):
                ast.copy_location(node, s)
        return lines

    def _instantiate(
        self, name: str, args: list[ast.expr], kinds: list[Any], target: Any, dtype: Any
    ) -> list[ast.stmt]:
        """The body of a function for given arguments, with variables renamed to unique names."""
        body = FUNCTIONS[name]
        mark = f"{name}_{next(self.numbers)}"
        own: dict[str, ast.expr] = {}
        lines: list[ast.stmt] = []
        for parameter, given, kind in zip(body.args.args, args, kinds, strict=True):
            local = ast.Name(f"{parameter.arg}_{mark}", ast.Load())
            own[parameter.arg] = local
            if parameter.arg in _COLUMNS.get(name, ()) and getattr(kind, "ndim", 2) == 1:
                vector = ast.Name(f"vector_{parameter.arg}_{mark}", ast.Load())
                lines += [_assign(vector, given), _parsed(f"{local.id} = {vector.id}.reshape("
                                                       f"({vector.id}.shape[0], 1))")]  # fmt: skip
            else:
                lines.append(_assign(local, given))
        rename = _Rename(own, mark, str(dtype))
        for s in body.body:
            if isinstance(s, ast.Return):
                assert s.value is not None
                lines.append(ast.Assign([target], rename.visit(copy.deepcopy(s.value))))
            else:
                lines += self._inline_nested(rename.visit(copy.deepcopy(s)), dtype)
        return lines

    def _inline_nested(self, s: ast.stmt, dtype: Any) -> Iterator[ast.stmt]:
        """A statement, or the inlined body if it calls another function of `LOWERED_SOURCE`."""
        call = _called(s)
        if call is None or not isinstance(call.func, ast.Name) or call.func.id not in FUNCTIONS:
            yield s
            return
        target = s.targets[0] if isinstance(s, ast.Assign) else None
        yield from self._instantiate(
            call.func.id, call.args, [None] * len(call.args), target, dtype
        )


def _called(s: ast.stmt) -> ast.Call | None:
    if isinstance(s, (ast.Assign, ast.Expr)) and isinstance(s.value, ast.Call):
        return s.value
    return None


def _is_linalg_call(call: ast.Call) -> bool:
    """True for `rt.linalg.name(…)` with a name in `FUNCTIONS`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or not isinstance(func.value, ast.Attribute):
        return False
    return func.value.attr == "linalg" and func.attr in FUNCTIONS


def _assign(name: ast.Name, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name.id, ast.Store())], value)


def _parsed(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


class _Rename(ast.NodeTransformer):
    """Appends a suffix to the variables of a function, and substitutes the dtype for `FLOAT`."""

    def __init__(self, own: dict[str, ast.expr], mark: str, dtype: str) -> None:
        self.own, self.mark, self.dtype = own, mark, dtype

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "FLOAT":
            return ast.Attribute(ast.Name("np", ast.Load()), self.dtype, ast.Load())
        if node.id in ("np", "range") or node.id in FUNCTIONS:
            return node
        found = self.own.get(node.id)
        name = found.id if isinstance(found, ast.Name) else f"{node.id}_{self.mark}"
        return ast.Name(name, node.ctx)
