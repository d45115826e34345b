"""The state of lowering one function: reading operands, binding results, materialising arrays.

A handler (`@handles("sum", …)`) lowers one operation of the IR to a `Value`.  `Context.assign`
decides whether the value stays virtual, and is fused into its reader, or is computed into the
target's variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ...ir import nodes
from ...ir.errors import UnsupportedError
from ...ir.quote import file_name
from ...ir.record import field, record, replace
from ...ir.symbolic_dims import Dim, Facts
from ...rules.axes_and_sizes import MAX_ELEMENTS, TOO_LARGE_MESSAGE
from ..loop_ir import nodes as L
from ..loop_ir.conversions import cast
from .lazy_array import Emitter, Value, buffer_value, scalar_value, store_element
from .producer_fusion import Usage, writes
from .symbolic_range import Ranges, RefinedFacts

Handler = Callable[["Context", nodes.Assign], Value]
HANDLERS: dict[str, Handler] = {}

NEGATIVE_SIZE = "negative dimensions are not allowed"

# Maximum number of nested operations of a virtual value: the emission of an element is recursive.
MAX_FUSED_DEPTH = 100

# Maximum cost of a virtual value that may be recomputed by every reader.
MAX_RECOMPUTE_COST = 0
# Maximum cost of a scalar expression that may be inlined into its reader.
MAX_INLINE_COST = 12


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Decorator that registers a handler for the operations `names`."""

    def declare(handler: Handler) -> Handler:
        for name in names:
            assert name not in HANDLERS, name
            HANDLERS[name] = handler
        return handler

    return declare


@record
class Failures:
    """Failure sites: errors whose message contains run-time values.

    A site holds the exception's name and the message's constant parts, with None (or a format
    specification) in place of each run-time value.
    """

    sites: list[tuple[str, tuple[str | None, ...]]] = field(default_factory=list)

    def site(self, exception: str, parts: tuple[str | None, ...]) -> int:
        """Register a failure site; its index."""
        self.sites.append((exception, parts))
        return len(self.sites) - 1


