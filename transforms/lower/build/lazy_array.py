"""What an array is while lowering: a `Value`, a function from indices to a scalar expression.

A value that lies in memory says so (`buffer`); every other value is *virtual*: nothing has
been computed, whoever reads it writes its expression into his own loop nest.  An `Emitter`
appends statements and supplies names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ...ir.record import record
from ...ir.symbolic_dims import Dim
from ..loop_ir import nodes as L

RESERVED = {
    "np", "rt", "range", "abs", "print", "True", "False", "None", "and", "or", "not", "if", "else",
    "for", "in", "while", "return", "raise", "def", "pass", "break", "elif", "lambda",
    "ValueError", "IndexError", "TypeError", "ZeroDivisionError", "AssertionError",
    "RuntimeError", "OverflowError", "ArithmeticError", "KeyError", "Exception",
    "NotImplementedError", "StopIteration",
}  # fmt: skip


@record(frozen=True)
class Memory:
    """A buffer read with permuted axes: axis k of the value is axis `axes[k]` of it.
    `contiguous` speaks of the buffer."""

    name: str
    axes: tuple[int, ...]
    contiguous: bool

    @property
    def straight(self) -> bool:
        return self.axes == tuple(range(len(self.axes)))


@record(frozen=True)
class Value:
    """`reads` names the program's variables it depends on; `cost` estimates the work per
    element (0: a mere load).  `add_into` adds the value to a buffer of its shape in a better
    way than element by element."""

    dtype: str
    sizes: tuple[L.Expr, ...]
    dims: tuple[Dim, ...]
    at: Callable[[Emitter, L.Index], L.Expr]
    reads: frozenset[str] = frozenset()
    cost: int = 0
    memory: Memory | None = None
    add_into: Callable[[Value], None] | None = None

    @property
    def ndim(self) -> int:
        return len(self.sizes)

    @property
    def is_buffer(self) -> bool:
        """Lies in memory in C order."""
        return self.memory is not None and self.memory.contiguous and self.memory.straight

    def whole(self) -> L.Part:
        assert self.memory is not None
        return L.Part(self.memory.name)


def buffer_value(
    name: str,
    dtype: str,
    dims: tuple[Dim, ...],
    reads: Iterable[str] = (),
    contiguous: bool = True,
) -> Value:
    """The value that lies in buffer `name`."""
    sizes = tuple(L.lit(d.const) if d.is_const else L.Size(name, k) for k, d in enumerate(dims))

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        return L.Load(name, index, dtype)

    memory = Memory(name, tuple(range(len(dims))), contiguous)
    return Value(dtype, sizes, dims, at, frozenset(reads), 0, memory)


def scalar_value(expr: L.Expr, reads: Iterable[str] = ()) -> Value:
    return Value(expr.dtype, (), (), lambda emitter, index: expr, frozenset(reads), 0)


class Emitter:
    """Appends to `out`.  Loop variables are reused by nests that do not enclose each other."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken) | RESERVED
        self.counts: dict[str, int] = {}
        self.out: list[L.Stmt] = []
        self.loops: list[str] = []
        self.loop_names: list[str] = []
        # Names that are bound once, and what integers made of them are called in open blocks.
        self.fixed: set[str] = set()
        self.called: list[dict[L.Expr, L.Expr]] = [{}]
        # Places that were looked for or tested, for each block that is being written: those where
        # a mask of the IR is true, those that an array of indices means along an axis of a size.
        self.found: list[dict[tuple[str, L.Expr | None], list[Value]]] = [{}]
        self.sized: dict[str, set[int]] = {}
        # The root of every alias: buffers that share memory share a root.
        self.roots: dict[str, str] = {}

    # ---- names

    def new_name(self, hint: str) -> str:
        name = hint
        while name in self.taken:
            self.counts[hint] = self.counts.get(hint, 0) + 1
            name = f"{hint}_{self.counts[hint]}"
        self.taken.add(name)
        return name

    def loop_name(self) -> str:
        depth = len(self.loops)
        if depth == len(self.loop_names):
            self.loop_names.append(self.new_name("ijklmnpq"[depth] if depth < 8 else "i"))
        return self.loop_names[depth]

    def root(self, buffer: str) -> str:
        return self.roots.get(buffer, buffer)

    # ---- statements

    def add(self, stmt: L.Stmt) -> None:
        self.out.append(stmt)

    @contextmanager
    def into(self, block: list[L.Stmt]) -> Iterator[list[L.Stmt]]:
        saved, self.out = self.out, block
        self.called.append({})
        self.found.append({})
        try:
            yield block
        finally:
            self.out = saved
            self.called.pop()
            self.found.pop()

    def let(self, expr: L.Expr, hint: str = "t") -> L.Expr:
        """A name for the expression, unless writing it twice costs nothing."""
        if L.is_simple(expr):
            return expr
        fixed = expr.dtype == "int64" and self._is_fixed(expr)
        known = self.known(expr) if fixed else None
        if known is not None:
            return known
        name = self.new_name(hint)
        self.add(L.Let(name, expr))
        self.fixed.add(name)
        if fixed:
            self.called[-1][expr] = L.Name(name)
        return L.Name(name, expr.dtype)

    def known(self, expr: L.Expr) -> L.Expr | None:
        """What an integer is called already."""
        return next((block[expr] for block in reversed(self.called) if expr in block), None)

    def same_sizes(self, buffer: str, sizes: tuple[L.Expr, ...]) -> None:
        """A buffer's sizes are called as those it is made with, until it is bound again."""
        self.forget_sizes(buffer)
        for axis, size in enumerate(sizes):
            if self._is_fixed(size):
                self.called[-1][L.Size(buffer, axis)] = size
                self.sized.setdefault(buffer, set()).add(axis)

    def forget_sizes(self, buffer: str) -> None:
        for axis in self.sized.pop(buffer, ()):
            for block in self.called:
                block.pop(L.Size(buffer, axis), None)

    def _is_fixed(self, expr: L.Expr) -> bool:
        """Whether it is the same wherever it is computed."""
        for part in L.walk_expr(expr):
            name = part.name if isinstance(part, L.Name) else getattr(part, "buffer", None)
            if isinstance(part, (L.Load, L.Field)) or not (name is None or name in self.fixed):
                return False
        return True

    def variable(self, expr: L.Expr, hint: str) -> L.Name:
        """A new scalar variable that starts as `expr`."""
        name = self.new_name(hint)
        self.add(L.Let(name, expr))
        return L.Name(name, expr.dtype)

    def alloc(self, name: str, dtype: str, sizes: tuple[L.Expr, ...]) -> None:
        self.add(L.Alloc(name, dtype, sizes))

    @contextmanager
    def loop(
        self,
        stop: L.Expr,
        start: L.Expr = L.ZERO,
        step: L.Expr = L.ONE,
    ) -> Iterator[L.Expr]:
        """A loop; its variable.  A loop over a single known index is none."""
        if L.is_lit(stop, 1) and L.is_lit(start, 0) and L.is_lit(step, 1):
            yield L.ZERO
            return
        name = self.loop_name()
        self.loops.append(name)
        loop = L.Loop(name, start, stop, step)
        try:
            with self.into(loop.body):
                yield L.Name(name)
        finally:
            self.loops.pop()
        self.add(loop)

    @contextmanager
    def nest(self, sizes: Iterable[L.Expr]) -> Iterator[L.Index]:
        """Nested loops over all indices of a shape."""
        sizes = tuple(sizes)
        if not sizes:
            yield ()
            return
        with self.loop(sizes[0]) as i, self.nest(sizes[1:]) as rest:
            yield (i, *rest)

    @contextmanager
    def branch(self, cond: L.Expr) -> Iterator[None]:
        branch = L.If(cond, [])
        with self.into(branch.then):
            yield
        self.add(branch)

    def check(self, bad: L.Expr, exception: str, message: str) -> None:
        """Raises if `bad`."""
        if L.is_lit(bad, False):
            return
        with self.branch(bad):
            self.add(L.Fail(exception, message))


def fill(emitter: Emitter, dest: Value, value: Callable[[L.Index], L.Expr]) -> None:
    """dest[i, …] = value(i, …), for all of it."""
    with emitter.nest(dest.sizes) as index:
        put(emitter, dest, index, value(index))


def put(emitter: Emitter, dest: Value, index: L.Index, expr: L.Expr, add: bool = False) -> None:
    place = dest.at(emitter, index)
    assert isinstance(place, L.Load), place
    emitter.add(L.Store(place.buffer, place.index, expr, add))
