"""Memory form to readable NumPy-level Python: what people read, and `backend="python"`.

Statements that still are what the user wrote print as they were written (`as_written`).
Everything else prints from IR; a temporary is put where it is read unless it is read twice
or what it reads is overwritten in between (`temporaries`).  Statements of an adjoint sweep
stand under the line they belong to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import libcst as cst

from ..bufferize.coalesce import HELPERS
from ..frontend.kernel_interface import Whence
from ..frontend.pytree import Out, OutTree, Tree, leaves_in
from ..frontend.source import parsed
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Call,
    Const,
    Draw,
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
    Span,
    Stmt,
    Store,
    Var,
    While,
    blocks_of,
    operands_of,
    targets_of,
    walk,
)
from ..ir.precedence import ADD, ATOM, MUL, NOT, TERNARY, Text, wrap
from ..ir.quote import file_name
from ..rules.random_draws import draw_text
from ..syntax import core
from ..syntax.cst_parser import parse_module
from ..syntax.traverse import walk as walk_syntax
from .build_page import Builder
from .callee_interfaces import is_rev
from .format_ops import _outer, op_text, store_text
from .function_order import in_reading_order
from .inline_temporaries import Pending, with_blocks
from .object_arguments import Holders, object_arguments
from .outside_values import NAMESPACE, Change, Outside, holds_argument
from .page import Branching, Item, Ours, Verbatim, comment, source_location
from .parameter_list import Parameter, parameter_list, return_annotation, users_parameters
from .reprint_statements import AsWritten
from .stores import written_by
from .user_nodes import header_text, lines_above
from .user_text import UserText

BLANKS = (cst.EmptyLine(indent=False),) * 2
_INLINE_LIMIT = 64
# Operators that bind no tighter than a sum.
_LOOSER = (
    " + ", " - ", " if ", " or ", " and ", "not ", " in ", " is ", "<", ">", "=", "|", "&", "^",
)  # fmt: skip
NAMED_FROM = 3  # reads of a value from outside, from which on it has a name
SHORT_SWEEP = 3  # statements of the user's, up to which a tape's sweep has no comments inside
_AUGMENTED = {
    "add": "+=", "subtract": "-=", "multiply": "*=", "divide": "/=", "matmul": "@=",
}  # fmt: skip


def write(module: Module) -> str:
    """The module's text: imports, then its functions, the entry last."""
    return write_with_places(module)[0]


def write_with_places(
    module: Module, outside: Outside | None = None
) -> tuple[str, dict[int, Whence]]:
    """The text, and for the numbers of its lines where they come from.  `outside` is what the
    entry takes and gives in the user's terms; without it, it takes and gives numbers and arrays."""
    builder = Builder()
    main = module.main
    holders = Holders()
    others = [f for f in reversed(module.functions.values()) if f is not main]
    if outside is not None and "has_functions" in main.notes:
        holders = object_arguments(module, outside)
        others = [f for f in in_reading_order(module) if f is not main]
    writers = [_Writer(f, holders=holders) for f in others]
    writers.append(_entry_writer(main, outside, holders))
    *callees, entry = writers
    together = "has_functions" in main.notes
    made = [writer.definition(builder, heading=not together) for writer in callees]
    made.append(entry.definition(builder, heading=not (callees and together)))
    text = cst.Module(made).code
    helpers = [h for h in HELPERS if f"{h}(" in text]
    modules = _modules_in(text)
    lines = ["import numpy as np"]
    if "math" in modules:
        lines[:0] = ["import math", ""]
    if f"{NAMESPACE}(" in text:
        lines[:0] = [f"from types import {NAMESPACE}", ""]
    if "special" in modules:
        lines.append("from scipy import special")
    if helpers:
        lines += ["", f"from s2s.transforms.runtime.helpers import {', '.join(helpers)}"]
    imports = parse_module("\n".join(lines) + "\n").body
    made = [f.with_changes(leading_lines=[*BLANKS, *f.leading_lines]) for f in made]
    if callees and together:
        heading = [*entry.heading(), *_about_pairs(module)]
        above = [*BLANKS, *lines_above(heading), *made[0].leading_lines]
        made[0] = made[0].with_changes(leading_lines=above)
    page = cst.Module([*imports, *made])
    return page.code, builder.places(page)


