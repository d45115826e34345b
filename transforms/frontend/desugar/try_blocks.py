"""`try` becomes its body, with a `Guard` in front; a `raise` that its own `except` catches a jump.

Compiled code catches no errors.  What the body computes must not fail with an error that a handler
would catch: the guard makes the evaluator check that.  A handler is then reached only by a `raise`
or an `assert` that stands in the body.  The body runs in a loop of one iteration, which they end:

    try:                            left = 0
        if x > 1.0:                 for once in None,:
            raise ValueError            __guard__(ValueError)
        y = x                           if x > 1.0:
    except ValueError:                      if issubclass(ValueError, ValueError):
        y = 0.0                                 left = 1
                                                break
                                            else:
                                                raise ValueError
                                        y = x
                                    if left == 1:
                                        y = 0.0

So do `return`, `break` and `continue` where a `finally` follows.
"""

from __future__ import annotations

from typing import Any

from ...ir.record import replace
from ...syntax import core as c
from ...syntax.names import all_names, fresh, loads, stores
from ...syntax.traverse import rewrite, walk

# Values of the variable that says why the body was left; handlers count from 1.
_BREAK, _CONTINUE, _RETURN = -1, -2, -3
_NO_ERROR = (
    "the error that is caught is not known to compiled code",
    "leave out `as`, and use what is known before the `raise`",
)
_AGAIN = "`raise` without an exception is not supported", "name the exception again"
_EFFECTS = (
    "a caught error whose message calls functions is not supported",
    "compute the message before",
)
_IN_WITH = (
    "a jump out of this `with` to the `try` around it is not supported",
    "write the `try` inside the `with`",
)
# Functions without effects, which messages call.
_PURE = frozenset("abs float int len max min repr round str type".split())


def expand_try(func: c.Func) -> c.Func:
    """A function without `try`, nested functions included."""
    taken = all_names(func)
    held: set[c.At] = set()

    def change(node: Any) -> Any:
        return _Try(node, taken, held).block() if isinstance(node, c.Try) else node

    return rewrite(func, change)


