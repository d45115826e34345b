"""Temporaries of emitted code: which are read where, and which wait to be put into the
expression that reads them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..frontend.pytree import Out
from ..ir.fixpoint import rewrites
from ..ir.nodes import (
    Assign,
    Block,
    Call,
    Const,
    Draw,
    For,
    Function,
    If,
    Op,
    Operand,
    Push,
    Scalar,
    Span,
    Stmt,
    Store,
    Var,
    While,
    blocks_of,
    map_blocks,
    operands_of,
    targets_of,
    walk,
)
from ..ir.op_registry import RULES
from ..ir.precedence import ATOM, TERNARY, Text, wrap
from ..ir.record import field, record, replace
from .format_ops import const_text, op_text
from .object_arguments import Holders
from .outside_values import Outside
from .page import Ours, Page
from .stores import written_by
from .user_text import UserText

_NEVER_INLINE = ("pop", "undef", "list_new", "empty", "empty_like", "tuple_part")


@record
class Pending:
    """A temporary that has not been written yet: its text, and what it reads."""

    target: Var
    text: Text
    names: frozenset[str]
    users: frozenset[str]  # those of `names` that stand for the user's name
    buffers: frozenset[int]
    repeatable: bool
    at: Span | None  # the user's statement it comes from

    def stands_in(self, at: Span | None) -> bool:
        """Whether the text of the statement at `at` reads what this reads.  The text of
        another statement may mean newer values by the same names."""
        return self.at == at or self.text[0] in self.users


@record
class Reads:
    """What a piece of text reads: variables, those that stand for the user's name in the
    statement at `at`, memory."""

    at: Span | None = None
    names: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    buffers: set[int] = field(default_factory=set)


class Temporaries(Page):
    """Texts of operands.  A temporary that is read once, or cheap to read again, is pending
    until it is read; it is written first if what it reads is overwritten before that."""

    def __init__(
        self,
        function: Function,
        user: UserText | None,
        outside: Outside | None = None,
        holders: Holders | None = None,
    ) -> None:
        super().__init__(user)
        self.function = function
        self.outside = outside
        self.holders = holders or Holders()
        # The kernel's parameters that are read by an expression, as far as they have no name.
        own = {p.name for p in function.params}
        paths = self.holders.reads(function.name) if outside is None else outside.reads
        self.paths = {name: t for name, t in paths.items() if name in own and t != name}
        self.times_read: Counter[str] = Counter()
        self.often: set[str] = set()
        self.changes = [] if outside is None else list(outside.interface.changes)
        self.buffers: dict[str, int] = function.notes.get("buffers", {})
        self.pending: dict[str, Pending] = {}
        self.reads = Reads()
        self.count()

    # ---- what is read where

    def count(self) -> None:
        """Drops temporaries nobody reads, and counts the reads of the others."""
        for _ in rewrites("temporaries"):
            self.uses: Counter[str] = Counter()
            self.homes: dict[str, set[int]] = {}
            self.binds: Counter[str] = Counter()
            self.stores: Counter[str] = Counter()  # of the binds those that write in place
            self.parents: dict[int, int] = {}
            self.defined_in: dict[str, int] = {}
            self.tally(self.function.body)
            for r in self.function.results:
                self.use(r, self.function.body)
            self.copied = _copied(self.function.body)
            body = self.without_dead(self.function.body)
            if body is None:
                break
            self.function = replace(self.function, body=body)
        self.left = Counter(self.uses)
        self.variables = {p.name for p in self.function.params} | set(self.binds)

    def tally(self, block: Block) -> None:
        for stmt in block:
            late: list[tuple[Operand | None, Block]] = []
            if isinstance(stmt, While):
                late = [(stmt.cond, stmt.test), (stmt.until, stmt.body)]
            elif isinstance(stmt, For):
                late = [(stmt.until, stmt.body)]
                self.binds[stmt.index.name] += 1
            elif isinstance(stmt, (Assign, Call, Draw)):
                self.binds.update(v.name for v in targets_of(stmt))
                self.defined_in.update((v.name, id(block)) for v in targets_of(stmt))
            written = written_by(stmt)
            if written is not None:
                # What is written in place has a name.
                self.binds[written] += 1
                self.stores[written] += 1
            for operand, home in late:
                if operand is not None:
                    self.use(operand, home)
            skipped = [o for o, _ in late if o is not None]
            for operand in operands_of(stmt):
                if any(operand is o for o in skipped):
                    continue
                self.use(operand, block)
            for inner in blocks_of(stmt):
                self.parents[id(inner)] = id(block)
                self.tally(inner)

    def stays_inside(self, name: str) -> bool:
        """Whether a temporary is read only in the block that defines it, or deeper."""
        home = self.defined_in.get(name)
        for block in self.homes.get(name, ()):
            here: int | None = block
            while here is not None and here != home:
                here = self.parents.get(here)
            if here is None:
                return False
        return True

    def use(self, operand: Operand, block: Block) -> None:
        if isinstance(operand, Var):
            self.uses[operand.name] += 1
            self.homes.setdefault(operand.name, set()).add(id(block))

    def without_dead(self, block: Block) -> Block | None:
        """The block without unread temporaries, or None if there is none."""
        changed, out = False, []
        for stmt in block:
            if isinstance(stmt, Assign) and self.is_dead(stmt):
                changed = True
                continue
            if isinstance(stmt, If) and not stmt.then and not stmt.orelse:
                changed = True
                continue
            inner = [self.without_dead(b) for b in blocks_of(stmt)]
            if any(b is not None for b in inner):
                changed = True
                blocks = zip(inner, blocks_of(stmt))
                stmt = with_blocks(stmt, [old if new is None else new for new, old in blocks])
            out.append(stmt)
        return out if changed else None

    def is_dead(self, stmt: Assign) -> bool:
        name = stmt.target.name
        if stmt.op.name == "undef" and isinstance(stmt.target.type, Scalar):
            # A number that is never read need not exist, unless it is handed on.
            return name not in self.copied
        return not self.uses[name] and stmt.op.name != "pop" and not self.is_users(stmt.target)

    def is_users(self, v: Var) -> bool:
        return bool(v.user) and self.user is not None and v.name in self.user.locals

    # ---- operands

    def text(self, operand: Operand, partners: list[Any] | None = None) -> Text:
        if isinstance(operand, Const):
            return const_text(operand, partners or [])
        pending = self.pending.get(operand.name)
        if pending is not None:
            self.consume(operand.name)
            self.reads.names |= pending.names
            if pending.stands_in(self.reads.at):
                self.reads.users |= pending.users
            self.reads.buffers |= pending.buffers
            return pending.text
        self.times_read[operand.name] += 1
        if operand.name in self.often:
            self.name_now(operand.name)
        self.reads.names.add(operand.name)
        if operand.user == operand.name:
            self.reads.users.add(operand.name)
        if operand.name in self.buffers:
            self.reads.buffers.add(self.buffers[operand.name])
        return self.paths.get(operand.name, operand.name), ATOM

    # ---- values from outside

    def name_now(self, name: str) -> None:
        """Gives a value from outside a name, at the top level of the function."""
        path = self.paths.pop(name, None)
        if path is None:
            return
        line = Ours(f"{name} = {path}")
        at = len(self.top) - (self.top is not self.items)
        self.top.insert(max(at, 0), line)

    def name_rebound(self) -> None:
        """Names those values from outside at the start whose names are bound again."""
        for name in list(self.paths):
            if self.binds[name] > self.stores[name]:
                self.name_now(name)

    def texts(self, op: Op) -> list[Text]:
        if op.name == "call":
            return self.arguments(op.attrs["function"], op.args)
        strong = op.name in RULES and RULES[op.name].kind == "elementwise"
        out = []
        for i, a in enumerate(op.args):
            others = [o.type for j, o in enumerate(op.args) if j != i] if strong else []
            out.append(self.text(a, others))
        return out

    def arguments(self, function: str, args: tuple[Operand, ...]) -> list[Text]:
        """What a call passes: an object in place of its parts."""
        found: list[Text] = []
        for given in self.holders.arguments(self.function.name, function, args):
            if isinstance(given, int):
                found.append(self.argument(args[given]))
            else:
                found.append((given, ATOM))
                self.reads.names.add(given.partition(".")[0].partition("[")[0])
        return found

    def argument(self, operand: Operand) -> Text:
        """An argument of a call, which keeps its dtype there."""
        other = Scalar("bool")
        return self.text(operand, [other] if isinstance(operand, Const) else None)

    def consume(self, name: str, times: int = 1) -> None:
        """A temporary that nobody will read any more is not pending."""
        self.left[name] -= times
        if self.left[name] <= 0:
            self.pending.pop(name, None)

    def fresh_reads(self, stmt: Stmt) -> Reads:
        self.reads = Reads(place_of(stmt))
        return self.reads

    # ---- pending temporaries

    def flush(self, stmts: list[Stmt]) -> None:
        """Writes the pending temporaries whose operands the statements overwrite."""
        names, buffers = _writes(stmts, self.buffers)
        for name, p in list(self.pending.items()):
            if name in self.pending and (p.names & names or p.buffers & buffers):
                del self.pending[name]
                self.line(f"{name} = {wrap(p.text, TERNARY)}")

    def flush_reads(self, values: set[str]) -> None:
        """Writes the pending temporaries that read some values."""
        for name, p in list(self.pending.items()):
            if name in self.pending and p.names & values:
                del self.pending[name]
                self.line(f"{name} = {wrap(p.text, TERNARY)}")

    def is_size(self, stmt: Stmt) -> bool:
        return (
            isinstance(stmt, Assign)
            and stmt.op.name in ("shape", "size")
            and not stmt.target.user
            and self.binds[stmt.target.name] == 1
        )

    def repeatable(self, stmt: Assign) -> bool:
        """Sizes and elements are as well read again as remembered."""
        if not self.stays_inside(stmt.target.name):
            return False
        if self.is_size(stmt):
            return True
        if stmt.op.name != "index" or not isinstance(stmt.target.type, Scalar):
            return False
        simple = [isinstance(a, Const) or a.name not in self.pending for a in stmt.op.args]
        return all(simple) and all(item[0] == "int" for item in stmt.op.attrs["items"])

    def delay(self, stmt: Assign, counted: bool = False) -> None:
        """Keeps a temporary until it is read.  `counted` says that its operands have been
        counted as read."""
        repeatable = self.repeatable(stmt)
        saved, self.reads = self.reads, Reads(place_of(stmt))
        left = Counter(self.left)
        text = op_text(stmt.op, self.texts(stmt.op))
        if counted:
            self.left = left
        reads, self.reads = self.reads, saved
        pending = Pending(
            stmt.target,
            text,
            frozenset(reads.names),
            frozenset(reads.users),
            # Sizes do not change when elements do.
            frozenset() if self.is_size(stmt) else frozenset(reads.buffers),
            repeatable,
            reads.at,
        )
        self.pending[stmt.target.name] = pending

    def inlined(self, stmt: Assign, block: Block) -> bool:
        name = stmt.target.name
        if stmt.target.user or self.binds[name] != 1 or stmt.op.name in _NEVER_INLINE:
            return False
        if self.repeatable(stmt):
            return True
        if self.uses[name] != 1 or self.homes.get(name) != {id(block)}:
            return False
        if any(isinstance(r, Var) and r.name == name for r in self.function.results):
            plain = not self.function.notes.get("sweeps") or self.function.notes.get("callee")
            return bool(plain) and self.is_returned_alone(name)
        return True

    def is_returned_alone(self, name: str) -> bool:
        """Whether `return` can hold the value's expression."""
        results = self.function.results
        if self.outside is None:
            return len(results) == 1 or bool(self.function.notes.keys() & {"returned", "pair"})
        out = self.outside.interface.out
        found = results[out.index] if isinstance(out, Out) else None
        return isinstance(found, Var) and found.name == name


