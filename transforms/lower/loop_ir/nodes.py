"""Loop-level IR: scalars, element loads and stores, loops, buffers, a few calls.

    Program  = [Routine]
    Routine  = name, params, body
    Param    = name, dtype, rank, layout            a scalar (rank None), or a buffer of a rank, 0
                                                    included.  layout: "C" (contiguous) or "A" (any)
    Stmt     = Let(name, expr)                      assigns a scalar variable
             | Alloc(name, dtype, sizes)            a new C-contiguous buffer, not initialised
             | View(name, buffer, sizes)            the same contiguous memory, other sizes
             | Rebind(name, other)                  a buffer variable refers to another's buffer
             | Store(buffer, index, expr, add)      buffer[index] = expr, or += expr
             | Loop(var, start, stop, step, body)   var takes the values of Python's range.
                                                    `parallel`: iterations are independent.
                                                    `exits_early`: a Break mostly ends it early.
             | While(body)                          repeats until a Break
             | Break
             | If(cond, then, orelse)
             | Fail(exception, message, site, values)
             | Call(function, args)                 calls a runtime routine for its side effect
             | CallBuffers(names, function, args)   calls a runtime routine that returns buffers
             | CallRoutine(names, function, args)   calls another routine of the program and binds
                                                    its results
             | Print(template, values)              prints; the template is as of str.format
             | Comment(text)
             | Return(results)
    Expr     = Lit(value, dtype)
             | Name(name, dtype)
             | Load(buffer, index, dtype)           one element
             | Size(buffer, axis)                   an int64
             | Bin(op, left, right, dtype)          op is Python's operator
             | Un(op, x, dtype)                     "-", "not", "~"
             | Apply(function, args, dtype)         a scalar function: "np.exp", "rt.natural_power"
             | Cast(x, dtype)
             | Select(cond, x, y, dtype)
             | Field(x, name, dtype)                a field of a record
    Arg      = Expr | Part(buffer, index)           a buffer, or its sub-buffer at a leading
                                                    index, as an argument of a call

All expressions are free of side effects and typed.  Every buffer variable has one dtype and
rank.  There are no array expressions: the same IR must also be suitable for CUDA kernels and
object files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeGuard

from ...ir.nodes import zero_sign
from ...ir.record import field, record, replace


@record(frozen=True)
class Lit:
    value: Any
    dtype: str
    sign: str = field(init=False, repr=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "sign", zero_sign(self.value))


@record(frozen=True)
class Name:
    name: str
    dtype: str = "int64"


@record(frozen=True)
class Load:
    buffer: str
    index: tuple[Expr, ...]
    dtype: str


@record(frozen=True)
class Size:
    buffer: str
    axis: int
    dtype: str = "int64"


@record(frozen=True)
class Bin:
    op: str
    left: Expr
    right: Expr
    dtype: str


@record(frozen=True)
class Un:
    op: str
    x: Expr
    dtype: str


@record(frozen=True)
class Apply:
    function: str
    args: tuple[Expr, ...]
    dtype: str


@record(frozen=True)
class Cast:
    x: Expr
    dtype: str


@record(frozen=True)
class Select:
    cond: Expr
    x: Expr
    y: Expr
    dtype: str


@record(frozen=True)
class Field:
    x: Expr
    name: str
    dtype: str


Expr = Lit | Name | Load | Size | Bin | Un | Apply | Cast | Select | Field
Index = tuple[Expr, ...]


@record(frozen=True)
class Subview:
    buffer: str
    index: tuple[Expr, ...] = ()


# ---------------------------------------------------------------- statements


@record
class Let:
    name: str
    expr: Expr


@record
class Alloc:
    name: str
    dtype: str
    sizes: tuple[Expr, ...]


@record
class View:
    name: str
    buffer: str
    sizes: tuple[Expr, ...]


@record
class Rebind:
    name: str
    other: str


@record
class Store:
    buffer: str
    index: tuple[Expr, ...]
    expr: Expr
    add: bool = False


@record
class Loop:
    var: str
    start: Expr
    stop: Expr
    step: Expr
    body: list[Stmt] = field(default_factory=list["Stmt"])
    parallel: bool = False
    exits_early: bool = False


@record
class While:
    body: list[Stmt]


@record
class Break:
    pass


@record
class If:
    cond: Expr
    then: list[Stmt]
    orelse: list[Stmt] = field(default_factory=list["Stmt"])


@record
class Fail:
    """Raise `exception(message)`, or `Failure(site, *values)` where `site` is given."""

    exception: str
    message: str
    site: int | None = None
    values: tuple[Expr, ...] = ()


@record
class Call:
    function: str
    args: tuple[Expr | Subview, ...]


@record
class CallBuffers:
    names: tuple[str, ...]
    function: str
    args: tuple[Expr | Subview, ...]


@record
class CallRoutine:
    """`owned` are the positions of buffers that the routine may write and return, the others are
    lent to it."""

    names: tuple[str, ...]
    function: str
    args: tuple[Expr | Subview, ...]
    owned: tuple[int, ...] = ()


@record
class Print:
    template: str
    values: tuple[Expr | Subview, ...]


@record
class Comment:
    text: str


@record
class Return:
    results: tuple[Expr | Subview, ...]


Stmt = (
    Let | Alloc | View | Rebind | Store | Loop | While | Break | If | Fail | Call | CallBuffers
    | CallRoutine | Print | Comment | Return
)  # fmt: skip


@record(frozen=True)
class Param:
    name: str
    dtype: str
    rank: int | None = None
    layout: str = "C"

    @property
    def is_buffer(self) -> bool:
        return self.rank is not None


@record
class Routine:
    name: str
    params: list[Param]
    body: list[Stmt]


# ---------------------------------------------------------------- traversal


def operands_of(e: Expr) -> tuple[Expr, ...]:
    """The operands of an expression."""
    find = _OPERANDS.get(type(e))
    return find(e) if find else ()


# Operands by node type.  A table, because the lookup is so frequent that a chain of `isinstance`
# tests would take a good part of the compile time.
_OPERANDS: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Load: lambda e: e.index,
    Bin: lambda e: (e.left, e.right),
    Un: lambda e: (e.x,),
    Cast: lambda e: (e.x,),
    Field: lambda e: (e.x,),
    Apply: lambda e: e.args,
    Select: lambda e: (e.cond, e.x, e.y),
}


# The same operands as keyword arguments for `replace`.
_OPERAND_FIELDS: dict[type, Callable[[tuple[Expr, ...]], dict[str, Any]]] = {
    Load: lambda parts: {"index": parts},
    Bin: lambda parts: {"left": parts[0], "right": parts[1]},
    Un: lambda parts: {"x": parts[0]},
    Cast: lambda parts: {"x": parts[0]},
    Field: lambda parts: {"x": parts[0]},
    Apply: lambda parts: {"args": parts},
    Select: lambda parts: {"cond": parts[0], "x": parts[1], "y": parts[2]},
}


def walk_expr(e: Expr) -> Sequence[Expr]:
    """An expression and all its subexpressions, in pre-order."""
    if type(e) not in _OPERANDS:
        return (e,)
    found: list[Expr] = []
    worklist = [e]
    while worklist:
        e = worklist.pop()
        found.append(e)
        find = _OPERANDS.get(type(e))
        if find:
            worklist.extend(reversed(find(e)))
    return found


def map_expr(e: Expr, f: Callable[[Expr], Expr | None]) -> Expr:
    """`e` with each subexpression for which `f` returns an expression replaced by that expression.

    The traversal is top-down and does not enter a replacement.  If nothing changes, the result is
    `e` itself.
    """
    new = f(e)
    if new is not None:
        return new
    find = _OPERANDS.get(type(e))
    if find is None:
        return e
    parts = find(e)
    changed = tuple([map_expr(part, f) for part in parts])
    for part, other in zip(parts, changed):
        if part is not other:
            break
    else:
        return e
    return replace(e, **_OPERAND_FIELDS[type(e)](changed))


def position_of(block: list[Stmt], stmt: Stmt) -> int:
    """The position of a statement in its block, by identity: another one may compare equal."""
    return next(k for k, s in enumerate(block) if s is stmt)


def blocks_of(stmt: Stmt) -> tuple[list[Stmt], ...]:
    """The blocks nested directly in a statement."""
    find = _BLOCKS.get(type(stmt))
    return find(stmt) if find else ()


_BLOCKS: dict[type, Callable[[Any], tuple[list[Stmt], ...]]] = {
    Loop: lambda stmt: (stmt.body,),
    While: lambda stmt: (stmt.body,),
    If: lambda stmt: (stmt.then, stmt.orelse),
}


def exprs_of(stmt: Stmt) -> tuple[Any, ...]:
    """The expressions and `Subview`s that a statement itself reads, nested blocks excluded."""
    find = _READ.get(type(stmt))
    return find(stmt) if find else ()


_READ: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    Let: lambda s: (s.expr,),
    Alloc: lambda s: s.sizes,
    View: lambda s: s.sizes,
    Store: lambda s: (*s.index, s.expr),
    Loop: lambda s: (s.start, s.stop, s.step),
    If: lambda s: (s.cond,),
    Fail: lambda s: s.values,
    Call: lambda s: s.args,
    CallBuffers: lambda s: s.args,
    CallRoutine: lambda s: s.args,
    Print: lambda s: s.values,
    Return: lambda s: s.results,
}


def subexprs_read(stmt: Stmt) -> Iterator[Expr]:
    """All subexpressions of the expressions that a statement itself reads, `Subview`s excluded."""
    for e in exprs_of(stmt):
        if not isinstance(e, Subview):
            yield from walk_expr(e)


def walk(body: list[Stmt]) -> Iterator[Stmt]:
    """All statements of a block and of its nested blocks, in pre-order."""
    for stmt in body:
        yield stmt
        if type(stmt) in _BLOCKS:
            for block in blocks_of(stmt):
                yield from walk(block)


def map_stmts(body: list[Stmt], f: Callable[[Expr], Expr | None]) -> None:
    """Apply `map_expr` to all expressions in `body`, nested blocks included, in place."""
    for stmt in walk(body):
        map_stmt(stmt, f)


def map_stmt(stmt: Stmt, f: Callable[[Expr], Expr | None]) -> None:
    """Apply `map_expr` to the expressions that a statement itself reads, in place."""

    def new(e: Any) -> Any:
        if isinstance(e, Subview):
            return replace(e, index=tuple(map_expr(i, f) for i in e.index))
        return map_expr(e, f)

    if isinstance(stmt, Let):
        stmt.expr = new(stmt.expr)
    elif isinstance(stmt, (Alloc, View)):
        stmt.sizes = tuple(map(new, stmt.sizes))
    elif isinstance(stmt, Store):
        stmt.index, stmt.expr = tuple(map(new, stmt.index)), new(stmt.expr)
    elif isinstance(stmt, Loop):
        stmt.start, stmt.stop, stmt.step = new(stmt.start), new(stmt.stop), new(stmt.step)
    elif isinstance(stmt, If):
        stmt.cond = new(stmt.cond)
    elif isinstance(stmt, (Fail, Print)):
        stmt.values = tuple(map(new, stmt.values))
    elif isinstance(stmt, (Call, CallBuffers, CallRoutine)):
        stmt.args = tuple(map(new, stmt.args))
    elif isinstance(stmt, Return):
        stmt.results = tuple(map(new, stmt.results))


def perfect_nest(stmt: Stmt) -> tuple[list[Loop], Store] | None:
    """The loops and the store of a perfect loop nest around a single `Store`, or None.

    Each loop must be normalised: start 0, step 1.
    """
    loops: list[Loop] = []
    while isinstance(stmt, Loop):
        inside = [s for s in stmt.body if not isinstance(s, Comment)]
        if len(inside) != 1 or not (is_lit(stmt.start, 0) and is_lit(stmt.step, 1)):
            return None
        loops.append(stmt)
        stmt = inside[0]
    return (loops, stmt) if loops and isinstance(stmt, Store) else None


# ---------------------------------------------------------------- folding constructors

ZERO = Lit(0, "int64")
ONE = Lit(1, "int64")
TRUE = Lit(True, "bool")


def lit(value: Any, dtype: str = "int64") -> Lit:
    return Lit(value, dtype)


def is_lit(e: Any, value: Any) -> bool:
    return isinstance(e, Lit) and e.value == value


def is_simple(e: Expr) -> bool:
    """True if the expression may be duplicated at no cost."""
    return isinstance(e, (Lit, Name, Size))


def wrap_int64(n: int) -> int:
    """`n` wrapped around to the range of int64."""
    return (n + 2**63) % 2**64 - 2**63


def add(a: Expr, b: Expr) -> Expr:
    """a + b of int64, constant-folded where possible."""
    if isinstance(a, Lit) and isinstance(b, Lit):
        return lit(wrap_int64(a.value + b.value))
    if is_lit(a, 0):
        return b
    if isinstance(b, Lit):
        if b.value == 0:
            return a
        if isinstance(a, Bin) and a.op in "+-" and isinstance(a.right, Lit):
            k = a.right.value if a.op == "+" else -a.right.value
            return add(a.left, lit(wrap_int64(k + b.value)))
        if -(2**63) < b.value < 0:
            return Bin("-", a, lit(-b.value), "int64")
    return Bin("+", a, b, "int64")


def sub(a: Expr, b: Expr) -> Expr:
    if isinstance(b, Lit):
        return add(a, lit(wrap_int64(-b.value)))
    if a == b:
        return ZERO
    return Bin("-", a, b, "int64")


def constant_offset(e: Expr, var: str) -> int | None:
    """c, if `e` is var + c with a constant c, otherwise None."""
    if e == Name(var):
        return 0
    if isinstance(e, Bin) and e.op in "+-" and e.left == Name(var):
        if isinstance(e.right, Lit):
            return e.right.value if e.op == "+" else -e.right.value
    return None


def mul(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Lit) and isinstance(b, Lit):
        return lit(wrap_int64(a.value * b.value))
    for x, y in ((a, b), (b, a)):
        if is_lit(x, 0):
            return ZERO
        if is_lit(x, 1):
            return y
        if is_lit(x, -1):
            return Un("-", y, "int64")
    return Bin("*", a, b, "int64")


def product(sizes: tuple[Expr, ...]) -> Expr:
    out: Expr = ONE
    for size in sizes:
        out = mul(out, size)
    return out


def compare(op: str, a: Expr, b: Expr) -> Expr:
    if isinstance(a, Lit) and isinstance(b, Lit):
        x, y = a.value, b.value
        results = {
            "==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y,
        }  # fmt: skip
        return lit(results[op], "bool")
    if a == b and op in ("==", "<=", ">=") and a.dtype == "int64":
        return TRUE
    if a == b and op in ("!=", "<", ">") and a.dtype == "int64":
        return lit(False, "bool")
    return Bin(op, a, b, "bool")


def logical_or(a: Expr, b: Expr) -> Expr:
    if is_lit(a, True) or is_lit(b, True):
        return TRUE
    if isinstance(a, Lit):
        return b
    if isinstance(b, Lit):
        return a
    return Bin("or", a, b, "bool")


def logical_not(cond: Expr) -> Expr:
    # Not the inverse comparison: both are false for a NaN.
    return cond.x if isinstance(cond, Un) and cond.op == "not" else Un("not", cond, "bool")


def logical_and(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Lit):
        return b if a.value else a
    if isinstance(b, Lit):
        return a if b.value else b
    return Bin("and", a, b, "bool")


def select(cond: Expr, x: Expr, y: Expr) -> Expr:
    if isinstance(cond, Lit):
        return x if cond.value else y
    if x == y:
        return x
    return Select(cond, x, y, x.dtype)


def index_range(loop: Loop) -> tuple[Expr, Expr] | None:
    """The half-open range [least, end) of a loop's induction variable, if its step is 1 or -1."""
    if is_lit(loop.step, 1):
        return strip_clamp(loop.start, loop.stop, "<="), loop.stop
    if is_lit(loop.step, -1):
        least = add(loop.stop, ONE)
        return least, strip_clamp(add(loop.start, ONE), least, ">=")
    return None


