"""Outlining: loop nests of a large kernel become functions of their own.

Compile time grows faster than linearly with the size of a function: a function twice as large takes
more than twice the time.  So the nests of a large kernel are outlined.  Nests that differ only in
variable names become one function, so compile time grows with the amount of distinct code.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..array_values import Buffer
from ..expressions import cannot_raise
from ..llvm_utils import new_function, struct
from ..statements import ERROR_CODE, MAX_STACK_ELEMENTS, Body
from ..syntax_helpers import walk
from ..type_inference import Types
from ..value_types import Array

# Nests are outlined in kernels with more statements than this;
LARGE = 40
# kernels with more statements than this are compiled for short compile time (`Body.frugal`);
HUGE = 200
# and nests of at most this many statements are outlined.
PIECE = 80


class Plan:
    """The outlining decisions for one function: which of its loops become functions."""

    def __init__(self, function: ast.FunctionDef, known: Types) -> None:
        self.types = known
        self.sizes: dict[ast.stmt, int] = {}
        size = sum(self._size(s) for s in function.body)
        self.large, self.huge = size > LARGE, size > HUGE
        self.mentions = mentions(function) + Counter(a.arg for a in function.args.args)
        self.private, self.given = _private(function, known)
        self.memory = _memory(function, known)
        self.constant = _constant(function, known)
        self.made: dict[Any, Any] = {}
        self.parts: dict[str, Any] = {}  # functions by their LLVM IR (`split_function.py`)
        self.alike: dict[Any, Any] = {}  # outcomes of parts by their keys (`part_dedup.py`)
        self._alone: dict[ast.For, bool] = {}

    def _size(self, s: ast.stmt) -> int:
        size = 1
        for part in (*getattr(s, "body", ()), *getattr(s, "orelse", ())):
            size += self._size(part)
        self.sizes[s] = size
        return size

    def unaliased(self, names: list[str]) -> set[str]:
        """Those of the arrays a nest takes whose memory it reaches by no other name."""
        used = Counter(self.memory[n] for n in names if n in self.memory)
        alone = self.private | self.given
        return {n for n in names if n in alone or used[self.memory.get(n, "")] == 1}

    def stands_alone(self, s: ast.For) -> bool:
        if s not in self._alone:
            self._alone[s] = self.large and self.sizes[s] <= PIECE and self._is_pure(s)
        return self._alone[s]

    def _is_pure(self, s: ast.For) -> bool:
        """True if a nest starts no threads, allocates only small local arrays, and has only errors
        with constant arguments (`fails_simply`)."""
        for node in walk(s):
            if isinstance(node, ast.For) and is_parallel(node):
                return False
            if isinstance(node, ast.Assign):
                (target,) = node.targets
                if isinstance(target, ast.Name):
                    if isinstance(self.types.names[target.id], Array):
                        if not self._is_own(target.id, node.value, s):
                            return False
        return self.fails_simply(s)

    def _is_own(self, name: str, value: ast.expr, s: ast.For) -> bool:
        """True if `value` allocates a small array of constant size that only the nest uses, so that
        it can be on the stack."""
        if name not in self.private or not (isinstance(value, ast.Call) and _is_new(value)):
            return False
        assert isinstance(value.args[0], ast.Tuple)
        count = 1
        for e in value.args[0].elts:
            if not isinstance(e, ast.Constant) or not isinstance(e.value, int):
                return False
            count *= e.value
        if count > MAX_STACK_ELEMENTS:
            return False
        return mentions(s)[name] == self.mentions[name]

    def fails_simply(self, s: ast.stmt) -> bool:
        """True if all errors of a statement have constant arguments and its callees never fail."""
        for node in walk(s):
            if isinstance(node, ast.Raise):
                assert isinstance(node.exc, ast.Call)
                if not all(isinstance(a, ast.Constant) for a in node.exc.args):
                    return False
            elif isinstance(node, ast.expr) and node in self.types.calls:
                if not cannot_raise(self.types.calls[node]):
                    return False
        return True


def is_parallel(s: ast.For) -> bool:
    """True if the iterations of a loop may run in parallel: it is a loop over `rt.prange`."""
    assert isinstance(s.iter, ast.Call)
    return isinstance(s.iter.func, ast.Attribute) and s.iter.func.attr == "prange"


def mentions(node: ast.AST) -> Counter[str]:
    return Counter(n.id for n in walk(node) if isinstance(n, ast.Name))


def _private(function: ast.FunctionDef, known: Types) -> tuple[set[str], set[str]]:
    """The array variables without aliases: those bound to new arrays, and those that are
    parameters. (Arrays that a kernel writes to are disjoint from its other arguments:
    `codegen/overlap_check.py`.)"""
    fresh: set[str] = set()
    shared: set[str] = set()
    for s in walk(function):
        if not isinstance(s, ast.Assign) or isinstance(s.targets[0], ast.Subscript):
            continue
        if isinstance(s.targets[0], ast.Tuple):
            # A function may return what it was given.
            shared |= mentions(s.targets[0]).keys() | mentions(s.value).keys()
            continue
        assert isinstance(s.targets[0], ast.Name)
        name = s.targets[0].id
        if not isinstance(known.names[name], Array):
            continue
        if isinstance(s.value, ast.Call) and _is_new(s.value):
            fresh.add(name)
        else:
            shared.add(name)
            shared |= set(mentions(s.value))
    given = {a.arg for a in function.args.args if isinstance(known.names[a.arg], Array)}
    return fresh - shared - known.slots, given - fresh - shared - known.slots


def _memory(function: ast.FunctionDef, known: Types) -> dict[str, str]:
    """The alias sets of local arrays: each variable mapped to the first name of its memory.  Only
    variables that are bound once, to a new array or to a reshaped variable of this kind, are
    included; memory that is also bound in another way is not."""
    first: dict[str, str] = {}
    shared: set[str] = set(known.slots)
    for s in walk(function):
        if not isinstance(s, ast.Assign) or isinstance(s.targets[0], ast.Subscript):
            continue
        target, value = s.targets[0], s.value
        if not isinstance(target, ast.Name):
            shared |= mentions(target).keys() | mentions(value).keys()
        elif isinstance(known.names[target.id], Array):
            if isinstance(value, ast.Call) and _is_new(value):
                first[target.id] = target.id
            elif (source := _other_sizes(value)) in first:
                first[target.id] = first[source]
            else:
                shared |= {target.id, *mentions(value)}
    mixed = {first[n] for n in shared if n in first}
    return {n: m for n, m in first.items() if m not in mixed and n not in shared}


def _other_sizes(value: ast.expr) -> str:
    """The name `x` of an expression `x.reshape(…)`; empty for other expressions."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "reshape" and isinstance(value.func.value, ast.Name):
            return value.func.value.id
    return ""