class Context:
    """State of lowering one function.

    `env` holds the virtual values by IR name.  `usage` and `element_reads` are the liveness
    analyses.  `ranges` and `facts` prove sizes and indices at the current statement.  `emitter`
    receives the loop IR.
    """

    def __init__(
        self,
        function: nodes.Function,
        facts: Facts,
        failures: Failures,
        boundscheck: bool = True,
        reserved: frozenset[str] = frozenset(),
    ) -> None:
        self.function = function
        self.reserved = _USED_BY_GENERATED_CODE | reserved
        self.failures = failures
        self.boundscheck = boundscheck
        self.usage = Usage(function)
        self.element_reads = Usage(function, elements=True)
        self.ranges = Ranges(facts)
        self.facts = RefinedFacts(facts, self.ranges)
        self.env: dict[str, Value] = {}
        self.strided = _strided(function)
        self.param_names = {p.name for p in function.params}
        self.names: dict[tuple[str, object], str] = {}
        self.variables: dict[str, str] = {}  # IR variables by their Python names
        self.claimed_names: set[str] = set()
        self.bindings = _bindings(function)
        # IR names are kept.  Names that the lowering creates avoid them.
        self.emitter = Emitter(_names(function) | reserved)
        # Bounds checks available here: (index, size) -> the checked, wrapped index expression.
        self.available_checks: dict[tuple[L.Expr, L.Expr], L.Expr] = {}
        # Reverse loops whose start may be close to the limits of int64: counter -> step of the
        # forward loop.
        self.overflowing_starts: dict[str, int] = {}
        # The shape of each variable at its last read.
        self.shapes: dict[str, tuple[Dim, ...]] = {}
        self.outs: dict[str, str] = {}
        self.stack: L.Expr = L.ZERO  # the stack limit, in functions that contain calls
        self.known_sizes = self._known_sizes()
        self.origin: nodes.Origin | None = None
        self.at: tuple[nodes.Block, int] = (function.body, 0)
        # The file and line that the last comment names.
        self.place: tuple[str, int] | None = None
        # The statements that the comments of the lowered code name.
        self.comment_spans: dict[str, nodes.Span] = {}
        # Called with the code of each statement, to refuse what a target does not support.
        self.check_lowered: Callable[[Context, list[L.Stmt]], None] | None = None

    # ---- names and source locations

    def python_name(self, var: nodes.Var) -> str:
        """The Python variable for an IR variable.

        Versions of the variable with another type get a variable of their own.
        """
        key = (var.name, _signature(var.type))
        if key not in self.names:
            clash = var.name in self.claimed_names or var.name in self.reserved
            self.claimed_names.add(var.name)
            name = var.name.replace(".", "_")
            self.names[key] = self.emitter.new_name(name) if clash or name != var.name else name
            self.variables[self.names[key]] = var.name
            if self.bindings[var.name] <= 1:
                self.emitter.bound_once.add(self.names[key])
        return self.names[key]

    def location_suffix(self, quoted: bool = True) -> str:
        """The source location as a suffix of an error message: " (model.py:12: x[i + 1])"."""
        if self.origin is None:
            return ""
        span = self.origin.span
        text = self._text(span) if quoted else ""
        return f" ({file_name(span.file)}:{span.line}{': ' + text if text else ''})"

    def _text(self, span: nodes.Span) -> str:
        """The first line of the source text of `span`; empty if the source is not available."""
        source = self.function.source
        if source is None or source.file != span.file:
            return ""
        return " ".join(source.text(span).split("\n")[0].split()).rstrip(":")

    def emit_source_comment(self, origin: nodes.Origin | None) -> None:
        """Emit the comment `# L12: s += x[i]` where the source line changes."""
        if origin is None or (origin.stmt.file, origin.stmt.line) == self.place:
            return
        self.place = origin.stmt.file, origin.stmt.line
        text = self._text(origin.stmt)
        prefix = "L" if not origin.frame else f"{file_name(origin.stmt.file)}:"
        line = f"{prefix}{origin.stmt.line}" + (f": {text}" if text else "")
        line = line if len(line) <= 84 else line[:81] + "..."
        self.comment_spans.setdefault(line, origin.stmt)
        self.emitter.add(L.Comment(line))

    def unsupported(self, message: str, advice: str = "") -> UnsupportedError:
        """An UnsupportedError at the current source location, to be raised by the caller."""
        span = self.origin.span if self.origin else None
        return UnsupportedError(message, span=span, advice=advice)

    def fresh_dim(self) -> Dim:
        """A new symbolic size about which nothing is known."""
        return Dim.of("?" + self.emitter.new_name("dim"))

    # ---- reading operands

    def value(self, operand: nodes.Operand) -> Value:
        """The value of an operand.  A scalar is a value of rank 0."""
        if isinstance(operand, nodes.Const):
            dtype = operand.type.dtype
            return scalar_value(L.Lit(operand.value, dtype))
        held = self.env.get(operand.name)
        if held is not None:
            return held
        type_ = operand.type
        name = self.python_name(operand)
        if isinstance(type_, nodes.Scalar):
            return scalar_value(L.Name(name, type_.dtype), {operand.name})
        if isinstance(type_, nodes.Record):
            if not type_.ndim:
                return scalar_value(L.Name(name, "record"), {operand.name})
            return buffer_value(name, "record", type_.shape, {operand.name}, False)
        if isinstance(type_, nodes.Array):
            self.shapes[operand.name] = type_.shape
            contiguous = operand.name not in self.strided
            v = buffer_value(name, type_.dtype, type_.shape, {operand.name}, contiguous)
            return replace(v, sizes=self.sizes(v))
        raise self.unsupported(f"{type(type_).__name__} is no array")

    def sizes(self, v: Value) -> tuple[L.Expr, ...]:
        """The sizes of a buffer in canonical form: a constant, or one name per distinct size."""
        found = []
        for dim, size in zip(v.dims, v.sizes, strict=True):
            dim = self.facts.canonical(dim)
            fixed = L.lit(dim.const) if dim.is_const else self.known_sizes.get(dim)
            found.append(fixed or self.emitter.name_of(size) or size)
        return tuple(found)

    def dims_of_buffer(self, python: str) -> tuple[Dim, ...] | None:
        """The symbolic shape of a variable's contiguous buffer; None if it may be strided."""
        name = self.variables.get(python)
        return None if name is None or name in self.strided else self.shapes.get(name)

    def is_contiguous(self, python: str) -> bool:
        """True if a buffer is C-contiguous."""
        return self.variables.get(python) not in self.strided

    def size_of_buffer(self, python: str, axis: int) -> L.Expr:
        """The size of one axis of a buffer, as a constant or a name if there is one."""
        dims = self.dims_of_buffer(python)
        dim = self.facts.canonical(dims[axis]) if dims else None
        if dim is not None and dim.is_const:
            return L.lit(dim.const)
        size = L.Size(python, axis)
        return self.emitter.name_of(size) or size

    def _known_sizes(self) -> dict[Dim, L.Expr]:
        """Symbolic sizes that are available from parameters throughout the function."""
        bound = {n for s in self.function.body for n, memory in writes(s) if not memory}
        found: dict[Dim, L.Expr] = {}
        for p in self.function.params:
            if p.name in bound:
                continue
            name = self.python_name(p)
            if isinstance(p.type, (nodes.Array, nodes.Record)):
                for k, dim in enumerate(p.type.shape):
                    found.setdefault(self.facts.canonical(dim), L.Size(name, k))
            elif isinstance(p.type, nodes.Scalar) and p.type.value is not None:
                # An array can have this size only if the integer is not negative.
                found.setdefault(self.facts.canonical(p.type.value), L.Name(name))
        return {d: e for d, e in found.items() if not d.is_const}

    def evaluated_value(self, operand: nodes.Operand) -> Value:
        """As `value`, but a scalar is evaluated here, so that a loop reads it as an invariant."""
        v = self.value(operand)
        if v.ndim or v.memory is not None:
            return v
        return scalar_value(self.emitter.let(v.at(self.emitter, ())), v.reads)

    def scalar(self, operand: nodes.Operand) -> L.Expr:
        """The expression of a scalar or 0-d array."""
        v = self.value(operand)
        assert v.ndim == 0, operand
        return v.at(self.emitter, ())

    def integer(self, operand: nodes.Operand) -> L.Expr:
        """An int64 operand as a simple expression (a name or a literal), free to duplicate."""
        return self.emitter.let(cast(self.scalar(operand), "int64"))

    def symbolic_value(self, operand: nodes.Operand) -> Dim | None:
        """The symbolic value of an integer operand; None if there is none."""
        type_ = operand.type
        if isinstance(operand, nodes.Const) and isinstance(operand.value, int):
            return Dim.of(int(operand.value))
        value = type_.value if isinstance(type_, nodes.Scalar) else None
        return None if value is None else self.facts.canonical(value)

    def shape(self, operands: Sequence[nodes.Operand]) -> tuple[L.Expr, ...]:
        """The sizes of a shape that the program gives, with run-time checks where needed.

        No size may be negative, and their product may not overflow: allocation, loops and element
        offsets rely on both.
        """
        sizes = tuple(map(self.integer, operands))
        values = [self.symbolic_value(a) for a in operands]
        ranges = self.ranges
        for size, value in zip(sizes, values, strict=True):
            if not (ranges.exact_if_nonnegative(value) and ranges.nonnegative(value)):
                bad = L.compare("<", size, L.ZERO)
                self.emitter.check(bad, "ValueError", NEGATIVE_SIZE + self.location_suffix())
        if not all(map(ranges.is_far_from_overflow, values)):
            self.check_element_count(sizes)
        return sizes

    def check_element_count(self, sizes: Sequence[L.Expr]) -> None:
        """Emit a check against more elements than an array can have.

        As in NumPy, an empty axis counts as 1 in the product.  Otherwise another axis could have
        any size, and a loop along it would not end in practical time.
        """
        counted = [s for s in sizes if not L.is_lit(s, 1)]
        total, most = counted[0], L.lit(MAX_ELEMENTS)
        if len(counted) > 1:  # in float64, which does not wrap around
            most = cast(most, "float64")
            total = L.Lit(1.0, "float64")
            for size in counted:
                some = L.select(L.compare(">", size, L.ZERO), size, L.ONE)
                total = L.Bin("*", total, cast(some, "float64"), "float64")
        self.emitter.check(
            L.compare(">", total, most), "ValueError", TOO_LARGE_MESSAGE + self.location_suffix()
        )

    # ---- memory

    def materialise(self, v: Value, hint: str = "t") -> Value:
        """`v` in a C-contiguous buffer; `v` itself if it is one."""
        if v.is_buffer:
            return v
        return self.materialised_copy(v, hint)

    def materialised_copy(self, v: Value, hint: str = "t") -> Value:
        """`v` computed into a new buffer."""
        name = self.emitter.new_name(hint)
        out = self.allocate(name, v.dtype, v.sizes, v.dims)
        self.fill(out, v)
        return out

    def materialise_if_costly(self, v: Value, hint: str = "t") -> Value:
        """`v`, materialised if reading an element costs more than a load."""
        return v if v.cost <= MAX_RECOMPUTE_COST else self.materialised_copy(v, hint)

    def allocate(
        self, name: str, dtype: str, sizes: tuple[L.Expr, ...], dims: tuple[Dim, ...]
    ) -> Value:
        """A new C-contiguous buffer, not initialised."""
        sizes = tuple(self.emitter.let(s, "n") for s in sizes)
        self.emitter.alloc(name, dtype, sizes)
        self.emitter.same_sizes(name, sizes)
        out = buffer_value(name, dtype, dims)
        # The given sizes are simpler expressions than those read back from the buffer.
        return replace(out, sizes=sizes)

    def fill(self, dest: Value, v: Value) -> None:
        """Store all elements of `v` to `dest`, converted to its dtype."""
        with self.emitter.nest(dest.sizes) as index:
            store_element(self.emitter, dest, index, cast(v.at(self.emitter, index), dest.dtype))

    def dest(
        self, target: nodes.Var, reads: frozenset[str], sizes: tuple[L.Expr, ...] = ()
    ) -> Value:
        """A new buffer for `target`, or the out-buffer of the result.

        It has the target's own name, unless the operation still reads the variable's old value.
        """
        type_ = target.type
        assert isinstance(type_, nodes.Array), target
        name = self.python_name(target)
        if target.name in self.outs:
            return replace(buffer_value(name, type_.dtype, type_.shape), sizes=sizes)
        if target.name in reads:
            name = self.emitter.new_name(name)
        return self.allocate(name, type_.dtype, sizes, type_.shape)

    # ---- binding results

    def assign(self, block: nodes.Block, position: int, v: Value) -> None:
        """Bind the target of the statement at `position` to `v`, virtual or materialised."""
        stmt = block[position]
        assert isinstance(stmt, nodes.Assign)
        target, name = stmt.target, stmt.target.name
        if isinstance(target.type, nodes.Scalar):
            self._assign_scalar(block, position, v)
            return
        assert isinstance(target.type, nodes.Array), target
        v = replace(v, dims=target.type.shape)
        if self._stays_virtual(block, position, v):
            self.env[name] = v
            return
        self.store_variable(target, v)

    def store_variable(self, target: nodes.Var, v: Value) -> None:
        """Materialise `v` in the variable of `target`."""
        python = self.python_name(target)
        if target.name in v.reads and self._compute_in_place(target, v):
            self.env.pop(target.name, None)
            return
        self.invalidate_variable(python)
        if not _owned(v):
            out = self.dest(target, v.reads, v.sizes)
            self.fill(out, v)
            v = out
        assert v.memory is not None
        if v.memory.name != python:
            self.emitter.add(L.Rebind(python, v.memory.name))
        self.env.pop(target.name, None)

    def _compute_in_place(self, target: nodes.Var, v: Value) -> bool:
        """Compute `x = x * 2` in place; False if that is not legal.

        It is legal if no other variable shares x's buffer and each iteration reads only the
        element that it writes.
        """
        name, type_ = target.name, target.type
        assert isinstance(type_, nodes.Array)
        shape = self.shapes.get(name, ())
        if (
            name in self.param_names
            or name in self.strided
            or len(self.usage.aliases.get(name, {name})) > 1
            or len(shape) != type_.ndim
            or not all(map(self.facts.known_equal, shape, type_.shape))
            or v.dtype != type_.dtype
        ):
            return False
        python = self.python_name(target)
        dest = buffer_value(python, type_.dtype, type_.shape)
        with self.emitter.into([]) as nest, self.emitter.nest(v.sizes) as index:
            e = v.at(self.emitter, index)
            here = dest.at(self.emitter, index)
            if isinstance(e, L.Bin) and e.op == "+" and e.left == here:
                store_element(self.emitter, dest, index, e.right, add=True)
            else:
                store_element(self.emitter, dest, index, e)
        for stmt in L.walk(nest):
            for top in L.exprs_of(stmt):
                for part in L.walk_expr(top):
                    if isinstance(part, L.Load) and self.emitter.root(part.buffer) == python:
                        if (part.buffer, part.index) != (python, index):
                            return False
        self.emitter.out += nest
        return True

    def invalidate_variable(self, python: str) -> None:
        """Invalidate the cached checks and sizes that mention a Python variable."""
        self.emitter.forget_sizes(python)
        for i, n in list(self.available_checks):
            if any(_mentions(e, python) for e in (i, n, self.available_checks[i, n])):
                del self.available_checks[i, n]
        for found in self.emitter.index_arrays:
            for name, size in list(found):
                if size is not None and _mentions(size, python):
                    del found[name, size]

    def invalidate_array(self, name: str) -> None:
        """Invalidate the cached index arrays of an IR array that is rebound or written."""
        group = self.usage.aliases.get(name, {name})
        for found in self.emitter.index_arrays:
            for key in [k for k in found if k[0] in group]:
                del found[key]

    def _stays_virtual(self, block: nodes.Block, position: int, v: Value) -> bool:
        """True if `v` is fused into its readers: it is cheap, or it has a single reader."""
        if _owned(v):
            return False
        uses = self.usage.uses(block, position)
        if uses is None or uses.is_clobbered_by(v.reads) or v.depth > MAX_FUSED_DEPTH:
            return False
        return v.cost <= MAX_RECOMPUTE_COST or (uses.direct == 1 and not uses.nested)

    def _assign_scalar(self, block: nodes.Block, position: int, v: Value) -> None:
        """Bind a scalar: inlined into its only reader, or as a variable."""
        stmt = block[position]
        assert isinstance(stmt, nodes.Assign)
        target = stmt.target
        expr = cast(v.at(self.emitter, ()), target.type.dtype)
        uses = self.usage.uses(block, position)
        inline = (
            uses is not None
            and not uses.is_clobbered_by(v.reads)
            and not uses.nested
            and uses.direct == 1
            and not target.user
            and v.cost <= MAX_INLINE_COST
        )
        if inline or (uses is not None and isinstance(expr, L.Lit)):
            self.env[target.name] = replace(scalar_value(expr, v.reads), cost=v.cost)
            return
        self.set_scalar(target, expr)

    def adds_into(self, stmt: nodes.Assign) -> nodes.Store | None:
        """The only reader of `stmt`, if it is a later `+=` to an array or a region of one."""
        block, position = self.at
        uses = self.usage.uses(block, position)
        if block[position] is not stmt or uses is None or uses.direct != 1 or uses.nested:
            return None
        later = block[uses.last]
        if isinstance(later, nodes.Store) and later.value == stmt.target:
            reads = frozenset().union(*(self.value(a).reads for a in stmt.op.args))
            if later.add and not uses.is_clobbered_by(reads):
                return later
        return None

    def set_scalar(self, target: nodes.Var, expr: L.Expr) -> None:
        """Assign `expr` to the variable of `target`."""
        self.invalidate_variable(self.python_name(target))
        self.emitter.add(L.Let(self.python_name(target), cast(expr, target.type.dtype)))
        self.env.pop(target.name, None)