def _about_pairs(module: Module) -> list[str]:
    """What the names of the functions of adjoints mean."""
    found: list[str] = []
    if any(is_rev(f) for f in module.functions.values()):
        found.append("# f_rev takes the adjoints of what f returned, then what it reads.")
    if any(f.name.rstrip("_0123456789").endswith("_fwd") for f in module.functions.values()):
        found.append("# f_fwd is f, and also returns what f_rev needs.")
    return found


def words(function: Function, outside: Outside | None) -> set[str]:
    """The names and numbers in the text of a function, by a draft."""
    writer = _Writer(function, outside)
    writer.compose()
    found: set[str] = set()
    todo = list(writer.items)
    while todo:
        item = todo.pop()
        text = getattr(item, "text", "") or getattr(item, "header", "")
        if not isinstance(text, str):
            text = header_text(text)
        elif isinstance(item, Verbatim):
            text = cst.Module([]).code_for_node(item.node)
        found |= {*re.findall(r"\w+", text)}
        if isinstance(item, Branching):
            todo += [*item.body, *item.orelse]
    return found


def _entry_writer(main: Function, outside: Outside | None, holders: Holders) -> _Writer:
    """What is read from outside several times gets a name, which another writer puts to use."""
    writer = _Writer(main, outside, (), holders)
    if outside is not None:
        writer.compose()
        often = {name for name, times in writer.times_read.items() if times >= NAMED_FROM}
        often |= {name for name, times in writer.stores.items() if times}
        often &= outside.reads.keys()
        writer = _Writer(main, outside, often, holders)
    return writer


def _modules_in(text: str) -> set[str]:
    """Which of the modules `math` and `special` the code uses, comments and strings aside."""
    if not re.search(r"\b(math|special)\.", text):  # parsing is slower
        return set()
    holders = (n.value for n in walk_syntax(parsed(text)) if isinstance(n, core.Attr))
    return {n.id for n in holders if isinstance(n, core.Name)} & {"math", "special"}


def write_function(function: Function) -> str:
    return cst.Module([_Writer(function).definition(Builder())]).code


