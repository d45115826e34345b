"""`break`, `continue`, early `return` and loop `else` become flags and nested `if`s.

Afterwards a function has one `return`, at its end, and a loop ends early only through its
`until` flag, which is tested after each iteration.  Where a branch ends with a jump, what
follows moves into the other branch; a flag is used only where that is not enough.
"""

from __future__ import annotations

from ..ir.record import record, replace
from ..syntax import core as c
from ..syntax.names import local_names
from ..syntax.printer import show_function
from ..syntax.traverse import returns_of, rewrite, walk
from .check_subset import is_errstate

# Statements after which nothing of their block runs.
JUMPS = (c.Return, c.Break, c.Continue, c.Raise, c.Refused)
_Kinds = tuple[type, ...]


@record
class _Context:
    """The innermost loop's flag name (None outside loops), the function's flags, and the
    flags of enclosing `if`s that record, for what follows them, that a jump left them."""

    broke: str | None
    out: str
    returned: str
    left: tuple[str, ...] = ()


def desugar(func: c.Func, taken: set[str]) -> c.Block:
    """The function's body without jumps.  Names that are created are not in `taken`, and not among
    those that the function or one inside it mentions."""
    taken |= {n.id for n in walk(func) if isinstance(n, c.Name)}
    body: c.Block = rewrite(func, _spliced).body
    # A procedure, which returns nothing, does so at its end as well.
    if not any(r.value for r in returns_of(body)) and not _ends(body):
        body = (*body, c.Return((body[-1] if body else func).at, None))
    context = _Context(None, _fresh("out", taken), _fresh("returned", taken))
    if _only_tail_return(body):
        return (*_Desugar(taken).block(body[:-1], context), body[-1])
    returns = list(returns_of(body))
    if not returns:  # every path ends in an error
        return _Desugar(taken).block(body, context)
    last = max(returns, key=lambda n: n.line).at
    d = _Desugar(taken)
    stmts = d.block(body, context)
    if d.uses_flag:
        stmts = (_assign(context.returned, c.Const(body[0].at, False), body[0]), *stmts)
    return (*stmts, c.Return(last, c.Result(last, context.out, _ends(body))))


def show_desugared(func: c.Func) -> str:
    """A function without jumps, to be read."""
    if func.is_lambda:
        return show_function(func)
    return show_function(replace(func, body=desugar(func, {*local_names(func)})))


def _spliced(node: c.Node) -> c.Node | c.Block:
    """A `with np.errstate(...)` changes nothing: its body stands for it."""
    return node.body if isinstance(node, c.With) and is_errstate(node) else node


