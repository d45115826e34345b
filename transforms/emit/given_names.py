"""Rename adjoints and values of inlined functions to the variables that the user assigns them to.

After `dW, db = tape.gradient(error, [W, b])` the adjoints of `W` and `b` are called `dW` and `db`,
so that the statements that follow can print as they were written.  Only the readable text has these
names: `specialise/` records them, and values are renamed after the last pass in value form.
"""

from __future__ import annotations

from collections import Counter

from ..bufferize.copy_insertion import stem
from ..bufferize.live_ranges import UPDATES
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
    definitions = _definitions(main)
    names = {v: name for v, name in names.items() if v in definitions and _takes(definitions[v])}
    if not names:
        return module
    return module.with_main(_renamed(main, _with_versions(main, names, definitions)))


def _definitions(function: Function) -> dict[str, tuple[Var, Stmt]]:
    """By name the values of a body and the statements that bind them."""
    return {
        v.name: (v, s) for s in walk(function.body) for v in (*targets_of(s), *inner_targets_of(s))
    }


def _takes(definition: tuple[Var, Stmt]) -> bool:
    """Whether a value can be renamed: it belongs to a sweep, or to an inlined function, where it is
    no version of a variable that is written to or carried."""
    _, stmt = definition
    origin = stmt.origin
    if origin is None:
        return False
    if origin.sweep:
        return True
    simple = isinstance(stmt, Assign) and stmt.op.name not in UPDATES
    return bool(origin.frame) and simple


def _without_second_names(function: Function) -> Function:
    """The function without copies of numbers to a variable of the user's: the statement that
    computes the number, in the body of an inlined function or a sweep, assigns to that variable."""
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


def _with_versions(
    function: Function, names: dict[str, str], definitions: dict[str, tuple[Var, Stmt]]
) -> dict[str, str]:
    """The names, with those of the other versions of the same adjoints: sums that are completed
    (`W_bar_1 = W_bar + g`), arrays that are written to, values that loops carry."""
    reads = _reads(function)
    found = dict(names)
    todo = list(names)
    while todo:
        name = todo.pop()
        v, stmt = definitions[name]
        if stmt.origin is None or not stmt.origin.sweep:
            continue
        for x in _versions(v, stmt, reads):
            if not isinstance(x, Var) or x.name in found or x.name not in definitions:
                continue
            if stem(x.name) == stem(name) and x.user == v.user:
                found[x.name] = found[name]
                todo.append(x.name)
    # What a loop carries has one name.
    for stmt in walk(function.body):
        for c in getattr(stmt, "carried", ()):
            given = found.get(c.phi.name) or found.get(c.result.name)
            if given:
                found[c.phi.name] = found[c.result.name] = given
    return found


def _versions(v: Var, stmt: Stmt, reads: Counter[str]) -> list[Operand]:
    """The values that a value may be another version of."""
    if isinstance(stmt, Assign):
        args = list(stmt.op.args)
        if stmt.op.name in UPDATES:
            return args[:1]
        once = [x for x in args if isinstance(x, Var) and reads[x.name] == 1]
        return [*once] if stmt.op.name == "add" else []
    if isinstance(stmt, If):
        return [x for p in stmt.phis if p.target == v for x in (p.then_value, p.else_value)]
    carried = [c for c in getattr(stmt, "carried", ()) if v in (c.phi, c.result)]
    return [x for c in carried for x in (c.phi, c.result, c.next, c.init)]


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