class _Writer(AsWritten):
    def __init__(
        self,
        function: Function,
        outside: Outside | None = None,
        often: Iterable[str] = (),
        holders: Holders | None = None,
    ) -> None:
        user = None if function.source is None else UserText(function.source)
        function = replace(function, body=_prepared(function.body, user))
        super().__init__(function, user, outside, holders)
        if user is not None:
            own = (s.origin for s in walk(self.function.body) if s.origin is not None)
            user.kept = frozenset((span.line, span.col) for o in own for span in _announced(o))
        self.often = set(often)
        self.filled = {
            name: s.origin
            for s in walk(self.function.body)
            if isinstance(s, (Store, Push)) and (name := written_by(s)) in self.slots
        }

        self.short_sweeps = _short_sweeps(self.function)
        if is_rev(function):
            self.sweep = max((s.origin.sweep for s in walk(function.body) if s.origin), default=0)

    # ---- the function

    def compose(self) -> None:
        """Writes the body."""
        docstring = self.docstring()
        if docstring is not None:
            self.items.append(docstring)
        self.name_rebound()
        for name, text in () if self.outside is None else self.outside.before.values():
            self.line(f"{name} = {text}")
        self.block(self.function.body)
        if not self.returned:
            self.mention(None)
            self.announce += self.above_return()
            self.write_return()

    def above_return(self) -> list[str]:
        """The comments above the user's last `return`, if that is what this `return` stands for."""
        last = None if self.user is None else self.user.source.node.body[-1]
        if self.user is None or not isinstance(last, core.Return):
            return []
        if self.function.notes.keys() & {"sweeps", "title"}:
            return []
        span = self.user.source.span(last)
        return [] if (span.line, span.col) in (self.user.kept or ()) else self.user.above(span)

    def definition(self, builder: Builder, heading: bool = True) -> cst.FunctionDef:
        f = self.function
        self.compose()
        signature = f"def {f.name}({self.parameters()}){self.result_annotation()}"
        return builder.definition(signature, self.items, self.heading() if heading else [])

    def parameters(self) -> str:
        """The user's own parameters as they were written, others by name."""
        f = self.function
        seed = f.params[-1] if f.notes.get("sweeps") and not f.notes.get("callee") else None
        nodes = None if self.user is None else self.user.parsed
        users: dict[str, Parameter] = {}
        if nodes is not None and nodes.tree is not None and nodes.definition is not None:
            own = f.notes.get("own_params", ())
            written = users_parameters(nodes.tree, nodes.definition)
            if self.outside is not None and "title" not in f.notes:
                own = [root[0][1] for root in self.outside.roots if root[0][0] == "arg"]
            users = {name: p for name, p in written.items() if name in own}
        if self.outside is None:
            names = [p.name for p in f.params if p is not seed]
            names = self.holders.parameters(f.name) if f.name in self.holders.params else names
        else:
            names = list(self.outside.roots.values())
        made = [users.get(name, Parameter(name)) for name in names]
        if not all(p.name in users for p in made):
            made = [replace(p, kind="plain") for p in made]
        if seed is not None:
            last = made[-1].kind if made else "plain"
            kind = last if last == "keyword only" else "plain"
            made.append(Parameter(seed.name, default="1.0", kind=kind))
        return parameter_list(made)

    def result_annotation(self) -> str:
        """What the user says of the result, where the emitted function returns the same."""
        notes = self.function.notes
        if self.user is None or notes.keys() & {"title", "sweeps", "callee"}:
            return ""
        nodes = self.user.parsed
        if nodes.tree is None or nodes.definition is None:
            return ""
        text = return_annotation(nodes.tree, nodes.definition)
        return f" -> {text}" if text else ""

    def docstring(self) -> Verbatim | None:
        """The docstring of the user's function, if the emitted one stands for it."""
        if self.user is None or "title" in self.function.notes:
            return None
        found = self.user.parsed.docstring(self.indent)
        return None if found is None else Verbatim(found[0], place=found[1])

    def heading(self) -> list[str]:
        f, source = self.function, self.function.source
        if source is None:
            return []
        file = file_name(source.file)
        sweeps = f.notes.get("sweeps", 0)
        seeds = f.notes.get("seeds", 1 if sweeps else 0)
        names = f.notes.get("user_params") or [p.name for p in f.params][: len(f.params) - seeds]
        wrt = f.notes.get("wrt")
        what = f.notes.get("title") or source.node.name
        what += f"({', '.join(names)})"
        if wrt:
            what += f", wrt {wrt[0]}" if len(wrt) == 1 else f", wrt ({', '.join(wrt)})"
        out = [f"# Generated by s2s from {file}:{source.node.line} -- {what}."]
        if sweeps:
            out.append(f"# v_bar is the adjoint of v.  L7 = {file} line 7.")
            kept = [name for name in f.notes.get("kept", ()) if self.uses[name]]
            out.append(f"# Saved for the adjoint sweep: {', '.join(kept) or 'nothing'}.")
        return [comment(text) for text in out]

    def write_return(self) -> None:
        if self.outside is not None:
            self.write_changes()
            self.line(f"return {self.returned_text(self.outside)}")
            return
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
        elif not self.items:
            self.line("return None")

    def returned_text(self, outside: Outside) -> str:
        """The value in the structure that the user returns it in, and the gradients."""

        def leaf(index: int) -> str:
            return wrap(self.text(self.function.results[index]), TERNARY)

        interface = outside.interface
        out = outside.tree_text(interface.out, leaf)
        if not interface.wrt:
            return _without_brackets(out, interface.out)
        pairs = zip(interface.wrt, interface.grads)
        bars = [outside.tree_text(tree, leaf, (("arg", name),)) for name, tree in pairs]
        return f"{out}, {bars[0]}" if len(bars) == 1 else f"{out}, ({', '.join(bars)})"

    def write_changes(self) -> None:
        """Writes what the program sets in objects, as far as it is not written yet."""
        assert self.outside is not None
        parallel: list[tuple[str, str]] = []
        for path, step, _ in self.changes:
            self.read_before(self.outside.under(path, step))
        for change in self.changes:
            _, _, tree = change
            target, value = self.change_texts(change)
            if holds_argument(tree):
                parallel.append((target, wrap(value, TERNARY)))
            else:
                self.line(_assignment(target, value))
        if parallel:  # one may be what another replaces
            targets, values = zip(*parallel)
            self.line(f"{', '.join(targets)} = {', '.join(values)}")
        self.changes = []

    def read_before(self, values: set[str]) -> None:
        """Reads values from outside that the text still needs, before their place is set."""
        self.flush_reads(values)
        for x in self.function.results:
            if isinstance(x, Var) and x.name in values:
                self.name_now(x.name)

    def change_texts(self, change: Change) -> tuple[str, Text]:
        assert self.outside is not None
        path, step, tree = change
        target = self.outside.target_text(path, step)
        if isinstance(tree, Out):
            return target, self.text(self.function.results[tree.index])

        def leaf(index: int) -> str:
            return wrap(self.text(self.function.results[index]), TERNARY)

        return target, (self.outside.tree_text(tree, leaf), ATOM)

    # ---- blocks

    def block(self, block: Block) -> None:
        i = 0
        complete: list[tuple[int, Change]] = []
        if self.changes and block is self.function.body:
            complete = sorted(self.complete_from(block), key=lambda found: found[0])
        rewritten: set[object] = set()  # of whose statements some are written from IR
        while i < len(block):
            origin = block[i].origin
            j = max(self.run_end(block, i), i + 1)
            whole = origin is not None and origin.stmt not in rewritten
            if not whole or not self.as_written(block[i:j], block):
                while i < j:
                    i += self.several(block[i:]) or self.stmt(block[i], block) or 1
                rewritten.add(origin and origin.stmt)
            i = max(i, j)
            while complete and complete[0][0] <= i:
                self.set_in_object(complete.pop(0)[1])

    def complete_from(self, body: Block) -> list[tuple[int, Change]]:
        """What the program sets in objects, with the number of statements of the body after which
        the value is complete, the place is not read any more, and no error ends the call."""
        bound: dict[str, int] = {}
        read: dict[str, int] = {}
        end = 0
        for at, stmt in enumerate(body, 1):
            bound.update(dict.fromkeys(_bound([stmt]), at))
            read.update(dict.fromkeys(_read([stmt]), at))
            if any(isinstance(s, Raise) for s in walk([stmt])):
                end = at
        found: list[tuple[int, Change]] = []
        for change in self.changes:
            path, step, tree = change
            leaves = [self.function.results[i] for i in leaves_in(tree)]
            names = {x.name for x in leaves if isinstance(x, Var)}
            if holds_argument(tree) or not names or not names <= bound.keys():
                continue
            assert self.outside is not None
            places = self.outside.under(path, step)
            last = [bound[n] for n in names] + [read[p] for p in places if p in read]
            found.append((max(end, *last), change))
        return found

    def set_in_object(self, change: Change) -> None:
        """Writes what the program sets in an object, in the user's order."""
        path, step, tree = change
        assert self.outside is not None
        self.read_before(self.outside.under(path, step))
        target, value = self.change_texts(change)
        last = self.items[-1] if self.items else None
        x = self.function.results[tree.index] if isinstance(tree, Out) else None
        own = isinstance(x, Var) and not self.is_users(x)
        computed = isinstance(x, Var) and value[0] == x.name  # and not set in another place before
        computed = computed and isinstance(last, Ours) and last.text.startswith(f"{value[0]} = ")
        if own and computed and isinstance(last, Ours):
            self.items.pop()
            self.announce = [*last.above, *self.announce]
            value = last.text.removeprefix(f"{value[0]} = "), ADD
        self.line(_assignment(target, value))
        self.changes.remove(change)
        if own and isinstance(x, Var):
            # What was a value of its own is read from its place.
            self.paths[x.name] = target

    def several(self, stmts: list[Stmt]) -> int:
        """Writes one line for the statements at the beginning that need no more, and returns their
        number, 0 if there are none."""
        return self.unpacking(stmts) or self.rotation(stmts)

    def unpacking(self, stmts: list[Stmt]) -> int:
        """Writes `a, b = saved` for the parts of a tuple."""
        first = stmts[0]
        if not isinstance(first, Assign) or first.op.name != "tuple_part":
            return 0
        count, parts = 0, len(first.op.args[0].type.types)  # type: ignore[union-attr]
        names = ["_"] * parts
        for stmt in stmts:
            if not isinstance(stmt, Assign) or stmt.op.name != "tuple_part":
                break
            if stmt.op.args != first.op.args:
                break
            if self.uses[stmt.target.name]:
                names[stmt.op.attrs["position"]] = stmt.target.name
            count += 1
        if any(name != "_" for name in names):
            text, _ = self.text(first.op.args[0])
            self.flush(stmts[:count])
            self.line(f"{', '.join(names)} = {text}")
        return count

    def rotation(self, stmts: list[Stmt]) -> int:
        """Writes `a, b = b, a` for the statements that do so by way of a spare variable, and
        returns their number, or 0 if the first is not the beginning of that."""
        pairs: list[tuple[Var, Var]] = []
        for stmt in stmts:
            if not isinstance(stmt, Assign) or stmt.op.name != "alias":
                return 0
            source = stmt.op.args[0]
            if not isinstance(source, Var) or (pairs and stmt.target != pairs[-1][1]):
                return 0
            pairs.append((stmt.target, source))
            if len(pairs) > 1 and source == pairs[0][0]:
                break
        spare, first = pairs[0]
        if pairs[-1][1] != spare or len(pairs) < 3 or spare.user or self.uses[spare.name] != 1:
            return 0
        targets = ", ".join(target.name for target, _ in pairs[1:])
        sources = ", ".join(source.name for _, source in [*pairs[1:-1], (spare, first)])
        self.flush(stmts[: len(pairs)])
        self.line(f"{targets} = {sources}")
        return len(pairs)

    def inner(
        self, items: list[Item], block: Block, until: Operand | None = None, loop: Any = None
    ) -> None:
        """Writes a nested block; single-use temporaries of the outer one stay outside."""
        self.around.append(loop)
        self.indent += 4
        around, self.items = self.items, items
        announce, self.announce = self.announce, []
        told = self.told
        outer = self.pending
        self.pending = {n: p for n, p in outer.items() if p.repeatable}
        self.block(block)
        if until is not None:
            self.leave(f"if {wrap(self.text(until), TERNARY)}")
        if not items:
            self.line("pass")
        self.pending = {n: p for n, p in outer.items() if self.left[n] > 0}
        self.told = told
        self.announce = announce
        self.items = around
        self.indent -= 4
        self.around.pop()

    def leave(self, header: str) -> None:
        """Leaves a loop under a condition."""
        self.open(header).body.append(Ours("break", place=source_location(self.origin)))

    # ---- statements

    def stmt(self, stmt: Stmt, block: Block) -> None:
        self.mention(stmt.origin)
        if stmt.origin is None:
            self.origin = self.served(stmt, block)
        if isinstance(stmt, Assign):
            self.assign(stmt, block)
        elif isinstance(stmt, Call):
            self.call(stmt)
        elif isinstance(stmt, Draw):
            self.draw(stmt)
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
            module = "np.linalg." if stmt.exception == "LinAlgError" else ""
            self.line(f"raise {module}{stmt.exception}({_fstring(stmt.message, self)})")
        elif isinstance(stmt, Print):
            self.print(stmt)
        else:
            raise AssertionError(f"not in memory form: {stmt}")

    def served(self, stmt: Stmt, block: Block) -> Origin | None:
        """Whose sake a statement is there for that is nobody's own: storage is for what fills it,
        copies and indices are for what follows."""
        if isinstance(stmt, Assign) and stmt.target.name in self.filled:
            return self.filled[stmt.target.name]
        at = next(i for i, s in enumerate(block) if s is stmt)
        return next((s.origin for s in block[at:] if s.origin is not None), None)

    def assign(self, stmt: Assign, block: Block) -> None:
        target, op = stmt.target, stmt.op
        if self.inlined(stmt, block):
            self.delay(stmt)
            pending = self.pending[target.name]
            if len(pending.text[0]) > _INLINE_LIMIT and not self.is_update(pending, stmt, block):
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
            if op.name == "pop" and not self.uses[target.name]:
                text = op_text(op, self.texts(op))[0]
        self.flush([stmt])
        self.line(text)

    def is_update(self, pending: Pending, stmt: Assign, block: Block) -> bool:
        """Whether a long sum is what the next statement makes of an array: `m += …`."""
        at = next(i for i, s in enumerate(block) if s is stmt)
        after = next((s for s in block[at + 1 :] if not isinstance(s, Assign)), None)
        whole = isinstance(after, Store) and not after.path and after.value == stmt.target
        if not whole or not isinstance(after, Store):
            return False
        return not _assignment(after.array.name, pending.text).startswith(f"{after.array.name} =")

    def call(self, stmt: Call) -> None:
        args = ", ".join(wrap(a, TERNARY) for a in self.arguments(stmt.function, stmt.args))
        names = ", ".join(v.name for v in stmt.targets)
        self.flush([stmt])
        text = f"{stmt.function}({args})"
        self.line(f"{names} = {text}" if names else text)

    def draw(self, stmt: Draw) -> None:
        given = (*(() if stmt.rng is None else (stmt.rng,)), *stmt.args)
        args = [wrap(self.text(a), TERNARY) for a in given]
        size = None if stmt.size is None else [wrap(self.text(s), TERNARY) for s in stmt.size]
        text = draw_text(stmt, args, size)
        self.flush([stmt])
        self.line(f"{stmt.targets[0].name} = {text}" if stmt.targets else text)

    def store(self, stmt: Store) -> None:
        self.name_now(stmt.array.name)
        base: Text = (stmt.array.name, ATOM)
        value = self.text(stmt.value)
        args = [base, value, *(self.text(o) for o in stmt.operands)]
        rank = stmt.array.type.ndim if isinstance(stmt.array.type, Array) else 1
        kinds = [kind for kind, _ in stmt.path]
        self.flush([stmt])
        variable = self.outside is not None and stmt.array.name in self.outside.variables
        if variable and stmt.add and "index" in kinds and "array" not in _items(stmt.path):
            # A part of a Variable is read-only.
            target = store_text(base, ("", ATOM), stmt.path, args, False, rank)[: -len(" = ")]
            self.line(f"{target} = {target} + {wrap(value, MUL)}")
            return
        if (
            not stmt.path
            and rank
            and not stmt.add
            and stmt.value.type.dtype == stmt.array.type.dtype
        ):
            line = _assignment(stmt.array.name, value)
            if not line.startswith(f"{stmt.array.name} ="):
                self.line(line)
                return
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

    def branch(self, stmt: If) -> None:
        reads = self.fresh_reads(stmt)
        cond = self.text(stmt.cond)
        header = self.header_as_written(stmt, reads)
        if not stmt.then:
            header = None
        if not stmt.then:
            test = f"not {wrap(cond, NOT)}"
        else:
            test = wrap(cond, TERNARY)
        self.flush([stmt])
        made = self.open(header or f"if {test}")
        self.inner(made.body, stmt.then or stmt.orelse)
        if not stmt.then or not stmt.orelse:
            return
        self.inner(made.orelse, stmt.orelse)
        made.else_place = self.else_place(stmt)
        if isinstance(header, cst.If):
            first = made.orelse[0]
            if isinstance(header.orelse, cst.Else):
                made.user_else = header.orelse
            elif isinstance(first, Branching) and first.header is header.orelse:
                first.may_join = True  # what is above the user's `elif` stays there

    def else_place(self, stmt: If) -> Whence | None:
        """The place of the user's `else`, if there is one."""
        o = stmt.origin
        node = None if self.user is None or o is None else self.user.node(o.stmt)
        number = None
        if self.user is not None and isinstance(node, core.If) and node.orelse:
            end = node.body[-1].end_line
            between = range(end + 1, node.orelse[0].line + 1)
            source = self.user.source
            number = next((n for n in between if source.line(n).lstrip().startswith("else")), None)
        return source_location(o, number)

    def loop(self, stmt: For) -> None:
        reads = self.fresh_reads(stmt)
        bounds = [self.text(o) for o in (stmt.start, stmt.stop, stmt.step)]
        count = None if stmt.count is None else self.text(stmt.count)
        header = None if stmt.reverse or count else self.header_as_written(stmt, reads)
        self.flush([stmt])
        made = self.open(header or f"for {stmt.index.name} in {_range(stmt, bounds, count)}")
        self.inner_loop(made, stmt)

    def inner_loop(self, made: Branching, stmt: For | While) -> None:
        self.inner(made.body, stmt.body, stmt.until, self.key(stmt.origin))

    def repeat(self, stmt: While) -> None:
        self.flush([stmt])
        outer = self.pending
        self.pending = {n: p for n, p in outer.items() if p.repeatable}
        around, self.items = self.items, []
        announce, self.announce = self.announce, []
        reads = self.fresh_reads(stmt)
        self.indent += 4
        self.block(stmt.test)
        cond = self.text(stmt.cond)
        self.indent -= 4
        test, self.items = self.items, around
        self.announce = announce
        header = self.header_as_written(stmt, reads)
        self.pending = {n: p for n, p in outer.items() if self.left[n] > 0}
        if not test:
            made = self.open(header or f"while {wrap(cond, TERNARY)}")
            self.inner_loop(made, stmt)
            return
        made = self.open("while True")
        leave = Branching(f"if not {wrap(cond, NOT)}", place=source_location(stmt.origin))
        leave.body.append(Ours("break", place=source_location(stmt.origin)))
        made.body += [*test, leave]
        if stmt.body or stmt.until is not None:
            self.inner_loop(made, stmt)


