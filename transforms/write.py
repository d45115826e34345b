"""Memory form to readable NumPy-level Python: what people read, and `backend="python"`.

Statements that still are what the user wrote print as they were written (`verbatim`).
Everything else prints from IR; a temporary is put where it is read unless it is read twice
or what it reads is overwritten in between.  Statements of an adjoint sweep stand under the
line they belong to.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from .coalesce import HELPERS, primal_results
from .ir import (
    Array,
    Assign,
    Block,
    Call,
    Const,
    For,
    Function,
    If,
    Module,
    Op,
    Operand,
    Origin,
    Print,
    Push,
    Raise,
    Scalar,
    Stmt,
    Store,
    Var,
    While,
    blocks_of,
    operands_of,
    targets_of,
    walk,
)
from .precedence import ADD, ATOM, MUL, NOT, TERNARY, Text, wrap
from .rules.registry import RULES
from .text import WIDTH, const_text, lay_out, op_text, store_text
from .verbatim import Names, Unit, UserText, names_in, says_the_same

_INLINE_LIMIT = 64
_NEVER_INLINE = ("pop", "undef", "list_new", "empty", "empty_like")
_AUGMENTED = {
    "add": "+=", "subtract": "-=", "multiply": "*=", "divide": "/=", "matmul": "@=",
}  # fmt: skip


def write(module: Module) -> str:
    """The module's text: imports, then its functions, the entry last."""
    texts = [write_function(f) for f in reversed(module.functions.values())]
    body = "\n\n".join(texts)
    helpers = [h for h in HELPERS if f"{h}(" in body]
    lines = ["import numpy as np"]
    if "math." in body:
        lines[:0] = ["import math", ""]
    if helpers:
        lines += ["", f"from s2s.transforms.helpers import {', '.join(helpers)}"]
    return "\n".join(lines) + "\n\n\n" + body


def write_function(function: Function) -> str:
    return _Writer(function).run()


@dataclass
class _Pending:
    """A temporary that has not been written yet: its text, and what it reads."""

    target: Var
    text: Text
    names: frozenset[str]
    users: frozenset[str]  # those of `names` that stand for the user's name
    buffers: frozenset[int]
    repeatable: bool


@dataclass
class _Reads:
    names: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    buffers: set[int] = field(default_factory=set)


