"""`break`, `continue`, early `return` and loop `else` become flags and nested `if`s.

Afterwards a function has one `return`, at its end, and a loop ends early only through its
`until` flag, which is tested after each iteration.  Where a branch ends with a jump, what
follows moves into the other branch; a flag is used only where that is not enough.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..ir.record import record
from .check_subset import on_adjoint, on_pause, on_tape

JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Raise)


@record
class _Context:
    """The innermost loop's flag name (None outside loops), the function's flags, and the
    flags of enclosing `if`s that what follows them asks whether a jump left them."""

    broke: str | None
    out: str
    returned: str
    left: tuple[str, ...] = ()


def desugar(node: ast.FunctionDef, taken: set[str]) -> list[ast.stmt]:
    """The function's body without jumps.  Loops carry `until` (a flag's name or None)."""
    body = _Splice().visit(copied(node)).body
    # A procedure, which returns nothing, does so at its end as well.
    if not any(r.value for r in _returns(body)) and not _ends(body):
        body = [*body, _at(ast.Return(None), body[-1])]
    context = _Context(None, _fresh("out", taken), _fresh("returned", taken))
    if _only_tail_return(body):
        return _Desugar(context, taken).block(body[:-1], context) + body[-1:]
    result: Any = ast.Name(context.out, ast.Load())
    result.always = _ends(body)  # or else the function may end without a return
    d = _Desugar(context, taken)
    stmts = d.block(body, context)
    if d.uses_flag:
        stmts = [_assign(context.returned, ast.Constant(False), body[0]), *stmts]
    last = max((n for n in ast.walk(node) if isinstance(n, ast.Return)), key=lambda n: n.lineno)
    return [*stmts, _at(ast.Return(_at(result, last)), last)]


def text(node: ast.FunctionDef | ast.Lambda) -> str:
    """A function without jumps, to be read: the flag that ends a loop is asked at its end."""
    if isinstance(node, ast.Lambda):
        return f"{ast.unparse(node)}\n"
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    shown = copied(node)
    shown.body, shown.decorator_list, shown.returns = desugar(node, names), [], None
    for loop in ast.walk(shown):
        if flag := getattr(loop, "until", None):
            loop.body.append(ast.If(ast.Name(flag, ast.Load()), [ast.Break()], []))  # type: ignore[attr-defined]
    return f"{ast.unparse(ast.fix_missing_locations(shown))}\n"


def copied(node: Any) -> Any:
    """A copy of a tree, faster than `copy.deepcopy` makes it.  Others note their own things on
    nodes (IPython, when it shows an error, the way up, even on those that all trees share)."""
    if isinstance(node, list):
        return [copied(n) for n in node]
    if not isinstance(node, ast.AST):
        return node
    new = type(node).__new__(type(node))  # without the fields that `__init__` asks for
    fields = node._fields
    vars(new).update({k: copied(v) if k in fields else v for k, v in vars(node).items()})
    return new


class _Splice(ast.NodeTransformer):
    """The `with` that the fence lets pass changes nothing: its body stands for it."""

    def visit_With(self, node: ast.With) -> ast.With | list[ast.stmt]:
        self.generic_visit(node)
        kept = on_adjoint(node) or on_tape(node) or on_pause(node)
        return node if kept else node.body


class _Desugar:
    def __init__(self, context: _Context, taken: set[str]) -> None:
        self.taken = taken
        self.uses_flag = False

    def block(self, stmts: list[ast.stmt], c: _Context) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for position, stmt in enumerate(stmts):
            rest = stmts[position + 1 :]
            if isinstance(stmt, (ast.Return, ast.Break, ast.Continue)):
                return out + self.jump(stmt, c)
            if isinstance(stmt, ast.Raise):
                return [*out, stmt]
            if isinstance(stmt, ast.If) and _has([stmt], JUMPS, loops=True):
                return out + self.branch(stmt, rest, c)
            if isinstance(stmt, ast.If):
                stmt.body = self.block(stmt.body, c) or [_pass(stmt)]
                stmt.orelse = self.block(stmt.orelse, c)
            if isinstance(stmt, ast.With):
                stmt.body = self.block(stmt.body, c)
            if isinstance(stmt, (ast.For, ast.While)):
                loop, clause, returns = self.loop(stmt, c)
                out += loop
                if not returns and not clause:
                    continue
                # An `else` clause may jump: it and what follows are taken together.
                rest = [*clause, *rest]
                if not returns:
                    return out + self.block(rest, c)
                # The loop may have returned: what follows runs only if it has not.
                tail = self.block(rest, c)
                flags = [*c.left, *([c.broke] if c.broke else [])]
                leave: list[ast.stmt] = [_assign(f, ast.Constant(True), stmt) for f in flags]
                if tail or leave:
                    self.uses_flag = True
                    test = _at(ast.Name(c.returned, ast.Load()), stmt)
                    if leave:
                        out.append(_if(test, leave, tail, stmt))
                    else:
                        out.append(_if(_at(ast.UnaryOp(ast.Not(), test), stmt), tail, [], stmt))
                return out
            out.append(stmt)
        return out

    def jump(self, stmt: ast.stmt, c: _Context) -> list[ast.stmt]:
        out: list[ast.stmt] = [_assign(flag, ast.Constant(True), stmt) for flag in c.left]
        if isinstance(stmt, ast.Continue):
            return out
        if isinstance(stmt, ast.Break):
            assert c.broke is not None
            return [*out, _assign(c.broke, ast.Constant(True), stmt)]
        assert isinstance(stmt, ast.Return)
        value = stmt.value or ast.Constant(None)
        out.insert(0, _assign(c.out, value, stmt))
        if c.broke is not None:
            self.uses_flag = True
            out.append(_assign(c.returned, ast.Constant(True), stmt))
            out.append(_assign(c.broke, ast.Constant(True), stmt))
        return out

    def branch(self, stmt: ast.If, rest: list[ast.stmt], c: _Context) -> list[ast.stmt]:
        """An `if` with a jump inside: what follows belongs to the branches that reach it."""
        ends, other_ends = _ends(stmt.body), _ends(stmt.orelse)
        if ends or other_ends or not rest:
            body = stmt.body if ends else stmt.body + rest
            orelse = stmt.orelse if other_ends else stmt.orelse + rest
            if ends and other_ends:
                body, orelse = stmt.body, stmt.orelse
            return [_if(stmt.test, self.block(body, c), self.block(orelse, c), stmt)]
        # Both branches may or may not jump: a flag says whether what follows runs.
        flag = _fresh(f"left_L{stmt.lineno}", self.taken)
        inner = _Context(c.broke, c.out, c.returned, (*c.left, flag))
        both = _if(stmt.test, self.block(stmt.body, inner), self.block(stmt.orelse, inner), stmt)
        stays = _at(ast.UnaryOp(ast.Not(), _at(ast.Name(flag, ast.Load()), stmt)), stmt)
        start = _assign(flag, ast.Constant(False), stmt)
        return [start, both, *self.block([_if(stays, rest, [], rest[0])], c)]

    def loop(self, stmt: Any, c: _Context) -> tuple[list[ast.stmt], list[ast.stmt], bool]:
        """The loop's statements, its `else` clause as a statement yet to be desugared, and
        whether it may return."""
        returns = _has(stmt.body, (ast.Return,), loops=True)
        breaks = _has(stmt.body, (ast.Break,), loops=False)
        failed = None
        if isinstance(stmt, ast.While) and any(
            isinstance(n, ast.NamedExpr) for n in ast.walk(stmt.test)
        ):
            # A name bound in the test is bound again before the test fails.
            leave: list[ast.stmt] = [_at(ast.Break(), stmt)]
            if stmt.orelse:
                # This break, unlike the user's, is followed by the `else` clause.
                failed = _fresh(f"failed_L{stmt.lineno}", self.taken)
                leave.insert(0, _assign(failed, ast.Constant(True), stmt))
            fails = _at(ast.UnaryOp(ast.Not(), stmt.test), stmt.test)
            stmt.body = [_if(fails, leave, [], stmt), *stmt.body]
            stmt.test = _at(ast.Constant(True), stmt)
            breaks = True
        orelse, stmt.orelse = stmt.orelse, []
        loop: Any = stmt  # `until` is ours, not Python's
        if not (returns or breaks):
            loop.until = None
            stmt.body = self.block(stmt.body, _Context(None, c.out, c.returned)) or [_pass(stmt)]
            return [stmt], orelse, False
        flag = _fresh(f"broke_L{stmt.lineno}", self.taken)
        inner = _Context(flag, c.out, c.returned)
        start = _assign(flag, ast.Constant(False), stmt)
        stmt.body = [start, *self.block(stmt.body, inner)]
        loop.until = flag
        out: list[ast.stmt] = [copied(start), stmt]
        if not orelse:
            return out, [], returns
        if failed is None:
            ended = _at(ast.UnaryOp(ast.Not(), _at(ast.Name(flag, ast.Load()), stmt)), stmt)
        else:
            out.insert(0, _assign(failed, ast.Constant(False), stmt))
            ended = _at(ast.Name(failed, ast.Load()), stmt)
        return out, [_if(ended, orelse, [], orelse[0])], returns


def _has(stmts: list[ast.stmt], kinds: tuple[type, ...], loops: bool) -> bool:
    """Whether a jump occurs; break and continue of inner loops do not count."""
    for stmt in stmts:
        if isinstance(stmt, kinds):
            return True
        if isinstance(stmt, ast.If):
            if _has(stmt.body, kinds, loops) or _has(stmt.orelse, kinds, loops):
                return True
        elif isinstance(stmt, (ast.For, ast.While)):
            inner = tuple(k for k in kinds if k not in (ast.Break, ast.Continue))
            if (inner and _has(stmt.body, inner, loops)) or _has(stmt.orelse, kinds, loops):
                return True
    return False


def _returns(stmts: list[ast.stmt]) -> Iterator[ast.Return]:
    """The returns of a function, those of nested functions not counted."""
    for stmt in stmts:
        if isinstance(stmt, ast.Return):
            yield stmt
        elif not isinstance(stmt, ast.FunctionDef):
            for part in ("body", "orelse"):
                yield from _returns(getattr(stmt, part, []))


def _ends(stmts: list[ast.stmt]) -> bool:
    """Whether every path through a block ends with a jump."""
    for stmt in stmts:
        if isinstance(stmt, JUMPS):
            return True
        if isinstance(stmt, ast.If) and _ends(stmt.body) and _ends(stmt.orelse):
            return True
    return False


def _only_tail_return(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return) and not _has(body[:-1], (ast.Return,), loops=True)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _at(node: Any, place: ast.AST) -> Any:
    for inner in ast.walk(node):
        if not hasattr(inner, "lineno") and isinstance(inner, (ast.expr, ast.stmt)):
            ast.copy_location(inner, place)
    return node


def _assign(name: str, value: ast.expr, place: ast.AST) -> ast.Assign:
    node = ast.Assign([ast.Name(name, ast.Store())], value)
    ast.copy_location(node, place)
    ast.copy_location(node.targets[0], place)
    return _at(node, place)


def _if(test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], place: ast.AST) -> ast.If:
    return ast.copy_location(ast.If(test, body or [_pass(place)], orelse), place)


def _pass(place: ast.AST) -> ast.Pass:
    return ast.copy_location(ast.Pass(), place)