def shape_of(v: nodes.Operand) -> tuple[Dim, ...]:
    assert not isinstance(v.type, nodes.ListOf), v
    return v.type.shape


def _owned(v: Value) -> bool:
    """True if `v` is a buffer that a variable may refer to without a copy."""
    return v.memory is not None and v.memory.is_unpermuted and not v.reads


def _mentions(e: L.Expr, name: str) -> bool:
    """True if `e` reads the variable or buffer `name`."""
    return any(
        getattr(p, "buffer", None) == name or (isinstance(p, L.Name) and p.name == name)
        for p in L.walk_expr(e)
    )


def _strided(function: nodes.Function) -> set[str]:
    """The variables whose memory layout is not known to be C-contiguous."""
    names = {p.name for p in function.params if getattr(p.type, "layout", "C") != "C"}
    while True:
        more = {
            s.target.name
            for s in nodes.walk(function.body)
            if isinstance(s, nodes.Assign)
            and s.op.name == "alias"
            and any(isinstance(a, nodes.Var) and a.name in names for a in s.op.args)
        }
        if more <= names:
            return names
        names |= more


def _bindings(function: nodes.Function) -> Counter[str]:
    """The number of bindings of each variable, as a parameter or by a statement."""
    found = Counter(p.name for p in function.params)
    for stmt in nodes.walk(function.body):
        found.update(t.name for t in (*nodes.targets_of(stmt), *nodes.inner_targets_of(stmt)))
    return found


# Names that the generated code uses itself.
_USED_BY_GENERATED_CODE = {"np", "rt", "range", "abs", "print", "ValueError", "IndexError"}


def _signature(type_: nodes.Type) -> object:
    """The part of a type that determines the type of a Python variable."""
    if isinstance(type_, nodes.Scalar):
        return type_.dtype
    if isinstance(type_, nodes.Array):
        return (type_.dtype, type_.ndim)
    if isinstance(type_, nodes.ListOf):
        return "list"
    return "record"


def _names(function: nodes.Function) -> set[str]:
    """All names in a function: its variables, its own name and those of its callees."""
    names = {p.name for p in function.params}
    for stmt in nodes.walk(function.body):
        for var in (
            *nodes.targets_of(stmt),
            *nodes.inner_targets_of(stmt),
            *nodes.operands_of(stmt),
        ):
            if isinstance(var, nodes.Var):
                names.add(var.name)
    return names | {function.name, *nodes.calls_in(function.body)}
