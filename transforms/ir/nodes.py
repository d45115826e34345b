"""The typed intermediate representation (IR) of s2s: types, operands, statements, traversal.

A program is a `Module` of `Function`s.  From `specialise/` up to `bufferize/` it is in
*value form*: SSA, A-normal form, structured control flow, immutable arrays.

    Module    = functions by name, the entry's name
    Function  = name, params, body, results, effects
    Block     = [Stmt]
    Stmt      = Assign(target: Var, op: Op)              a pure operation
              | Call(targets, function, args)            a call of a function of the module
              | Draw(targets, rng, method, args, size)   random draw: runs once, in program order
              | Custom(targets, values, inputs, …)       values with a custom derivative
              | Save(slot, value)                        store a value on the tape for the sweep
              | If(cond, then, orelse, phis)             phis: target = then_value | else_value
              | For(index, start, stop, step, body, carried, ...)
              | While(test, cond, body, carried, ...)
              | Raise(exception, message, values)        ends the call with the user's error
              | Print(parts)                             once per call, never differentiated
    Op        = name, args: (Operand, ...), attrs: static Python data
    Operand   = Var(name, type) | Const(value, type)
    Type      = Scalar(dtype) | Array(dtype, shape, layout) | ListOf(elem) | Rng

In-place writes of the user's program are `update` operations that yield a new version of
the array (`a_1 = update(a, (i,), v)`).  `bufferize/` later assigns versions with disjoint live
ranges to one buffer, so that an update is a store again.  Views are resolved during
specialisation: a write through a view is an `update` of the base with a *path* of steps.

After `bufferize/` the program is in *memory form*: names are variables that may be assigned
many times, phis and carried values have become plain assignments, and `update` operations
have become `Store` statements.  Operands keep the type of their SSA value.  Two operations
exist in memory form only: `alias` (x) makes the target a second name of the same scalar or
array, and `pop` (a stack) removes and yields the last value that `Push` appended.

Every name is unique in its function in value form.  A value is visible in the block that
defines it, after its definition, and in the blocks nested there.  The test block of a
`While` is visible in its body.  Phi targets, loop results and trip counts belong to the
block that holds the statement; loop phis and the loop index belong to the body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from .record import field, record, replace
from .symbolic_dims import Dim

# ---------------------------------------------------------------- types


@record(frozen=True)
class Scalar:
    """A NumPy scalar.  `weak` marks a Python number, which adopts the dtype of the other operand
    (NEP 50).  `value` is the symbolic value of an integer, where it has one.  `mixed` marks a
    value that is a Python number on some paths and a NumPy scalar on others: a small integer,
    or a float64 that represents float32 values and a Python float that float32 cannot hold."""

    dtype: str
    weak: bool = False
    value: Dim | None = field(default=None, compare=False)
    mixed: bool = field(default=False, compare=False)

    @property
    def ndim(self) -> int:
        return 0

    @property
    def shape(self) -> tuple[Dim, ...]:
        return ()


@record(frozen=True)
class Array:
    """An array of any rank, 0 included.  `layout` is "C" (contiguous) or "A" (any)."""

    dtype: str
    shape: tuple[Dim, ...]
    layout: str = "C"

    @property
    def ndim(self) -> int:
        return len(self.shape)


@record(frozen=True)
class ListOf:
    """A list whose length changes at run time; its elements share dtype and rank."""

    elem: Scalar | Array | Pack

    @property
    def dtype(self) -> str:
        return self.elem.dtype

    @property
    def ndim(self) -> int:
        """The rank of the buffer that holds the elements."""
        return self.elem.ndim + 1


@record(frozen=True)
class Record:
    """A structured array (`ndim` > 0) or one of its records.  It carries no derivatives.
    `fields` are pairs of a name and a dtype."""

    fields: tuple[tuple[str, str], ...]
    shape: tuple[Dim, ...]
    layout: str = "A"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> str:
        return "record"


@record(frozen=True)
class Rng:
    """A random number generator (`np.random.Generator`): an object whose state each `Draw`
    changes."""

    @property
    def dtype(self) -> str:
        return "rng"

    @property
    def ndim(self) -> int:
        return 0

    @property
    def shape(self) -> tuple[Dim, ...]:
        return ()


@record(frozen=True)
class Pack:
    """A tuple of values, in readable text only: what `f_fwd` saves for `f_rev`
    (`emit/saved_tuples.py`)."""

    types: tuple[Any, ...] = field(default=(), compare=False)

    @property
    def dtype(self) -> str:
        return "pack"

    @property
    def ndim(self) -> int:
        return 0

    @property
    def shape(self) -> tuple[Dim, ...]:
        return ()


Type = Scalar | Array | ListOf | Record | Rng | Pack

COMPLEX = ("complex128", "complex64")
# The largest rank of an array.  Each axis becomes one level of a loop nest.  Deeper nests take
# minutes to compile and do not occur in practice.
MAX_RANK = 16
# The differentiable dtypes.  A complex number is differentiated as a pair of real ones.
FLOATS = ("float64", "float32", "float16", *COMPLEX)


def is_float(type_: Type) -> bool:
    return type_.dtype in FLOATS


def is_complex(type_: Type) -> bool:
    return type_.dtype in COMPLEX


def real_dtype(dtype: str) -> str:
    """The dtype of the real and imaginary parts of a complex dtype; any other dtype itself."""
    return {"complex128": "float64", "complex64": "float32"}.get(dtype, dtype)


# ---------------------------------------------------------------- origins


@record(frozen=True)
class Span:
    """A range of the user's file.  Lines count from 1 and columns from 0."""

    file: str
    line: int
    col: int
    end_line: int
    end_col: int