def place_of(stmt: Stmt) -> Span | None:
    """The statement of the user's own function that a statement comes from."""
    origin = stmt.origin
    return None if origin is None or origin.frame else origin.stmt


def with_blocks(stmt: Stmt, blocks: list[Block]) -> Stmt:
    following = iter(blocks)
    return map_blocks(stmt, lambda block: next(following))


def _writes(stmts: list[Stmt], buffers: dict[str, int]) -> tuple[set[str], set[int]]:
    """The variables that statements bind, and the memory they write."""
    names: set[str] = set()
    memory: set[int] = set()
    for stmt in walk(stmts):
        names |= {v.name for v in targets_of(stmt)}
        if isinstance(stmt, For):
            names.add(stmt.index.name)
        written = written_by(stmt)
        if written is not None and written in buffers:
            memory.add(buffers[written])
    return names, memory


def _copied(block: Block) -> set[str]:
    """Variables whose values are handed on as they are."""
    names: set[str] = set()
    for stmt in walk(block):
        handed: list[Operand] = []
        if isinstance(stmt, Assign) and stmt.op.name in ("alias", "call", "cast"):
            handed = list(stmt.op.args)
        elif isinstance(stmt, Call):
            handed = list(stmt.args)
        elif isinstance(stmt, (Store, Push)):
            handed = [stmt.value]
        names |= {o.name for o in handed if isinstance(o, Var)}
    return names