class _Writer:
    def __init__(self, function: Function) -> None:
        self.user = None if function.source is None else UserText(function.source)
        self.function = replace(function, body=self.prepared(function.body))
        self.buffers: dict[str, int] = function.notes.get("buffers", {})
        self.slots: frozenset[str] = function.notes.get("slot_variables", frozenset())
        self.primal = function.results[: primal_results(function)]
        self.lines: list[str] = []
        self.indent = 4
        self.pending: dict[str, _Pending] = {}
        self.reads = _Reads()
        self.sweep = 0
        self.told: Any = None  # the statement whose line was announced last
        self.announce: list[str] = []
        self.returned = False
        self.count()

    # ---- what is read where

    def count(self) -> None:
        """Drops temporaries nobody reads, and counts the reads of the others."""
        while True:
            self.uses: Counter[str] = Counter()
            self.homes: dict[str, set[int]] = {}
            self.binds: Counter[str] = Counter()
            self.tally(self.function.body)
            for r in self.function.results:
                self.use(r, self.function.body)
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
            elif isinstance(stmt, (Assign, Call)):
                self.binds.update(v.name for v in targets_of(stmt))
            elif isinstance(stmt, (Store, Push)):
                # What is written in place has a name.
                self.binds[(stmt.array if isinstance(stmt, Store) else stmt.stack).name] += 1
            for operand, home in late:
                if operand is not None:
                    self.use(operand, home)
            skipped = [o for o, _ in late if o is not None]
            for operand in operands_of(stmt):
                if any(operand is o for o in skipped):
                    continue
                self.use(operand, block)
            for inner in blocks_of(stmt):
                self.tally(inner)

    def use(self, operand: Operand, block: Block) -> None:
        if isinstance(operand, Var):
            self.uses[operand.name] += 1
            self.homes.setdefault(operand.name, set()).add(id(block))

    def without_dead(self, block: Block) -> Block | None:
        """The block without unread temporaries, or None if there is none."""
        changed, out = False, []
        for stmt in block:
            if isinstance(stmt, Assign) and not self.uses[stmt.target.name]:
                if stmt.op.name != "pop" and not self.is_users(stmt.target):
                    changed = True
                    continue
            inner = [self.without_dead(b) for b in blocks_of(stmt)]
            if any(b is not None for b in inner):
                changed = True
                blocks = zip(inner, blocks_of(stmt))
                stmt = _with_blocks(stmt, [old if new is None else new for new, old in blocks])
            out.append(stmt)
        return out if changed else None

    def is_users(self, v: Var) -> bool:
        return bool(v.user) and self.user is not None and v.name in self.user.locals

    def prepared(self, block: Block) -> Block:
        """Leaves checks that NumPy makes itself to NumPy.  A call that may move and has one
        result is an operation like any other."""
        out: Block = []
        for stmt in block:
            inner = [self.prepared(b) for b in blocks_of(stmt)]
            if isinstance(stmt, Call) and len(stmt.targets) == 1 and not stmt.keep:
                op = Op("call", stmt.args, {"function": stmt.function})
                stmt = Assign(stmt.targets[0], op, stmt.origin)
            if isinstance(stmt, If) and not any(inner) and (stmt.then or stmt.orelse):
                continue
            if isinstance(stmt, Raise) and block is not None and self.is_check(stmt):
                continue
            out.append(_with_blocks(stmt, inner) if inner else stmt)
        return out

    def is_check(self, stmt: Raise) -> bool:
        """NumPy notices wrong shapes and indices itself, but not a name that is unbound."""
        return stmt.check and stmt.exception in ("ValueError", "IndexError", "TypeError")

    # ---- the function

    def run(self) -> str:
        f = self.function
        seed = f.params[-1].name if f.notes.get("sweeps") and not f.notes.get("callee") else ""
        params = [f"{p.name}=1.0" if p.name == seed else p.name for p in f.params]
        signature = lay_out(f"def {f.name}({', '.join(params)}):", 0)
        self.block(f.body)
        if not self.returned:
            self.write_return()
        return "\n".join([*self.heading(), *signature, *self.lines]) + "\n"

    def heading(self) -> list[str]:
        f, source = self.function, self.function.source
        if source is None:
            return []
        file = os.path.basename(source.file)
        sweeps = f.notes.get("sweeps", 0)
        seeds = f.notes.get("seeds", 1 if sweeps else 0)
        names = f.notes.get("user_params") or [p.name for p in f.params][: len(f.params) - seeds]
        wrt = f.notes.get("wrt")
        what = f"{getattr(source.node, 'name', '<lambda>')}({', '.join(names)})"
        what += f", wrt ({', '.join(wrt)})" if wrt else ""
        out = [f"# Generated by s2s from {file}:{source.node.lineno} -- {what}."]
        if sweeps:
            out.append(f"# v_bar is the adjoint of v.  L7 = {file} line 7.")
            kept = [name for name in f.notes.get("kept", ()) if self.uses[name]]
            out.append(f"# Saved for the adjoint sweep: {', '.join(kept) or 'nothing'}.")
        return [line for text in out for line in _comment(text)]

    def write_return(self) -> None:
        primal = [self.text(r)[0] for r in self.primal]
        bars = [self.text(r)[0] for r in self.function.results[len(primal) :]]
        if self.function.notes.get("callee"):
            self.line(f"return {', '.join([*primal, *bars]) or 'None'}")
        elif self.function.notes.get("sweeps"):
            out = primal[0] if len(primal) == 1 else f"({', '.join(primal)})"
            bar = f"({bars[0]},)" if len(bars) == 1 else f"({', '.join(bars)})"
            self.line(f"return {out}, {bar}")
        elif primal:
            self.line(f"return {', '.join(primal)}")
        elif not self.lines:
            self.line("return None")

    # ---- lines

    def line(self, text: str) -> None:
        for note in self.announce:
            self.lines.append(note)
        self.announce = []
        self.lines += lay_out(text, self.indent)

    def verbatim(self, lines: list[str]) -> None:
        self.lines += self.announce
        self.announce = []
        self.lines += [" " * self.indent + line if line.strip() else "" for line in lines]

    def mention(self, origin: Origin | None, stmt: Stmt) -> None:
        """Prepares the comments that stand above a statement."""
        if origin is None:
            return
        key = (None if origin.frame else origin.stmt, origin.frame, origin.sweep)
        if origin.sweep > self.sweep and self.indent == 4:
            self.sweep = origin.sweep
            number = "" if origin.sweep == 1 else f" {origin.sweep}"
            self.announce = ["", f"    # ---- adjoint sweep{number} ----"]
            self.told = None
        if key == self.told:
            return
        self.told = key
        pad = " " * self.indent
        keep = [a for a in self.announce if not a or "----" in a]
        if origin.frame:
            self.announce = [*keep, *_comment(f"# {' > '.join(origin.frame)}", pad)]
        elif self.user is not None:
            node = self.user.node(origin.stmt)
            if origin.sweep == 0:
                comments = self.user.source.comments_above(origin.stmt.line)
                self.announce = [*keep, *(pad + c for c in comments)]
            elif node is not None and not isinstance(node, ast.If):
                label = f"# L{origin.stmt.line}: {self.user.header(node)}"
                self.announce = [*keep, *_comment(label, pad)]

    # ---- operands

    def text(self, operand: Operand, partners: list[Any] | None = None) -> Text:
        if isinstance(operand, Const):
            return const_text(operand, partners or [])
        pending = self.pending.get(operand.name)
        if pending is not None:
            self.consume(operand.name)
            self.reads.names |= pending.names
            self.reads.users |= pending.users
            self.reads.buffers |= pending.buffers
            return pending.text
        self.reads.names.add(operand.name)
        if operand.user == operand.name:
            self.reads.users.add(operand.name)
        if operand.name in self.buffers:
            self.reads.buffers.add(self.buffers[operand.name])
        return operand.name, ATOM

    def texts(self, op: Op) -> list[Text]:
        if op.name == "call":
            return [self.argument(a) for a in op.args]
        strong = op.name in RULES and RULES[op.name].kind == "elementwise"
        out = []
        for i, a in enumerate(op.args):
            others = [o.type for j, o in enumerate(op.args) if j != i] if strong else []
            out.append(self.text(a, others))
        return out

    def argument(self, operand: Operand) -> Text:
        """An argument of a call, which keeps its dtype there."""
        other = Scalar("bool")
        return self.text(operand, [other] if isinstance(operand, Const) else None)

    def flush(self, stmts: list[Stmt]) -> None:
        """Writes the pending temporaries whose operands the statements overwrite."""
        names, buffers = _writes(stmts, self.buffers)
        for name, p in list(self.pending.items()):
            if name in self.pending and (p.names & names or p.buffers & buffers):
                del self.pending[name]
                self.line(f"{name} = {wrap(p.text, TERNARY)}")

    # ---- blocks

    def block(self, block: Block) -> None:
        i = 0
        rewritten: set[object] = set()  # of whose statements some are written from IR
        while i < len(block):
            origin = block[i].origin
            j = max(self.run_end(block, i), i + 1)
            whole = origin is not None and origin.stmt not in rewritten
            if not whole or not self.as_written(block[i:j], block):
                for stmt in block[i:j]:
                    self.stmt(stmt, block)
                rewritten.add(origin and origin.stmt)
            i = j

    def inner(self, block: Block, until: Operand | None = None) -> None:
        """A nested block; single-use temporaries of the outer one stay outside."""
        self.indent += 4
        size = len(self.lines)
        announce, self.announce = self.announce, []
        told = self.told
        outer = self.pending
        self.pending = {n: p for n, p in outer.items() if p.repeatable}
        self.block(block)
        if until is not None:
            self.line(f"if {wrap(self.text(until), TERNARY)}:")
            self.lines.append(" " * self.indent + "    break")
        if len(self.lines) == size:
            self.line("pass")
        self.pending = {n: p for n, p in outer.items() if self.left[n] > 0}
        self.told = told
        self.announce = announce
        self.indent -= 4

    def run_end(self, block: Block, i: int) -> int:
        """The end of the statements from block[i] on that came from one of the user's."""
        origin = block[i].origin
        if self.user is None or origin is None or origin.frame or origin.sweep:
            return i
        node, first = self.user.node(origin.stmt), block[i]
        if node is None:
            return i
        if isinstance(node, (ast.For, ast.While)) and isinstance(first, Assign):
            # A loop's text does not say what its variables are at first.
            if first.op.name == "alias" and self.is_users(first.target):
                return i
        j = i
        while j < len(block):
            other = block[j].origin
            if other is None or other.frame or other.sweep or other.stmt != origin.stmt:
                break
            j += 1
        return j

    # ---- the user's own text

    def as_written(self, run: list[Stmt], block: Block) -> bool:
        """Prints a run of statements as the user wrote it, if that is what it still says."""
        origin = run[0].origin
        assert origin is not None
        if self.user is None or origin.frame or origin.sweep:
            return False
        node = self.user.node(origin.stmt)
        extras: list[Stmt] = []
        while run and self.is_extra(run[-1]):
            extras.insert(0, run[-1])
            run = run[:-1]
        if not run or node is None or any(self.is_extra(s) for s in walk(run)):
            return False
        if isinstance(node, (ast.For, ast.While, ast.If)):
            if not all(self.inside(s, node) for s in walk(run)):
                return False
            if isinstance(node, ast.If) and self.is_elif(node):
                return False
        unit = Unit.of(run)
        if isinstance(node, ast.Return):
            return self.return_as_written(run, unit, node, block)
        names = names_in([node])
        escaping = {n for n in unit.targets if self.uses[n] > unit.read_counts.get(n, 0)}
        again = self.read_again(run, escaping)
        if not self.same(names, unit, escaping - {s.target.name for s in again}):
            return False
        self.mention(run[0].origin, run[0])
        self.settle(run, unit, again)
        self.verbatim(self.user.lines(node))
        for s in extras:
            self.stmt(s, block)
        return True

    def read_again(self, run: list[Stmt], escaping: set[str]) -> list[Assign]:
        """Sizes and elements that the text reads and somebody else needs, too: they can be
        read before it."""
        found: list[Assign] = []
        own: set[str] = set()
        for stmt in run:
            if not isinstance(stmt, Assign):
                break
            inputs = {a.name for a in stmt.op.args if isinstance(a, Var)}
            once = self.binds[stmt.target.name] == 1
            if stmt.target.name in escaping and once and self.repeatable(stmt) and not inputs & own:
                found.append(stmt)
            own.add(stmt.target.name)
        return found

    def same(self, names: Names, unit: Unit, escaping: set[str]) -> bool:
        assert self.user is not None
        for name in unit.read_counts:
            if name in self.pending:
                unit.reads |= self.pending[name].users
        return says_the_same(names, unit, self.user, self.variables, escaping)

    def settle(self, run: list[Stmt], unit: Unit, again: list[Assign]) -> None:
        """The text computes what it reads; what it overwrites must be read before."""
        for name, times in unit.read_counts.items():
            self.consume(name, times)
        for stmt in again:
            if self.left[stmt.target.name] > 0:
                self.delay(stmt, counted=True)
        self.flush(run)

    def consume(self, name: str, times: int = 1) -> None:
        """A temporary that nobody will read any more is not pending."""
        self.left[name] -= times
        if self.left[name] <= 0:
            self.pending.pop(name, None)

    def return_as_written(
        self, run: list[Stmt], unit: Unit, node: ast.Return, block: Block
    ) -> bool:
        assert self.user is not None
        (*_, last) = run
        if node.value is None or len(self.primal) != 1 or block is not self.function.body:
            return False
        out = self.primal[0]
        if not isinstance(last, Assign) or last.target != out or out.user:
            return False
        escaping = {n for n in unit.targets if self.uses[n] > unit.read_counts.get(n, 0)}
        names = names_in([node.value])
        if not self.same(names, unit, escaping - {out.name}):
            return False
        self.mention(last.origin, last)
        self.settle(run, unit, [])
        lines = self.user.lines(node)
        sweeps = self.function.notes.get("sweeps")
        if sweeps:
            rest = lines[0][len("return") :].lstrip()
            lines[0] = f"{out.name} = {rest}"
        else:
            self.returned = True
        self.verbatim(lines)
        return True

    def is_extra(self, stmt: Stmt) -> bool:
        return (isinstance(stmt, Store) and stmt.array.name in self.slots) or (
            isinstance(stmt, Push) and stmt.stack.name in self.slots
        )

    def is_elif(self, node: ast.If) -> bool:
        assert self.user is not None
        return self.user.header(node).startswith("elif")

    def inside(self, stmt: Stmt, node: ast.stmt) -> bool:
        o = stmt.origin
        if o is None or o.frame or o.sweep:
            return False
        return node.lineno <= o.stmt.line <= (node.end_lineno or node.lineno)

    def header_as_written(self, stmt: If | For | While, reads: _Reads) -> str:
        """The user's `if`, `for` or `while` line without its colon, if it still holds."""
        o = stmt.origin
        if self.user is None or o is None or o.frame or o.sweep:
            return ""
        node = self.user.node(o.stmt)
        unit = Unit(reads=set(reads.users))
        if isinstance(stmt, For) and isinstance(node, ast.For) and not node.orelse:
            if not isinstance(node.target, ast.Name) or stmt.index.user != node.target.id:
                return ""
            call = node.iter
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                return ""
            if call.func.id != "range" or stmt.index.name != node.target.id:
                return ""
            names = names_in([node.iter])
        elif isinstance(stmt, If) and isinstance(node, ast.If):
            names = names_in([node.test])
        elif isinstance(stmt, While) and isinstance(node, ast.While) and not node.orelse:
            names = names_in([node.test])
        else:
            return ""
        if names.stores or not says_the_same(names, unit, self.user, self.variables, set()):
            return ""
        text = self.user.header(node)
        return text if self.indent + len(text) < WIDTH else ""

    # ---- statements from IR

    def stmt(self, stmt: Stmt, block: Block) -> None:
        self.mention(stmt.origin, stmt)
        if isinstance(stmt, Assign):
            self.assign(stmt, block)
        elif isinstance(stmt, Call):
            self.call(stmt)
        elif isinstance(stmt, Store):
            self.store(stmt)
        elif isinstance(stmt, Push):
            text = f"{stmt.stack.name}.append({wrap(self.text(stmt.value), TERNARY)})"
            self.flush([stmt])
            self.line(text)
        elif isinstance(stmt, If):
            self.branch(stmt)
        elif isinstance(stmt, For):
            self.loop(stmt)
        elif isinstance(stmt, While):
            self.repeat(stmt)
        elif isinstance(stmt, Raise):
            self.line(f"raise {stmt.exception}({_fstring(stmt.message, self)})")
        elif isinstance(stmt, Print):
            self.print(stmt)
        else:
            raise AssertionError(f"not in memory form: {stmt}")

    def is_size(self, stmt: Stmt) -> bool:
        return (
            isinstance(stmt, Assign)
            and stmt.op.name == "shape"
            and not stmt.target.user
            and self.binds[stmt.target.name] == 1
        )

    def repeatable(self, stmt: Assign) -> bool:
        """Sizes and elements are as well read again as remembered."""
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
        saved, self.reads = self.reads, _Reads()
        left = Counter(self.left)
        text = op_text(stmt.op, self.texts(stmt.op))
        if counted:
            self.left = left
        reads, self.reads = self.reads, saved
        pending = _Pending(
            stmt.target,
            text,
            frozenset(reads.names),
            frozenset(reads.users),
            # Sizes do not change when elements do.
            frozenset() if self.is_size(stmt) else frozenset(reads.buffers),
            repeatable,
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
            return bool(plain) and len(self.function.results) == 1
        return True

    def assign(self, stmt: Assign, block: Block) -> None:
        target, op = stmt.target, stmt.op
        if op.name == "undef" and not self.uses[target.name]:
            return
        if self.inlined(stmt, block):
            self.delay(stmt)
            pending = self.pending[target.name]
            if len(pending.text[0]) > _INLINE_LIMIT:
                del self.pending[target.name]
                self.line(f"{target.name} = {wrap(pending.text, TERNARY)}")
            return
        sign = _AUGMENTED.get(op.name)
        first = op.args[0] if op.args else None
        if sign and first == target and isinstance(target.type, Scalar):
            texts = self.texts(op)
            text = f"{target.name} {sign} {wrap(texts[1], TERNARY)}"
        else:
            text = f"{target.name} = {wrap(op_text(op, self.texts(op)), TERNARY)}"
        self.flush([stmt])
        self.line(text)

    def call(self, stmt: Call) -> None:
        args = ", ".join(wrap(self.argument(a), TERNARY) for a in stmt.args)
        names = ", ".join(v.name for v in stmt.targets)
        self.flush([stmt])
        text = f"{stmt.function}({args})"
        self.line(f"{names} = {text}" if names else text)

    def store(self, stmt: Store) -> None:
        base: Text = (stmt.array.name, ATOM)
        value = self.text(stmt.value)
        args = [base, value, *(self.text(o) for o in stmt.operands)]
        rank = stmt.array.type.ndim if isinstance(stmt.array.type, Array) else 1
        kinds = [kind for kind, _ in stmt.path]
        self.flush([stmt])
        if "reshape" not in kinds:
            self.line(store_text(base, value, stmt.path, args, stmt.add, rank))
            return
        # A reshaped array may be a copy: write there, then back.
        at = kinds.index("reshape")
        sizes = ", ".join(wrap(args[p], TERNARY) for p in stmt.path[at][1])
        before = store_text(base, ("", ATOM), stmt.path[:at], args, False, rank)[: -len(" = ")]
        name = self.free(f"{stmt.array.name}_flat")
        region = before.removesuffix("[...]")
        self.line(f"{name} = {region}.reshape({sizes})")
        inner = replace(stmt, array=Var(name, stmt.array.type), path=stmt.path[at + 1 :])
        self.line(store_text((name, ATOM), value, inner.path, args, stmt.add, 1))
        self.line(f"{before} = {name}.reshape({region}.shape)")

    def free(self, name: str) -> str:
        while name in self.variables:
            name += "_"
        return name

    def print(self, stmt: Print) -> None:
        parts = []
        for part in stmt.parts:
            if isinstance(part, (Var, Const)):
                parts.append(wrap(self.text(part), TERNARY))
            elif isinstance(part, tuple):
                parts.append(_fstring(part, self))
            else:
                parts.append(repr(part))
        parts += [f"sep={stmt.sep!r}"] if stmt.sep != " " else []
        parts += [f"end={stmt.end!r}"] if stmt.end != "\n" else []
        self.line(f"print({', '.join(parts)})")

    # ---- control flow

    def fresh_reads(self) -> _Reads:
        self.reads = _Reads()
        return self.reads

    def branch(self, stmt: If) -> None:
        reads = self.fresh_reads()
        cond = self.text(stmt.cond)
        header = self.header_as_written(stmt, reads)
        if header and not stmt.then:
            header = ""
        if not stmt.then:
            test = f"not {wrap(cond, NOT)}"
        else:
            test = wrap(cond, TERNARY)
        self.flush([stmt])
        self.line((header.replace("elif ", "if ", 1) if header else f"if {test}") + ":")
        self.inner(stmt.then or stmt.orelse)
        if not stmt.then or not stmt.orelse:
            return
        start = len(self.lines)
        self.inner(stmt.orelse)
        self.join_else(start)

    def join_else(self, start: int) -> None:
        """`else:` before the lines from `start` on, or `elif` if they are one `if`."""
        pad = " " * self.indent
        nested = self.lines[start:]
        deeper = pad + "    "
        body = [n for n in nested if n.strip()]
        heads = [n[len(deeper) :] for n in body if not n[len(deeper) :].startswith(" ")]
        single = heads[0].startswith("if ") and all(
            h.startswith(("elif ", "else:")) for h in heads[1:]
        )
        if single and not any(h.startswith(("#", ")", "]")) for h in heads):
            out = [n[4:] for n in nested]
            out[0] = f"{pad}el{out[0].lstrip()}"
            self.lines[start:] = out
        else:
            self.lines.insert(start, f"{pad}else:")

    def loop(self, stmt: For) -> None:
        reads = self.fresh_reads()
        bounds = [self.text(o) for o in (stmt.start, stmt.stop, stmt.step)]
        count = None if stmt.count is None else self.text(stmt.count)
        header = "" if stmt.reverse or count else self.header_as_written(stmt, reads)
        if not header:
            header = f"for {stmt.index.name} in {_range(stmt, bounds, count)}"
        self.flush([stmt])
        self.line(f"{header}:")
        self.inner_loop(stmt)

    def inner_loop(self, stmt: For | While) -> None:
        if stmt.until is None:
            self.inner(stmt.body)
            return
        self.inner(stmt.body, stmt.until)

    def repeat(self, stmt: While) -> None:
        self.flush([stmt])
        outer = self.pending
        self.pending = {n: p for n, p in outer.items() if p.repeatable}
        lines, self.lines = self.lines, []
        announce, self.announce = self.announce, []
        reads = self.fresh_reads()
        self.indent += 4
        self.block(stmt.test)
        cond = self.text(stmt.cond)
        self.indent -= 4
        test, self.lines = self.lines, lines
        self.announce = announce
        header = self.header_as_written(stmt, reads)
        self.pending = {n: p for n, p in outer.items() if self.left[n] > 0}
        if not test:
            self.line(f"{header or 'while ' + wrap(cond, TERNARY)}:")
            self.inner_loop(stmt)
            return
        self.line("while True:")
        self.lines += test
        pad = " " * (self.indent + 4)
        self.lines += [f"{pad}if not {wrap(cond, NOT)}:", f"{pad}    break"]
        if stmt.body or stmt.until is not None:
            self.inner_loop(stmt)


def _with_blocks(stmt: Stmt, blocks: list[Block]) -> Stmt:
    if isinstance(stmt, If):
        return replace(stmt, then=blocks[0], orelse=blocks[1])
    if isinstance(stmt, For):
        return replace(stmt, body=blocks[0])
    if isinstance(stmt, While):
        return replace(stmt, test=blocks[0], body=blocks[1])
    return stmt


def _writes(stmts: list[Stmt], buffers: dict[str, int]) -> tuple[set[str], set[int]]:
    """The variables that statements bind, and the memory they write."""
    names: set[str] = set()
    memory: set[int] = set()
    for stmt in walk(stmts):
        written = None
        names |= {v.name for v in targets_of(stmt)}
        if isinstance(stmt, Assign):
            if stmt.op.name == "pop" and isinstance(stmt.op.args[0], Var):
                written = stmt.op.args[0].name
        elif isinstance(stmt, For):
            names.add(stmt.index.name)
        elif isinstance(stmt, Store):
            written = stmt.array.name
        elif isinstance(stmt, Push):
            written = stmt.stack.name
        if written is not None and written in buffers:
            memory.add(buffers[written])
    return names, memory


def _range(stmt: For, bounds: list[Text], count: Text | None) -> str:
    start, stop, step = bounds
    plain = isinstance(stmt.step, Const) and stmt.step.value
    zero = isinstance(stmt.start, Const) and stmt.start.value == 0
    if count is not None:
        if zero and plain == 1:
            stop = count
        else:
            span = wrap(count, MUL) if plain == 1 else f"{wrap(count, MUL)} * {wrap(step, ATOM)}"
            stop = (f"{wrap(start, ADD)} + {span}", ADD)
    if not stmt.reverse:
        if plain == 1:
            return f"range({stop[0]})" if zero else f"range({start[0]}, {stop[0]})"
        return f"range({start[0]}, {stop[0]}, {step[0]})"
    if plain == 1:
        return f"range({_shift(stop, -1)}, {'-1' if zero else _shift(start, -1)}, -1)"
    if plain == -1:
        return f"range({_shift(stop, 1)}, {_shift(start, 1)})"
    return f"reversed(range({start[0]}, {stop[0]}, {step[0]}))"


def _shift(text: Text, by: int) -> str:
    """`n - 1`, `n` for `n + 1` shifted back, a number for a number."""
    source = wrap(text, ADD)
    try:
        return str(int(source) + by)
    except ValueError:
        pass
    undo = f" {'-' if by > 0 else '+'} 1"
    if text[1] == ADD and source.endswith(undo):
        return source[: -len(undo)]
    return f"{source} {'+' if by > 0 else '-'} 1"


def _fstring(parts: tuple[Any, ...], writer: _Writer) -> str:
    if not parts:
        return ""
    if all(isinstance(p, str) for p in parts):
        return repr("".join(parts))
    out = ""
    for p in parts:
        if isinstance(p, str):
            out += p.replace("{", "{{").replace("}", "}}")
        else:
            out += "{" + wrap(writer.text(p), TERNARY) + "}"
    quote = "'" if '"' in out else '"'
    return f"f{quote}{out}{quote}"


def _comment(text: str, pad: str = "") -> list[str]:
    line = pad + text
    return [line if len(line) <= WIDTH else line[: WIDTH - 4].rstrip() + " ..."]