@record(frozen=True)
class Site:
    """The innermost statement of the user's that an inlined statement belongs to, and the outermost
    one, `call`.  `source` is the text that `stmt` stands in, `function` the name of its function,
    "" for the one that is compiled, and `owner` the object of the library whose method runs, as
    `net.first: Dense`."""

    source: Any
    stmt: Span
    call: Span
    function: str = ""
    owner: str = ""


@record(frozen=True)
class Origin:
    """The source location of a statement.

    `span` is the expression and `stmt` its whole source statement (of a compound statement the
    header only).  `frame` is the chain of inlined calls, outermost first, each as
    `layers.py:88 Dense.call` (empty for the user's own function); `calls` are the locations of
    these calls.  `sweep` is 0 for the user's own statements and n for those of the n-th adjoint
    sweep.  `tangent` marks statements that compute tangents, `batched` those that a pass such
    as batching has changed."""

    span: Span
    stmt: Span
    frame: tuple[str, ...] = ()
    sweep: int = 0
    tangent: bool = False
    batched: bool = False
    calls: tuple[Span, ...] = field(default=(), compare=False)
    requested: Span | None = field(default=None, compare=False)
    site: Site | None = field(default=None, compare=False)

    @property
    def as_written(self) -> bool:
        """True if the statement is in the user's own function and still does what its source
        text says."""
        return not (self.frame or self.sweep or self.batched)


# ---------------------------------------------------------------- operands


@record(frozen=True)
class Var:
    """A named value.  `user` is its name in the user's program, empty for a temporary."""

    name: str
    type: Type = field(compare=False)
    user: str = field(default="", compare=False)


@record(frozen=True)
class Const:
    """A compile-time constant: a number or a bool.  `sign` makes 0.0 and -0.0 unequal."""

    value: Any
    type: Scalar
    sign: str = field(init=False, repr=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "sign", zero_sign(self.value))


def zero_sign(value: Any) -> str:
    """A key that distinguishes 0.0 from -0.0, which compare equal in Python."""
    return "" if isinstance(value, int) or value != 0 else str(value)


Operand = Var | Const


def symbolic_value(x: Operand) -> Dim | None:
    """The symbolic value of an integer; None if it has none."""
    return x.type.value if isinstance(x.type, Scalar) else None


MessagePart: TypeAlias = "Operand | str | tuple[MessagePart, ...]"


# ---------------------------------------------------------------- statements


@record(frozen=True)
class Op:
    """One operation.  `ir/op_registry.py` holds the `Rule` of each name; `rules/` defines them."""

    name: str
    args: tuple[Operand, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])


@record
class Assign:
    target: Var
    op: Op
    origin: Origin | None = None


@record
class Call:
    """Binds `targets` to the results of another function of the module.  `keep` marks a call with
    side effects (an error or a print): dead code elimination keeps it even if no target is read.
    `depends` has, by result, the positions of the arguments on which its derivatives may depend;
    None if any may on all.  `inout` is set by bufferization: pairs of a target and an argument
    that are one list, which the function changes in place; it writes to no other argument."""

    targets: list[Var]
    function: str
    args: tuple[Operand, ...]
    keep: bool = False
    origin: Origin | None = None
    depends: tuple[frozenset[int], ...] | None = None
    inout: tuple[tuple[int, int], ...] = ()