class _Desugar:
    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.uses_flag = False

    def block(self, stmts: c.Block, k: _Context) -> c.Block:
        out: list[c.Stmt] = []
        for position, stmt in enumerate(stmts):
            rest = stmts[position + 1 :]
            if isinstance(stmt, (c.Return, c.Break, c.Continue)):
                return (*out, *self.jump(stmt, k))
            if isinstance(stmt, (c.Raise, c.Refused)):
                return (*out, stmt)
            if isinstance(stmt, c.If) and _has((stmt,), JUMPS, loops=True):
                return (*out, *self.branch(stmt, rest, k))
            if isinstance(stmt, c.If):
                body = self.block(stmt.body, k) or (c.Pass(stmt.at),)
                stmt = replace(stmt, body=body, orelse=self.block(stmt.orelse, k))
            if isinstance(stmt, c.With):
                stmt = replace(stmt, body=self.block(stmt.body, k))
            if isinstance(stmt, (c.For, c.While)):
                loop, clause, returns = self.loop(stmt, k)
                out += loop
                if not returns and not clause:
                    continue
                # An `else` clause may jump: it and what follows are taken together.
                rest = (*clause, *rest)
                if not returns:
                    return (*out, *self.block(rest, k))
                return (*out, *self.after_return(stmt, rest, k))
            out.append(stmt)
        return tuple(out)

    def after_return(self, loop: c.For | c.While, rest: c.Block, k: _Context) -> c.Block:
        """What follows a loop that may have returned: it runs only if the loop has not."""
        tail = self.block(rest, k)
        flags = [*k.left, *([k.broke] if k.broke else [])]
        leave = tuple(_assign(f, c.Const(loop.at, True), loop) for f in flags)
        if not tail and not leave:
            return ()
        self.uses_flag = True
        test = c.Name(loop.at, k.returned)
        if leave:
            return (_if(test, leave, tail, loop),)
        return (_if(c.Unary(loop.at, "not", test), tail, (), loop),)

    def jump(self, stmt: c.Return | c.Break | c.Continue, k: _Context) -> c.Block:
        def set_flag(name: str) -> c.Stmt:
            return _assign(name, c.Const(stmt.at, True), stmt)

        left = tuple(map(set_flag, k.left))
        if isinstance(stmt, c.Continue):
            return left
        if isinstance(stmt, c.Break):
            assert k.broke is not None
            return (*left, set_flag(k.broke))
        value = stmt.value or c.Const(stmt.at, None)
        out = (_assign(k.out, value, stmt), *left)
        if k.broke is None:
            return out
        self.uses_flag = True
        return (*out, set_flag(k.returned), set_flag(k.broke))

    def branch(self, stmt: c.If, rest: c.Block, k: _Context) -> c.Block:
        """An `if` with a jump inside: what follows belongs to the branches that reach it."""
        ends, other_ends = _ends(stmt.body), _ends(stmt.orelse)
        if ends or other_ends or not rest:
            body = stmt.body if ends else stmt.body + rest
            orelse = stmt.orelse if other_ends else stmt.orelse + rest
            if ends and other_ends:
                body, orelse = stmt.body, stmt.orelse
            return (_if(stmt.test, self.block(body, k), self.block(orelse, k), stmt),)
        # Both branches may or may not jump: a flag says whether what follows runs.
        flag = _fresh(f"left_L{stmt.line}", self.taken)
        inner = _Context(k.broke, k.out, k.returned, (*k.left, flag))
        both = _if(stmt.test, self.block(stmt.body, inner), self.block(stmt.orelse, inner), stmt)
        stays = c.Unary(stmt.at, "not", c.Name(stmt.at, flag))
        start = _assign(flag, c.Const(stmt.at, False), stmt)
        return (start, both, *self.block((_if(stays, rest, (), rest[0]),), k))

    def loop(self, stmt: c.For | c.While, k: _Context) -> tuple[c.Block, c.Block, bool]:
        """The loop's statements, its `else` clause as a statement yet to be desugared, and
        whether it may return."""
        returns = _has(stmt.body, (c.Return,), loops=True)
        breaks = _has(stmt.body, (c.Break,), loops=False)
        orelse, failed = stmt.orelse, None
        if isinstance(stmt, c.While) and any(isinstance(n, c.Bind) for n in walk(stmt.test)):
            # A name bound in the test is bound again before the test fails.
            leave: c.Block = (c.Break(stmt.at),)
            if orelse:
                # This break, unlike the user's, is followed by the `else` clause.
                failed = _fresh(f"failed_L{stmt.line}", self.taken)
                leave = (_assign(failed, c.Const(stmt.at, True), stmt), *leave)
            fails = c.Unary(stmt.test.at, "not", stmt.test)
            body = (_if(fails, leave, (), stmt), *stmt.body)
            stmt = replace(stmt, test=c.Const(stmt.at, True), body=body)
            breaks = True
        if not (returns or breaks):
            body = self.block(stmt.body, _Context(None, k.out, k.returned))
            return (replace(stmt, body=body or (c.Pass(stmt.at),), orelse=()),), orelse, False
        flag = _fresh(f"broke_L{stmt.line}", self.taken)
        start = _assign(flag, c.Const(stmt.at, False), stmt)
        body = (start, *self.block(stmt.body, _Context(flag, k.out, k.returned)))
        out: c.Block = (start, replace(stmt, body=body, orelse=(), until=flag))
        if not orelse:
            return out, (), returns
        if failed is None:
            ended: c.Expr = c.Unary(stmt.at, "not", c.Name(stmt.at, flag))
        else:
            out = (_assign(failed, c.Const(stmt.at, False), stmt), *out)
            ended = c.Name(stmt.at, failed)
        return out, (_if(ended, orelse, (), orelse[0]),), returns


def _has(stmts: c.Block, kinds: _Kinds, loops: bool) -> bool:
    """Whether a jump occurs; break and continue of inner loops do not count."""
    for stmt in stmts:
        if isinstance(stmt, kinds):
            return True
        if isinstance(stmt, c.If):
            if _has(stmt.body, kinds, loops) or _has(stmt.orelse, kinds, loops):
                return True
        elif isinstance(stmt, (c.For, c.While)):
            inner = tuple(k for k in kinds if k not in (c.Break, c.Continue))
            if (inner and _has(stmt.body, inner, loops)) or _has(stmt.orelse, kinds, loops):
                return True
    return False


def _ends(stmts: c.Block) -> bool:
    """Whether every path through a block ends with a jump."""
    return any(
        isinstance(stmt, JUMPS)
        or (isinstance(stmt, c.If) and _ends(stmt.body) and _ends(stmt.orelse))
        for stmt in stmts
    )


def _only_tail_return(body: c.Block) -> bool:
    return isinstance(body[-1], c.Return) and not _has(body[:-1], (c.Return,), loops=True)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _assign(name: str, value: c.Expr, place: c.Node) -> c.Assign:
    return c.Assign(place.at, (c.Name(place.at, name),), value)


def _if(test: c.Expr, body: c.Block, orelse: c.Block, place: c.Node) -> c.If:
    return c.If(place.at, test, body or (c.Pass(place.at),), orelse)