class _Try:
    def __init__(self, node: c.Try, taken: set[str], held: set[c.At]) -> None:
        """`held`: the places of errors that a `finally` of an inner `try` must follow.  No jump
        replaces those: a jump to a handler would leave the `finally` out."""
        self.node, self.taken, self.held = node, taken, held
        self.inner = frozenset(held)
        self.left = ""
        self.value = ""

    def block(self) -> c.Block:
        node = self.node
        types = tuple(_types(handler) for handler in node.handlers)
        guards = (c.Guard(_lines(node.body), types, bool(node.final)),)
        # What handlers bind is local, wherever they are reached.
        bound = sorted({name.id for name in stores(node.handlers)})
        start = tuple(c.Pass(node.at, (name,)) for name in bound)
        caught = bool(node.handlers) and _has(node.body, (c.Raise, c.Assert))
        after = (*node.body, *node.orelse, *(s for h in node.handlers for s in h.body))
        jumps = bool(node.final) and _has(after, (c.Return, c.Break, c.Continue))
        if node.final:
            # `finally` follows the errors of `else` and of the handlers, too.
            reached = [h.body for h in node.handlers if caught]
            rest = [block for block in (node.orelse, *reached) if block]
            guards += tuple(c.Guard(_lines(block), (), True) for block in rest)
            self.held |= {n.at for n in walk(after) if isinstance(n, (c.Raise, c.Assert))}
        if not caught and not jumps:
            return (*start, *guards, *node.body, *node.orelse, *node.final)
        self.left = fresh(f"left_L{node.line}", self.taken)
        self.value = fresh(f"returned_L{node.line}", self.taken)
        out = [self.set_left(0, node), self.once((*guards, *self.routed(node.body, caught)), node)]
        if node.orelse:
            orelse = self.after(self.routed(node.orelse, False), node.orelse)
            out.append(self.if_left(0, orelse, node))
        if caught:
            for number, handler in enumerate(node.handlers, 1):
                block = self.after(self.routed(_handled(handler), False), _handled(handler))
                out.append(self.if_left(number, block, handler))
        out += node.final
        return (*start, *out, *self.jumps(after))

    # ---- jumps

    def routed(self, block: c.Block, caught: bool, loop: bool = False) -> c.Block:
        """A block whose jumps set `left` and end the loop around; `caught`: errors are, too;
        `loop`: inside a loop of the block, which `break` and `continue` are for."""
        return tuple(s for stmt in block for s in self.stmt(stmt, caught, loop))

    def stmt(self, stmt: c.Stmt, caught: bool, loop: bool) -> c.Block:
        if isinstance(stmt, (c.Raise, c.Assert)) and caught and stmt.at not in self.inner:
            return self.raised(stmt) if isinstance(stmt, c.Raise) else self.asserted(stmt)
        if isinstance(stmt, c.Return) and self.node.final:
            value = stmt.value or c.Const(stmt.at, None)
            return (_assign(self.value, value, stmt), *self.leave(_RETURN, stmt))
        if isinstance(stmt, (c.Break, c.Continue)) and not loop:
            return self.leave(_BREAK if isinstance(stmt, c.Break) else _CONTINUE, stmt)
        if isinstance(stmt, c.If):
            body = self.routed(stmt.body, caught, loop)
            return (replace(stmt, body=body, orelse=self.routed(stmt.orelse, caught, loop)),)
        if isinstance(stmt, (c.For, c.While)):
            body = self.routed(stmt.body, caught, True)
            orelse = self.routed(stmt.orelse, caught, loop)
            inner = replace(stmt, body=body, orelse=orelse)
            if not self.leaves(body):
                return (inner,)
            stays = c.Compare(stmt.at, c.Name(stmt.at, self.left), ("!=",), (c.Const(stmt.at, 0),))
            return (inner, c.If(stmt.at, stays, (c.Break(stmt.at),)))
        if isinstance(stmt, c.With) and self.leaves(self.routed(stmt.body, caught, loop)):
            return (c.Refused(stmt.at, *_IN_WITH, tuple(sorted({n.id for n in stores([stmt])}))),)
        return (stmt,)

    def leaves(self, block: c.Block) -> bool:
        return any(
            isinstance(n, c.Assign)
            and isinstance(n.targets[0], c.Name)
            and n.targets[0].id == self.left
            for n in walk(block)
        )

    def raised(self, stmt: c.Raise) -> c.Block:
        """Jumps to the first handler for the class of an error."""
        if stmt.error is None:
            return (c.Refused(stmt.at, *_AGAIN),)
        called = isinstance(stmt.error, c.Call)
        cls = stmt.error.function if called else stmt.error  # type: ignore[union-attr]
        pure = all(map(_is_pure, walk(stmt.error))) if called else True
        leave = self.leave if pure else lambda number, place: (c.Refused(stmt.at, *_EFFECTS),)
        return self.to_handler(cls, leave, (stmt,), stmt)

    def asserted(self, stmt: c.Assert) -> c.Block:
        fails = c.Unary(stmt.at, "not", stmt.test)
        cls = c.Const(stmt.at, AssertionError)

        def leave(number: int, place: c.Node) -> c.Block:
            return (c.If(stmt.at, fails, self.leave(number, place)),)

        return self.to_handler(cls, leave, (stmt,), stmt)

    def to_handler(self, cls: c.Expr, leave: Any, otherwise: c.Block, place: c.Node) -> c.Block:
        block = otherwise
        for number, handler in reversed([*enumerate(self.node.handlers, 1)]):
            args = (cls, _types(handler))
            test = c.Call(place.at, c.Const(place.at, issubclass), args)
            block = (c.If(place.at, test, leave(number, place), block),)
        return block

    def leave(self, number: int, place: c.Node) -> c.Block:
        return (self.set_left(number, place), c.Break(place.at))

    def jumps(self, block: c.Block) -> c.Block:
        """What the jumps stand for that have been taken."""
        at = self.node.at
        found: list[c.Stmt] = []
        if self.node.final and _has(block, (c.Return,)):
            back = c.Return(at, c.Name(at, self.value))
            found.append(self.if_left(_RETURN, (back,), self.node))
        if _has(block, (c.Break,), loops=False):
            found.append(self.if_left(_BREAK, (c.Break(at),), self.node))
        if _has(block, (c.Continue,), loops=False):
            found.append(self.if_left(_CONTINUE, (c.Continue(at),), self.node))
        return tuple(found)

    # ---- statements

    def after(self, routed: c.Block, block: c.Block) -> c.Block:
        """A block after the body; it is a loop of its own if something jumps out of it."""
        if not self.leaves(routed):
            return routed
        if not self.node.final:
            return block
        return (self.once(routed, block[0]),)

    def once(self, body: c.Block, place: c.Node) -> c.Stmt:
        at = place.at
        target = c.Name(at, fresh(f"once_L{at[0]}", self.taken))
        return c.For(at, target, c.Seq(at, "tuple", (c.Const(at, None),)), body)

    def set_left(self, number: int, place: c.Node) -> c.Stmt:
        return _assign(self.left, c.Const(place.at, number), place)

    def if_left(self, number: int, body: c.Block, place: c.Node) -> c.Stmt:
        at = place.at
        test = c.Compare(at, c.Name(at, self.left), ("==",), (c.Const(at, number),))
        return c.If(at, test, body)