@record
class Draw:
    """A random draw: the result of `method` of the generator `rng`, or of NumPy's legacy
    generator if `rng` is None.  It is a scalar, or an array of `size` if that is given.

    A draw has a side effect: it changes the state on which later draws depend.  It runs exactly
    once, in program order, even if its target is not read.  The two methods "default_rng" and
    "seed" create and seed a generator."""

    targets: list[Var]
    rng: Operand | None
    method: str
    args: tuple[Operand, ...]
    size: tuple[Operand, ...] | None = None
    origin: Origin | None = None


@record
class Custom:
    """Binds `targets` to `values` with a custom derivative (as `jax.custom_vjp`).

    The derivative with respect to `inputs` is the one given here, regardless of how the values
    are computed.  `pullback` is a function of `captured` and of one adjoint per target; it
    yields one adjoint per input.  After the last differentiation, `erase_custom_derivatives` in
    `autodiff/custom_derivative.py` replaces the statement with its values."""

    targets: list[Var]
    values: tuple[Operand, ...]
    inputs: tuple[Operand, ...]
    captured: tuple[Operand, ...]
    pullback: Function
    origin: Origin | None = None


@record(frozen=True)
class Slot:
    """A tape slot: one saved value per iteration of the loop nest that holds its `Save`.  The
    `restore` of a slot runs in the mirror of that loop nest, so each instance of the `Save`
    matches one instance of the `restore`."""

    name: str
    type: Type = field(compare=False)


@record
class Save:
    slot: Slot
    value: Operand
    origin: Origin | None = None


@record
class Phi:
    target: Var
    then_value: Operand
    else_value: Operand


@record
class If:
    cond: Operand
    then: Block
    orelse: Block
    phis: list[Phi] = field(default_factory=list[Phi])
    origin: Origin | None = None


@record
class Carried:
    """A loop-carried value.  In the body `phi` is `init` in the first iteration and the `next`
    of the previous iteration afterwards.  After the loop `result` is the last `next`, or `init`
    if no iteration ran."""

    phi: Var
    init: Operand
    next: Operand
    result: Var


@record(frozen=True)
class Budget:
    """The checkpoint budget of a loop whose iterations the adjoint sweep recomputes: at most
    `amount` snapshots of the state, or as many as fit into `amount` bytes."""

    amount: Operand
    in_bytes: bool = False


@record
class For:
    """A counted loop.

    `index` takes start, start + step, … (`count` values where given, else up to `stop`), in
    the opposite order if `reverse`.  The loop exits after an iteration in which `until` is
    true.  `trips` is the number of iterations that ran.  `label` names the loop; `mirror` is
    the label of the forward loop that this loop runs backwards.  A loop with a `budget`, which
    has no `until`, is differentiated by `autodiff/revolve.py`."""

    index: Var
    start: Operand
    stop: Operand
    step: Operand
    body: Block
    carried: list[Carried] = field(default_factory=list[Carried])
    until: Operand | None = None
    count: Operand | None = None
    reverse: bool = False
    trips: Var | None = None
    label: str = ""
    mirror: str = ""
    kind: str = "sequential"
    origin: Origin | None = None
    budget: Budget | None = None


@record
class While:
    """Runs `test`, then `body` while `cond` holds.  It exits after an iteration in which `until`
    is true, as `For` does."""

    test: Block
    cond: Operand
    body: Block
    carried: list[Carried] = field(default_factory=list[Carried])
    until: Operand | None = None
    trips: Var | None = None
    label: str = ""
    origin: Origin | None = None


@record
class Raise:
    """Raises `exception`.  `message` is a sequence of strings and operands, as the parts of an
    f-string; a pair is an operand and its format.  `check` marks an error that NumPy or Python
    itself would raise."""

    exception: str
    message: tuple[Any, ...] = ()
    origin: Origin | None = None
    check: bool = False


@record
class Print:
    """A call of print.  `parts` are its arguments: strings and operands; a tuple is an f-string,
    in which a pair is an operand and its format."""

    parts: tuple[Any, ...]
    sep: str = " "
    end: str = "\n"
    origin: Origin | None = None


@record
class Store:
    """Memory form only: stores `value` into `array` in place, at `path` (see `update`).
    `add` accumulates; a repeated index accumulates once per occurrence."""

    array: Var
    value: Operand
    path: tuple[Any, ...]
    operands: tuple[Operand, ...] = ()
    add: bool = False
    origin: Origin | None = None


@record
class Push:
    """Memory form only: appends `value` to a list or stack, which may keep a reference to
    it.  The operation `pop` (args: the stack) removes the last element and yields it."""

    stack: Var
    value: Operand
    origin: Origin | None = None


Stmt = Assign | Call | Draw | Custom | Save | If | For | While | Raise | Print | Store | Push
Block = list[Stmt]


