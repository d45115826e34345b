"""The names that the user's function gives to values computed for another of its statements.

After `dW, db = tape.gradient(error, [W, b])` the adjoints of `W` and `b` are called `dW` and `db`,
so that the statements that follow can print as they were written.  Only the readable text has these
names: `specialise/` notes them, and they are put in place after the last pass in value form.
"""

from __future__ import annotations

from collections import Counter

from ..bufferize.copy_insertion import stem
from ..ir.nodes import (
    Assign,
    Block,
    Call,
    Carried,
    Custom,
    Draw,
    For,
    Function,
    If,
    Module,
    Operand,
    Phi,
    Scalar,
    Stmt,
    Var,
    While,
    inner_targets_of,
    map_blocks,
    operands_of,
    substitute,
    targets_of,
    walk,
)
from ..ir.record import replace
from .user_text import UserText


def with_given_names(module: Module) -> Module:
    """The module whose entry names values as the user does."""
    main = _without_second_names(module.main)
    module = module.with_main(main)
    names: dict[str, str] = main.notes.get("given_names", {})
    bound = {v.name for s in walk(main.body) for v in (*targets_of(s), *inner_targets_of(s))}
    names = {value: name for value, name in names.items() if value in bound}
    if not names:
        return module
    return module.with_main(_renamed(main, _with_earlier_sums(main, names)))


def _without_second_names(function: Function) -> Function:
    """The function without copies of numbers that only give them a name of the user's: what the
    body of an inlined function called `out`, and what a tape gives, has that name itself."""
    locals_ = UserText(function.source).locals if function.source is not None else set()
    dropped: dict[str, Var] = {}

    def scan(block: Block) -> Block:
        out: Block = []
        made: dict[str, int] = {}  # by value: where in `out` it is assigned
        for stmt in block:
            stmt = map_blocks(stmt, scan)
            if isinstance(stmt, Assign):
                x = stmt.op.args[0] if stmt.op.name == "copy" else None
                if isinstance(x, Var) and isinstance(x.type, Scalar) and stmt.target.user:
                    if x.name in made and x.user not in locals_:
                        before = out[made[x.name]]
                        assert isinstance(before, Assign)
                        out[made[x.name]] = replace(before, target=stmt.target)
                        dropped[x.name] = stmt.target
                        continue
                made[stmt.target.name] = len(out)
            out.append(stmt)
        return out

    body = scan(function.body)
    if not dropped:
        return function

    def new(x: Operand) -> Operand:
        return dropped.get(x.name, x) if isinstance(x, Var) else x

    return replace(
        function,
        body=substitute(body, new),
        results=[new(r) for r in function.results],
        notes={**function.notes, "named_by_user": frozenset(v.name for v in dropped.values())},
    )


def _reads(function: Function) -> Counter[str]:
    """How often each value is read."""
    read = [o for s in walk(function.body) for o in operands_of(s)]
    read += [*function.results, *(v for _, v in function.effects)]
    return Counter(o.name for o in read if isinstance(o, Var))


def _with_earlier_sums(function: Function, names: dict[str, str]) -> dict[str, str]:
    """The names, with those of the sums that the named values complete: `W_bar_1 = W_bar + g`."""
    reads = _reads(function)
    sums = {
        s.target.name: s.op.args
        for s in walk(function.body)
        if isinstance(s, Assign) and s.op.name == "add" and s.origin and s.origin.sweep
    }
    found = dict(names)
    todo = list(names)
    while todo:
        name = todo.pop()
        for x in sums.get(name, ()):
            if isinstance(x, Var) and stem(x.name) == stem(name) and reads[x.name] == 1:
                if x.name not in found:
                    found[x.name] = found[name]
                    todo.append(x.name)
    return found


def _renamed(function: Function, names: dict[str, str]) -> Function:
    def new(x: Operand) -> Operand:
        return _var(x) if isinstance(x, Var) else x

    def _var(v: Var) -> Var:
        return replace(v, user=names[v.name]) if v.name in names else v

    def stmt(s: Stmt) -> Stmt:
        s = map_blocks(s, lambda block: [stmt(inner) for inner in block])
        if isinstance(s, Assign):
            return replace(s, target=_var(s.target))
        if isinstance(s, (Call, Draw, Custom)):
            return replace(s, targets=[_var(v) for v in s.targets])
        if isinstance(s, If):
            return replace(
                s, phis=[Phi(_var(p.target), p.then_value, p.else_value) for p in s.phis]
            )
        if isinstance(s, (For, While)):
            carried = [Carried(_var(c.phi), c.init, c.next, _var(c.result)) for c in s.carried]
            return replace(s, carried=carried)
        return s

    named = frozenset({*function.notes.get("named_by_user", ()), *names})
    body: Block = [stmt(s) for s in substitute(function.body, new)]
    return replace(
        function,
        body=body,
        results=[new(r) for r in function.results],
        effects=[(p, new(v)) for p, v in function.effects],
        notes={**function.notes, "named_by_user": named},
    )