def _lines(block: c.Block) -> c.At:
    return (*block[0].at[:2], *block[-1].at[2:])


def _types(handler: c.Handler) -> c.Expr:
    return handler.types or c.Const(handler.at, BaseException)


def _handled(handler: c.Handler) -> c.Block:
    """A handler's body.  The error has no value; that it is the cause of another is not kept."""
    name = None if handler.target is None else handler.target.id

    def change(node: Any) -> Any:
        if isinstance(node, c.Raise) and node.error is None:
            return c.Refused(node.at, *_AGAIN)
        if isinstance(node, c.Raise) and node.cause is not None:
            return replace(node, cause=None)
        return node

    body: c.Block = tuple(rewrite(stmt, change) for stmt in handler.body)
    used = next((n for n in loads(body) if n.id == name), None) if name is not None else None
    return body if used is None else (c.Refused(used.at, *_NO_ERROR),)


def _is_pure(node: c.Node) -> bool:
    """Whether it does not matter whether an error's arguments are evaluated."""
    if isinstance(node, c.Call):
        raised = isinstance(node.function, (c.Name, c.Attr))
        name = node.function.id if isinstance(node.function, c.Name) else ""
        return raised and (name in _PURE or name[:1].isupper() or isinstance(node.function, c.Attr))
    return not isinstance(node, (c.Bind, c.Comp, c.Lambda, c.Refused))


def _has(block: c.Block, kinds: tuple[type, ...], loops: bool = True) -> bool:
    """Whether a jump occurs in a block, those of inner functions not counted; with `loops`, those
    of inner loops are."""
    for stmt in block:
        if isinstance(stmt, kinds):
            return True
        if isinstance(stmt, c.If) and _has(stmt.body + stmt.orelse, kinds, loops):
            return True
        if isinstance(stmt, (c.For, c.While)):
            if _has(stmt.orelse, kinds, loops) or (loops and _has(stmt.body, kinds)):
                return True
        if isinstance(stmt, c.With) and _has(stmt.body, kinds, loops):
            return True
    return False


def _assign(name: str, value: c.Expr, place: c.Node) -> c.Stmt:
    return c.Assign(place.at, (c.Name(place.at, name),), value)