def _prepared(block: Block, user: UserText | None) -> Block:
    """Leaves checks that NumPy makes itself to NumPy.  A call that may move and has one
    result is an operation like any other."""
    out: Block = []
    for stmt in block:
        inner = [_prepared(b, user) for b in blocks_of(stmt)]
        if isinstance(stmt, Call) and len(stmt.targets) == 1 and not stmt.keep:
            op = Op("call", stmt.args, {"function": stmt.function})
            stmt = Assign(stmt.targets[0], op, stmt.origin)
        if isinstance(stmt, If) and not any(inner) and (stmt.then or stmt.orelse):
            continue
        if isinstance(stmt, Raise) and block is not None and _is_check(stmt, user):
            continue
        out.append(with_blocks(stmt, inner) if inner else stmt)
    return out


def _announced(origin: Origin) -> list[Span]:
    """The user's statements whose comments stand above statements of that origin."""
    if origin.requested is not None:
        return [origin.requested]
    if origin.sweep:
        return []
    if origin.site is not None:
        return [origin.site.call]
    return [] if origin.frame else [origin.stmt]


def _short_sweeps(function: Function) -> set[Span]:
    """The calls of `tape.gradient` whose sweeps go through few statements of the user's."""
    through: dict[Span, set[Any]] = {}
    for stmt in walk(function.body):
        if stmt.origin is not None and stmt.origin.requested is not None:
            place = stmt.origin.frame, stmt.origin.stmt
            through.setdefault(stmt.origin.requested, set()).add(place)
    return {call for call, places in through.items() if len(places) <= SHORT_SWEEP}