def strip_clamp(end: Expr, other: Expr, op: str) -> Expr:
    """`x`, if `end` is the clamp `x if x op other else other`; otherwise `end`.

    The start of a loop with step -1 is clamped in this form, so that it does not wrap around where
    the loop has no iterations.  As one end of a range whose other end is `other`, x is equivalent:
    the range is empty in the same cases.
    """
    match end:
        case Select(Bin(sign, x, y), a, b) if sign == op and (a, b) == (x, y) and y == other:
            return x
        case _:
            return end


def is_check(stmt: Stmt) -> TypeGuard[If]:
    """True for a conditional that raises an error if its condition holds and does nothing else."""
    if not isinstance(stmt, If) or stmt.orelse:
        return False
    return bool(stmt.then) and all(isinstance(s, Fail) for s in stmt.then)


def has_break(body: list[Stmt]) -> bool:
    """True if the block contains a `Break` that exits the enclosing loop."""
    return any(
        isinstance(s, Break) or (isinstance(s, If) and any(map(has_break, blocks_of(s))))
        for s in body
    )


def clamp_to_zero(size: Expr) -> Expr:
    """max(size, 0), as the size of a buffer that is allocated whether or not a loop runs.

    For a loop with no iterations, stop - start may be negative.
    """
    return size if isinstance(size, (Size, Lit)) else select(compare(">", size, ZERO), size, ZERO)