def _constant(function: ast.FunctionDef, known: Types) -> set[str]:
    """The array parameters of which a kernel only reads elements and sizes.  Their contents are
    constant during the call: written arrays are disjoint from them (`codegen/overlap_check.py`)."""
    given = {a.arg for a in function.args.args}
    read: Counter[str] = Counter()
    for node in walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            element = not isinstance(known.of.get(node), Array)
            if isinstance(node.value, ast.Name) and element:
                read[node.value.id] += 1
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            read[node.value.id] += node.attr == "shape"
    mentioned = mentions(function)
    return {
        n
        for n in given - known.slots
        if isinstance(known.names[n], Array) and read[n] == mentioned[n]
    }


def _is_new(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "empty"


# ---------------------------------------------------------------- a nest


class Nest(Body):
    """Emitter of an outlined loop.  The function takes the variables that the loop reads, and
    returns an error code and the live-out scalars, of LLVM types `outs`."""

    def __init__(self, caller: Body, builder: Any, outs: list[Any]) -> None:
        super().__init__(caller.context, builder, caller.types, caller.failures)
        self.outs = outs
        self.prefer_compile_time, self.products = caller.prefer_compile_time, caller.products
        self.private, self.constant = caller.private, caller.constant

    def fail(self, code: Any) -> None:
        self.leave(code, [ir.Constant(k, ir.Undefined) for k in self.outs])

    def leave(self, code: Any, values: list[Any]) -> None:
        self.builder.ret(struct(self.builder, [code, *values]))


def call_nest(caller: Body, plan: Plan, s: ast.For) -> None:
    """Emit a call of the outlined function of a loop.  The function is emitted if no equal one
    exists."""
    known = plan.types
    inside = mentions(s)
    bound = bound_in(s)
    order: dict[str, int] = {}
    text = spelling(s, known, order)
    names = list(order)
    # Inside another loop, a scalar may carry its value from the previous iteration.
    kept = known.slots if caller.depth else {n for n in names if plan.mentions[n] > inside[n]}
    outs = [n for n in names if n in bound and n in known.slots and n in kept]
    takes = [n for n in names if n not in bound or n in outs]
    values = [caller.variable(n) for n in takes]
    unaliased = plan.unaliased(takes)
    roles = [
        (
            known.names[n],
            n in known.slots,
            n in bound,
            n in outs,
            n in unaliased,
            n in plan.constant,
        )
        for n in names
    ]
    key = text, tuple(roles)
    function = plan.made.get(key)
    if function is None:
        function = plan.made[key] = write(
            caller, plan, takes, values, outs, lambda nest: nest.loop(s)
        )
    result = caller.builder.call(function, parts_of(values))
    code = caller.builder.extract_value(result, 0)
    if any(isinstance(n, ast.Raise) for n in walk(s)):
        failed = caller.builder.icmp_unsigned("!=", code, ERROR_CODE(0))
        with caller.builder.if_then(failed, likely=False):
            caller.fail(code)
    for position, name in enumerate(outs, 1):
        caller.assign(name, caller.builder.extract_value(result, position))


def parts_of(values: list[Any]) -> list[Any]:
    """The IR values that represent variables in a call."""
    return [p for v in values for p in _parts(v)]


def _parts(value: Any) -> list[Any]:
    """The components of a value without the meminfo: a nest does not count references."""
    return value.parts()[:-1] if isinstance(value, Buffer) else [value]


def write(
    caller: Body,
    plan: Plan,
    takes: list[str],
    values: list[Any],
    outs: list[str],
    inside: Callable[[Nest], None],
) -> Any:
    """Define a function of the variables `takes`, with the types of `values`, whose body `inside`
    emits. It returns an error code and the variables `outs`."""
    known, context = plan.types, caller.context
    module = caller.builder.module
    kinds = [context.value_type(known.names[n]) for n in outs]
    result = ir.LiteralStructType([ERROR_CODE, *kinds])
    arguments = [p.type for p in parts_of(values)]
    name = module.get_unique_name(f"s2s.nest.{len(plan.made)}")
    function = new_function(module, ir.FunctionType(result, arguments), name, "noinline")
    body = Nest(caller, ir.IRBuilder(function.append_basic_block()), kinds)
    given, unaliased = list(function.args), plan.unaliased(takes)
    for variable, value in zip(takes, values):
        count = len(_parts(value))
        parts, given = given[:count], given[count:]
        if isinstance(value, Buffer):
            if variable in unaliased:
                parts[0].add_attribute("noalias")
            body.values[variable] = value.of_parts([*parts, value.memory])
        else:
            body.assign(variable, parts[0])
    inside(body)
    body.leave(ERROR_CODE(0), [body.variable(n) for n in outs])
    return function


def bound_in(s: ast.For) -> set[str]:
    names = set()
    for node in walk(s):
        if isinstance(node, (ast.For, ast.Assign)):
            target = node.target if isinstance(node, ast.For) else node.targets[0]
            if isinstance(target, ast.Name):
                names.add(target.id)
    return names


def spelling(node: Any, known: Types, order: dict[str, int]) -> str:
    """A canonical text of a nest, with an index for each variable.  The indices are added to
    `order`."""
    out: list[str] = []

    def spell(node: Any) -> None:
        if isinstance(node, ast.Name):
            if node.id in known.names:
                out.append(f"${order.setdefault(node.id, len(order))}")
            else:
                out.append(node.id)
        elif isinstance(node, ast.Constant):
            out.append(repr(node.value))
        elif isinstance(node, ast.AST):
            out.append(type(node).__name__ + "(")
            for field in node._fields:
                spell(getattr(node, field, None))
            out.append(")")
        elif isinstance(node, list):
            out.append("[")
            for part in node:
                spell(part)
            out.append("]")
        else:
            out.append(f"{node!r},")

    spell(node)
    return " ".join(out)