def _is_check(stmt: Raise, user: UserText | None) -> bool:
    """NumPy notices wrong shapes and indices itself, but not a name that is unbound."""
    noticed = ("ValueError", "IndexError", "TypeError", "LinAlgError")
    return stmt.check and stmt.exception in noticed


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


def _bound(block: Block) -> set[str]:
    """The variables that are assigned or written in place."""
    found = {v.name for s in walk(block) for v in targets_of(s)}
    return found | {w for s in walk(block) if (w := written_by(s)) is not None}


def _read(block: Block) -> set[str]:
    return {x.name for s in walk(block) for x in operands_of(s) if isinstance(x, Var)}


def _items(path: tuple[Any, ...]) -> set[str]:
    """The kinds of the items of the indices in a path."""
    return {item[0] for kind, *rest in path if kind == "index" for item in rest[0]}


def _without_brackets(text: str, tree: OutTree) -> str:
    """`a, b` for the tuple `(a, b)` behind `return`."""
    several = isinstance(tree, Tree) and tree.kind == "tuple" and len(tree.children) > 1
    return text[1:-1] if several else text


def _assignment(target: str, value: Text) -> str:
    """`x.n += 1` for `x.n = x.n + 1`."""
    text, precedence = value
    for sign in ("+", "-"):
        rest = text.removeprefix(f"{target} {sign} ")
        whole = not any(op in _outer(rest) for op in _LOOSER)
        if precedence == ADD and rest != text and whole:
            return f"{target} {sign}= {rest}"
    return f"{target} = {text}"


def _fstring(parts: tuple[Any, ...], writer: _Writer) -> str:
    if not parts:
        return ""
    if all(isinstance(p, str) for p in parts):
        return repr("".join(parts))
    quote = "'" if any('"' in p for p in parts if isinstance(p, str)) else '"'
    out = ""
    for p in parts:
        if isinstance(p, str):
            escaped = p.encode("unicode_escape").decode() if not p.isprintable() else p
            escaped = escaped.replace(quote, f"\\{quote}")
            out += escaped.replace("{", "{{").replace("}", "}}")
        else:
            p, spec = p if isinstance(p, tuple) else (p, "")
            out += "{" + wrap(writer.text(p), TERNARY) + (f":{spec}" if spec else "") + "}"
    return f"f{quote}{out}{quote}"
