"""Lazy arrays: during lowering, an array is a `Value`, a function from an index to an expression.

A value that lies in memory has a `memory` attribute.  Every other value is *virtual*: nothing has
been computed yet, and each reader emits the value's expression in its own loop nest (producer
fusion).  An `Emitter` appends loop IR statements and creates names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ...ir.record import record
from ...ir.symbolic_dims import Dim
from ..loop_ir import nodes as L

# Names that variables of generated code may not have.
RESERVED = {
    "np", "rt", "range", "abs", "print", "True", "False", "None", "and", "or", "not", "if", "else",
    "for", "in", "while", "return", "raise", "def", "pass", "break", "elif", "lambda",
    "ValueError", "IndexError", "TypeError", "ZeroDivisionError", "AssertionError",
    "RuntimeError", "OverflowError", "ArithmeticError", "KeyError", "Exception",
    "NotImplementedError", "StopIteration",
}  # fmt: skip


@record(frozen=True)
class Memory:
    """A buffer read with permuted axes: axis k of the value is axis `axes[k]` of the buffer.

    `contiguous` tells whether the buffer itself is C-contiguous.
    """

    name: str
    axes: tuple[int, ...]
    contiguous: bool

    @property
    def is_unpermuted(self) -> bool:
        """True if the axes are not permuted."""
        return self.axes == tuple(range(len(self.axes)))


@record(frozen=True)
class Value:
    """An array under construction; `at(emitter, index)` is the expression of one element.

    `sizes` and `dims` are its shape, as expressions and symbolically.  `reads` are the program's
    variables that it depends on.  `cost` estimates the work per element (0: a load).  `memory` is
    the buffer that holds the value, None if it is virtual.  `depth` counts the nested operations of
    an element.  `add_into`, if there is one, adds the
    value to a buffer of its shape more efficiently than element by element.
    """

    dtype: str
    sizes: tuple[L.Expr, ...]
    dims: tuple[Dim, ...]
    at: Callable[[Emitter, L.Index], L.Expr]
    reads: frozenset[str] = frozenset()
    cost: int = 0
    memory: Memory | None = None
    add_into: Callable[[Value], None] | None = None
    depth: int = 0

    @property
    def ndim(self) -> int:
        return len(self.sizes)

    @property
    def is_buffer(self) -> bool:
        """True if the value lies in a C-contiguous buffer with unpermuted axes."""
        return self.memory is not None and self.memory.contiguous and self.memory.is_unpermuted

    def as_argument(self) -> L.Subview:
        """The whole buffer, as an argument of a call."""
        assert self.memory is not None
        return L.Subview(self.memory.name)


def buffer_value(
    name: str,
    dtype: str,
    dims: tuple[Dim, ...],
    reads: Iterable[str] = (),
    contiguous: bool = True,
) -> Value:
    """The value in the buffer `name`."""
    sizes = tuple(L.lit(d.const) if d.is_const else L.Size(name, k) for k, d in enumerate(dims))

    def at(emitter: Emitter, index: L.Index) -> L.Expr:
        return L.Load(name, index, dtype)

    memory = Memory(name, tuple(range(len(dims))), contiguous)
    return Value(dtype, sizes, dims, at, frozenset(reads), 0, memory)


def scalar_value(expr: L.Expr, reads: Iterable[str] = ()) -> Value:
    """A value of rank 0."""
    return Value(expr.dtype, (), (), lambda emitter, index: expr, frozenset(reads), 0)


class Emitter:
    """Appends statements to the block `out` and creates names.

    Loop nests that do not enclose each other share loop variables.
    """

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken) | RESERVED
        self.counts: dict[str, int] = {}
        self.out: list[L.Stmt] = []
        self.loops: list[str] = []
        self.loop_names: list[str] = []
        # Names that are bound once.  For each open block: the names of integer expressions over
        # them, for value numbering.
        self.bound_once: set[str] = set()
        self.value_names: list[dict[L.Expr, L.Expr]] = [{}]
        # For each open block, the index arrays that are available, by IR array and axis size: the
        # indices at which a mask is true (size None), and the wrapped and checked elements of an
        # integer array that indexes an axis of that size.
        self.index_arrays: list[dict[tuple[str, L.Expr | None], list[Value]]] = [{}]
        self.named_axes: dict[str, set[int]] = {}
        # Root buffer of each alias.  Buffers that share memory have the same root.
        self.roots: dict[str, str] = {}

    # ---- names

    def new_name(self, hint: str) -> str:
        """A name that is not in use yet: `hint`, or `hint` with a number."""
        name = hint
        while name in self.taken:
            self.counts[hint] = self.counts.get(hint, 0) + 1
            name = f"{hint}_{self.counts[hint]}"
        self.taken.add(name)
        return name

    def loop_name(self) -> str:
        """The loop variable for the current nesting depth."""
        depth = len(self.loops)
        if depth == len(self.loop_names):
            self.loop_names.append(self.new_name("ijklmnpq"[depth] if depth < 8 else "i"))
        return self.loop_names[depth]

    def root(self, buffer: str) -> str:
        """The buffer that `buffer` is a view of, or itself."""
        return self.roots.get(buffer, buffer)

    # ---- statements

    def add(self, stmt: L.Stmt) -> None:
        self.out.append(stmt)

    @contextmanager
    def into(self, block: list[L.Stmt]) -> Iterator[list[L.Stmt]]:
        """Context in which statements are appended to `block`."""
        saved, self.out = self.out, block
        self.value_names.append({})
        self.index_arrays.append({})
        try:
            yield block
        finally:
            self.out = saved
            self.value_names.pop()
            self.index_arrays.pop()

    def let(self, expr: L.Expr, hint: str = "t") -> L.Expr:
        """The expression bound to a name; itself if it is simple and free to duplicate."""
        if L.is_simple(expr):
            return expr
        fixed = expr.dtype == "int64" and self._is_fixed(expr)
        known = self.name_of(expr) if fixed else None
        if known is not None:
            return known
        name = self.new_name(hint)
        self.add(L.Let(name, expr))
        self.bound_once.add(name)
        if fixed:
            self.value_names[-1][expr] = L.Name(name)
        return L.Name(name, expr.dtype)

    def name_of(self, expr: L.Expr) -> L.Expr | None:
        """The name that holds this integer expression in an open block, else None."""
        return next((block[expr] for block in reversed(self.value_names) if expr in block), None)

    def same_sizes(self, buffer: str, sizes: tuple[L.Expr, ...]) -> None:
        """Record the sizes with which a buffer was allocated, until it is rebound."""
        self.forget_sizes(buffer)
        for axis, size in enumerate(sizes):
            if self._is_fixed(size):
                self.value_names[-1][L.Size(buffer, axis)] = size
                self.named_axes.setdefault(buffer, set()).add(axis)

    def forget_sizes(self, buffer: str) -> None:
        """Discard the recorded sizes of a buffer that is rebound."""
        for axis in self.named_axes.pop(buffer, ()):
            for block in self.value_names:
                block.pop(L.Size(buffer, axis), None)

    def _is_fixed(self, expr: L.Expr) -> bool:
        """True if the expression has the same value wherever it is evaluated.

        It then contains no loads, and only names that are bound once.
        """
        for part in L.walk_expr(expr):
            name = part.name if isinstance(part, L.Name) else getattr(part, "buffer", None)
            if isinstance(part, (L.Load, L.Field)) or not (name is None or name in self.bound_once):
                return False
        return True

    def variable(self, expr: L.Expr, hint: str) -> L.Name:
        """A new scalar variable, initialised to `expr`."""
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
        """Context of a loop body; yields the loop variable.

        No loop is emitted for a range that is statically the single index 0.
        """
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
        """Context of a loop nest over all indices of a shape; yields the index."""
        sizes = tuple(sizes)
        if not sizes:
            yield ()
            return
        with self.loop(sizes[0]) as i, self.nest(sizes[1:]) as rest:
            yield (i, *rest)

    @contextmanager
    def branch(self, cond: L.Expr) -> Iterator[None]:
        """Context of the body of `if cond:`."""
        branch = L.If(cond, [])
        with self.into(branch.then):
            yield
        self.add(branch)

    def check(self, bad: L.Expr, exception: str, message: str) -> None:
        """Emit a check that raises `exception` if `bad` is true."""
        if L.is_lit(bad, False):
            return
        with self.branch(bad):
            self.add(L.Fail(exception, message))


def fill(emitter: Emitter, dest: Value, value: Callable[[L.Index], L.Expr]) -> None:
    """Emit dest[i, …] = value(i, …) for all indices."""
    with emitter.nest(dest.sizes) as index:
        store_element(emitter, dest, index, value(index))


def store_element(
    emitter: Emitter, dest: Value, index: L.Index, expr: L.Expr, add: bool = False
) -> None:
    """Emit dest[index] = expr, or dest[index] += expr, to the element that a read would load."""
    load = dest.at(emitter, index)
    assert isinstance(load, L.Load), load
    emitter.add(L.Store(load.buffer, load.index, expr, add))