@record
class Function:
    """A function in value form or memory form.

    `effects` are pairs (parameter, value): the contents that the parameter's array must have on
    return.  `source` is the user's text (`Source` in `frontend/source.py`), for the writer and
    for messages.  `notes` are annotations of the passes, by name."""

    name: str
    params: list[Var]
    body: Block
    results: list[Operand]
    effects: list[tuple[Var, Operand]] = field(default_factory=list[tuple[Var, Operand]])
    source: Any = None
    notes: dict[str, Any] = field(default_factory=dict[str, Any])


@record
class Module:
    functions: dict[str, Function]
    entry: str

    @property
    def main(self) -> Function:
        return self.functions[self.entry]

    def with_main(self, function: Function) -> Module:
        functions = {k: v for k, v in self.functions.items() if k != self.entry}
        return Module({function.name: function, **functions}, function.name)

    def map(self, f: Callable[[Function, Any], Function], facts: Any = None) -> Module:
        """The module with `f(function, facts)` applied to every reachable function.  The entry
        gets `facts`; each function that it calls, directly or indirectly, gets its own
        (`notes["facts"]`).  Unreachable functions are dropped."""
        main = f(self.main, facts)
        done = {main.name: main}
        todo = list(calls_in(main.body))
        while todo:
            name = todo.pop(0)
            if name not in done:
                callee = self.functions[name]
                done[name] = f(callee, callee.notes.get("facts"))
                todo += calls_in(done[name].body)
        return Module(done, main.name)


# ---------------------------------------------------------------- traversal


def blocks_of(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks directly nested in a statement."""
    find = _BLOCKS.get(type(stmt))
    return find(stmt) if find else ()


# Dispatch by type: `blocks_of` is the most frequently called function of the compiler.
_BLOCKS: dict[type, Callable[[Any], tuple[Block, ...]]] = {
    If: lambda stmt: (stmt.then, stmt.orelse),
    For: lambda stmt: (stmt.body,),
    While: lambda stmt: (stmt.test, stmt.body),
}


def map_blocks(stmt: Stmt, f: Callable[[Block], Block]) -> Stmt:
    """The statement with `f` applied to each block directly nested in it."""
    if isinstance(stmt, If):
        return replace(stmt, then=f(stmt.then), orelse=f(stmt.orelse))
    if isinstance(stmt, For):
        return replace(stmt, body=f(stmt.body))
    if isinstance(stmt, While):
        return replace(stmt, test=f(stmt.test), body=f(stmt.body))
    return stmt


def walk(block: Block) -> Iterator[Stmt]:
    """All statements, nested ones included, in pre-order."""
    for stmt in block:
        yield stmt
        if type(stmt) in _BLOCKS:
            for inner in blocks_of(stmt):
                yield from walk(inner)


def calls_in(block: Block) -> Iterator[str]:
    """The names of the functions called, in pullbacks, too."""
    for stmt in walk(block):
        if isinstance(stmt, Call):
            yield stmt.function
        elif isinstance(stmt, Custom):
            yield from calls_in(stmt.pullback.body)


def operands_of(stmt: Stmt) -> Iterator[Operand]:
    """The operands that a statement itself reads.  Nested blocks are excluded; the inputs of
    phis and carried values are included."""
    if isinstance(stmt, Assign):
        yield from stmt.op.args
    elif isinstance(stmt, Call):
        yield from stmt.args
    elif isinstance(stmt, Draw):
        if stmt.rng is not None:
            yield stmt.rng
        yield from (*stmt.args, *(stmt.size or ()))
    elif isinstance(stmt, Custom):
        yield from (*stmt.values, *stmt.inputs, *stmt.captured)
    elif isinstance(stmt, Save):
        yield stmt.value
    elif isinstance(stmt, If):
        yield stmt.cond
        for phi in stmt.phis:
            yield phi.then_value
            yield phi.else_value
    elif isinstance(stmt, (For, While)):
        if isinstance(stmt, For):
            yield from (stmt.start, stmt.stop, stmt.step)
            if stmt.count is not None:
                yield stmt.count
            if stmt.budget is not None:
                yield stmt.budget.amount
        else:
            yield stmt.cond
        if stmt.until is not None:
            yield stmt.until
        for c in stmt.carried:
            yield c.init
            yield c.next
    elif isinstance(stmt, Raise):
        yield from _operands_in(stmt.message)
    elif isinstance(stmt, Print):
        yield from _operands_in(stmt.parts)
    elif isinstance(stmt, Store):
        yield stmt.array
        yield stmt.value
        yield from stmt.operands
    else:
        assert isinstance(stmt, Push)
        yield stmt.stack
        yield stmt.value


def _operands_in(parts: tuple[MessagePart, ...]) -> Iterator[Operand]:
    for part in parts:
        if isinstance(part, tuple):
            yield from _operands_in(part)
        elif isinstance(part, (Var, Const)):
            yield part


def targets_of(stmt: Stmt) -> Iterator[Var]:
    """The names a statement binds in its own block."""
    if isinstance(stmt, Assign):
        yield stmt.target
    elif isinstance(stmt, (Call, Draw, Custom)):
        yield from stmt.targets
    elif isinstance(stmt, If):
        for phi in stmt.phis:
            yield phi.target
    elif isinstance(stmt, (For, While)):
        for c in stmt.carried:
            yield c.result
        if stmt.trips is not None:
            yield stmt.trips


def inner_targets_of(stmt: Stmt) -> Iterator[Var]:
    """The names a loop binds in its body: its index and its phis."""
    if isinstance(stmt, For):
        yield stmt.index
    if isinstance(stmt, (For, While)):
        for c in stmt.carried:
            yield c.phi


def substitute(block: Block, f: Callable[[Operand], Operand]) -> Block:
    """A copy of `block` with `f` applied to every operand read (never to a target)."""
    return [_substitute(stmt, f) for stmt in block]


def _substitute(stmt: Stmt, f: Callable[[Operand], Operand]) -> Stmt:
    if isinstance(stmt, Assign):
        op = stmt.op
        new = Op(op.name, tuple([f(a) for a in op.args]), op.attrs)
        return Assign(stmt.target, new, stmt.origin)
    if isinstance(stmt, Call):
        return replace(stmt, targets=list(stmt.targets), args=tuple(f(a) for a in stmt.args))
    if isinstance(stmt, Draw):
        rng = None if stmt.rng is None else f(stmt.rng)
        size = None if stmt.size is None else tuple(f(s) for s in stmt.size)
        args = tuple(f(a) for a in stmt.args)
        return replace(stmt, targets=list(stmt.targets), rng=rng, args=args, size=size)
    if isinstance(stmt, Custom):
        return replace(
            stmt,
            targets=list(stmt.targets),
            values=tuple(f(x) for x in stmt.values),
            inputs=tuple(f(x) for x in stmt.inputs),
            captured=tuple(f(x) for x in stmt.captured),
        )
    if isinstance(stmt, Save):
        return replace(stmt, value=f(stmt.value))
    if isinstance(stmt, If):
        phis = [Phi(p.target, f(p.then_value), f(p.else_value)) for p in stmt.phis]
        then, orelse = substitute(stmt.then, f), substitute(stmt.orelse, f)
        return replace(stmt, cond=f(stmt.cond), then=then, orelse=orelse, phis=phis)
    if isinstance(stmt, (For, While)):
        carried = [Carried(c.phi, f(c.init), f(c.next), c.result) for c in stmt.carried]
        until = None if stmt.until is None else f(stmt.until)
        body = substitute(stmt.body, f)
        if isinstance(stmt, While):
            test = substitute(stmt.test, f)
            return replace(
                stmt, test=test, cond=f(stmt.cond), body=body, carried=carried, until=until
            )
        count = None if stmt.count is None else f(stmt.count)
        return replace(
            stmt,
            start=f(stmt.start),
            stop=f(stmt.stop),
            step=f(stmt.step),
            body=body,
            carried=carried,
            until=until,
            count=count,
            budget=stmt.budget and replace(stmt.budget, amount=f(stmt.budget.amount)),
        )
    if isinstance(stmt, Raise):
        return replace(stmt, message=_substitute_parts(stmt.message, f))
    if isinstance(stmt, Print):
        return replace(stmt, parts=_substitute_parts(stmt.parts, f))
    if isinstance(stmt, Store):
        array = f(stmt.array)
        assert isinstance(array, Var)
        operands = tuple(f(o) for o in stmt.operands)
        return replace(stmt, array=array, value=f(stmt.value), operands=operands)
    assert isinstance(stmt, Push), stmt
    stack = f(stmt.stack)
    assert isinstance(stack, Var)
    return replace(stmt, stack=stack, value=f(stmt.value))


def _substitute_parts(
    parts: tuple[MessagePart, ...], f: Callable[[Operand], Operand]
) -> tuple[MessagePart, ...]:
    return tuple(
        _substitute_parts(p, f)
        if isinstance(p, tuple)
        else f(p)
        if isinstance(p, (Var, Const))
        else p
        for p in parts
    )
