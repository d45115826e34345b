"""The IR builder.  A `Builder` appends statements to a block.  A `Sym` is an operand with
overloaded operators and NumPy functions, so that rules are written as plain NumPy code."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

from . import complex_ops, path_kinds
from .errors import S2STypeError, UnsupportedError
from .nodes import (
    COMPLEX,
    MAX_RANK,
    Array,
    Assign,
    Block,
    Const,
    If,
    Op,
    Operand,
    Origin,
    Raise,
    Record,
    Scalar,
    Slot,
    Stmt,
    Type,
    Var,
    is_complex,
)
from .op_registry import RULES, SURFACES
from .record import replace
from .symbolic_dims import Dim, Facts


class NameSupply:
    """Generates fresh SSA names `h`, `h_1`, `h_2`, …  They are deterministic and never in
    `taken`."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self.kept: set[str] = set()
        self.counts: dict[str, int] = {}
        # The names that the user's function gives to values that other statements compute.
        self.given: dict[str, str] = {}

    def fresh(self, hint: str) -> str:
        name = hint
        while name in self.taken:
            self.counts[hint] = self.counts.get(hint, 0) + 1
            name = f"{hint}_{self.counts[hint]}"
        self.taken.add(name)
        return name

    def snapshot(self) -> tuple[set[str], dict[str, int], dict[str, str]]:
        return set(self.taken), dict(self.counts), dict(self.given)

    def restore(self, snapshot: tuple[set[str], dict[str, int], dict[str, str]]) -> None:
        taken, counts, given = snapshot
        self.taken, self.counts, self.given = set(taken) | self.kept, dict(counts), dict(given)

    def keep(self, name: str) -> None:
        """Reserve a name permanently: it stays taken when a snapshot is restored."""
        self.kept.add(name)


class Builder:
    """Appends statements to `block`.  All builders of one function share names and facts."""

    def __init__(self, names: NameSupply, facts: Facts, block: Block | None = None) -> None:
        self.names = names
        self.facts = facts
        self.block: Block = [] if block is None else block
        self.around: list[Block] = []  # the blocks that enclose `block`, outermost first
        self.origin: Origin | None = None
        self.hint = "t"  # base name of temporaries, usually that of the variable being assigned
        self.definitions: dict[str, Op] = {}
        # By name: the aliasing of results in NumPy ("new", "view", "writeable view"), where the
        # operations imply a different one.
        self.memory: dict[str, str] = {}
        # By name: the least kind of values whose dtype depends on the path (`path_kinds`).
        self.least_kinds: dict[str, str] = {}
        # False for adjoint code: the primal has already checked its shapes.
        self.checks = True

    # ---- values

    def var(self, type_: Type, hint: str = "t", user: str = "") -> Var:
        return Var(self.fresh_name(hint), type_, user)

    def fresh_name(self, hint: str) -> str:
        """A fresh name.  Entries of the same name from an abandoned attempt are dropped."""
        name = self.names.fresh(hint)
        self.definitions.pop(name, None)
        self.memory.pop(name, None)
        self.least_kinds.pop(name, None)
        return name

    def sym(self, value: Any) -> Sym:
        """Convert a number, an operand or a Sym to a Sym of this builder."""
        if isinstance(value, Sym):
            return value if value.b is self else Sym(self, value.operand)
        if isinstance(value, (Var, Const)):
            return Sym(self, value)
        return Sym(self, const(value))

    def new(self, x: Sym) -> Sym:
        """`x`, marked as a new array in NumPy although its operations are views."""
        assert isinstance(x.operand, Var)
        self.memory[x.operand.name] = "new"
        return x

    def view(self, x: Sym, writeable: bool = False) -> Sym:
        """`x`, marked as a view in NumPy: it shares memory with the arguments of its function."""
        assert isinstance(x.operand, Var)
        self.memory[x.operand.name] = "writeable view" if writeable else "view"
        return x

    def emit(self, name: str, /, *args: Any, hint: str = "", user: str = "", **attrs: Any) -> Sym:
        """Append one operation and return its result."""
        operands = tuple(self.sym(a).operand for a in args)
        rule = RULES[name]
        if name not in _RECORD_OPS and any(isinstance(o.type, Record) for o in operands):
            raise UnsupportedError(
                f"{name} of a structured array is not supported", advice="take a field: r['x']"
            )
        if name not in complex_ops.OPERATIONS and any(is_complex(o.type) for o in operands):
            complex_ops.refuse(name)
        type_ = rule.infer(self, tuple(o.type for o in operands), attrs, operands)
        if type_ is None:
            raise AssertionError(f"{name} has no type for {[o.type for o in operands]}")
        if type_.ndim > MAX_RANK:
            span = self.origin.span if self.origin else None
            message = f"an array of {type_.ndim} axes: at most {MAX_RANK} are supported"
            raise UnsupportedError(message, span=span, advice="join axes with reshape")
        target = self.var(type_, hint or self.hint, user)
        type_ = resolve_dims(type_, target.name)
        target = replace(target, type=type_)
        op = Op(name, operands, attrs)
        self.block.append(Assign(target, op, self.origin))
        self.definitions[target.name] = op
        if name == "list_new" or any(
            isinstance(o, Var) and o.name in self.least_kinds for o in operands
        ):
            kinds = [self.least_kind(o) for o in operands]
            self.set_least_kind(target, path_kinds.least_of_result(rule, self, op, type_, kinds))
        return Sym(self, target)

    def least_kind(self, operand: Operand) -> str:
        """The kind of a value, or the least one if it depends on the path."""
        known = self.least_kinds.get(operand.name) if isinstance(operand, Var) else None
        return path_kinds.dtype_kind(operand.type) if known is None else known

    def set_least_kind(self, target: Operand, least: str) -> None:
        if isinstance(target, Var):
            self.least_kinds.pop(target.name, None)
            if least != path_kinds.dtype_kind(target.type):
                self.least_kinds[target.name] = least

    # ---- blocks

    @contextmanager
    def into(self, block: Block) -> Generator[Block]:
        """A context in which the builder appends to another block."""
        saved, self.block = self.block, block
        self.around.append(saved)
        try:
            yield block
        finally:
            self.block = saved
            self.around.pop()

    @contextmanager
    def at(self, origin: Origin | None) -> Generator[None]:
        """A context in which new statements have the given origin."""
        saved, self.origin = self.origin, origin
        try:
            yield
        finally:
            self.origin = saved

    def check(self, ok: Any, exception: str, *message: Any) -> None:
        """Emit a check that raises `exception` at run time unless `ok`."""
        if not self.checks:
            return
        if isinstance(ok, Sym) and isinstance(ok.operand, Const):
            ok = ok.operand.value
        if ok is True or (not isinstance(ok, Sym) and bool(ok)):
            return
        failure = self._failure(exception, message)
        failure.check = True
        if ok is False or not isinstance(ok, Sym):
            self.block.append(failure)
            return
        self.block.append(If(ok.operand, [], [failure], [], self.origin))

    def fail(self, exception: str, *message: Any) -> None:
        """Emit a statement that raises `exception` at run time."""
        self.block.append(self._failure(exception, message))

    def _failure(self, exception: str, message: tuple[Any, ...]) -> Raise:
        failure = Raise(exception, tuple(m.operand if isinstance(m, Sym) else m for m in message))
        failure.origin = self.origin
        return failure

    # ---- dims

    def dim_value(self, dim: Dim, fallback: tuple[Any, int] | None = None) -> Sym | None:
        """An operand that holds a dim's size: a constant if the dim is one, otherwise the size
        of `fallback`, an (array, axis) of that size; None if there is neither."""
        if dim.is_const:
            return self.sym(dim.const)
        if fallback is not None:
            return self.emit("shape", fallback[0], axis=fallback[1])
        return None


def resolve_dims(type_: Type, name: str) -> Type:
    """The type with the dims that inference left open (symbol "?") named after the value."""
    if isinstance(type_, Array) and any("?" in d.symbols for d in type_.shape):
        shape = tuple(d.substitute({"?": Dim.of(f"{name}.{i}")}) for i, d in enumerate(type_.shape))
        return replace(type_, shape=shape)
    if isinstance(type_, Scalar) and type_.dtype == "int64" and type_.value is None:
        return replace(type_, value=Dim.of(name))
    return type_


def slot_for(x: Var, binder: Stmt, names: NameSupply) -> tuple[Slot, Var]:
    """A tape slot for a value, named after the value and its line, and a variable for the
    restored value."""
    line = f"_L{binder.origin.stmt.line}" if binder.origin else "_saved"
    slot = Slot(names.fresh((x.user or x.name).removesuffix(line) + line), x.type)
    return slot, Var(names.fresh(x.user or x.name), x.type, x.user)


OPEN = Dim.of("?")
# The operations that accept structured arrays.
_RECORD_OPS = ("field", "index", "shape", "undef", "copy", "literal")


def const(value: Any) -> Const:
    """A constant operand.  Python numbers are weak; NumPy scalars keep their dtype."""
    if isinstance(value, bool):
        return Const(value, Scalar("bool", weak=True))
    if _is_numpy_scalar(value):
        dtype = value.dtype
        if dtype.itemsize > (16 if dtype.kind == "c" else 8):
            raise UnsupportedError(
                f"np.longdouble ({dtype}) is not supported", advice="use np.float64"
            )
        known = Dim.of(value.item()) if dtype.kind in "iu" else None
        return Const(value.item(), Scalar(dtype.name, value=known))
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise UnsupportedError("this integer does not fit in 64 bits", advice="use a float")
        return Const(value, Scalar("int64", weak=True, value=Dim.of(value)))
    if isinstance(value, float):
        return Const(value, Scalar("float64", weak=True))
    if isinstance(value, complex):
        return Const(value, Scalar("complex128", weak=True))
    raise S2STypeError(f"a number was expected here, not {type(value).__name__}")


if TYPE_CHECKING:
    # The names of dtypes have no type in NumPy's stubs for Python 3.10.

    class _Dtype(Protocol):
        name: str
        kind: str
        itemsize: int

    class _NumpyScalar(Protocol):
        dtype: _Dtype

        def item(self) -> Any: ...


def _is_numpy_scalar(value: Any) -> TypeGuard[_NumpyScalar]:
    return isinstance(value, np.generic)


BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "remainder", "pow": "power", "matmul": "matmul",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift",
}  # fmt: skip
_COMPARE = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "eq": "equal", "ne": "not_equal",
}  # fmt: skip


if TYPE_CHECKING:

    class _Ufunc(Protocol):
        @property
        def __name__(self) -> str: ...

    def _operator(self: Sym, other: Any) -> Any: ...


class Sym:
    """An operand bound to a builder.  Arithmetic and NumPy calls on it emit operations."""

    __slots__ = ("b", "operand")
    __array_priority__ = 1000

    if TYPE_CHECKING:  # defined below, from the tables of operators
        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = _operator
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = _operator
        __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __and__ = __or__ = __xor__ = _operator
        __rand__ = __ror__ = __rxor__ = __lshift__ = __rshift__ = _operator
        __lt__ = __le__ = __gt__ = __ge__ = _operator

        def __eq__(self, other: Any) -> Any: ...
        def __ne__(self, other: Any) -> Any: ...

    def __init__(self, b: Builder, operand: Operand) -> None:
        self.b = b
        self.operand = operand

    type = property(lambda self: self.operand.type)
    dtype = property(lambda self: self.operand.type.dtype)
    ndim = property(lambda self: self.operand.type.ndim)

    @property
    def shape(self) -> tuple[Sym, ...]:
        """The sizes of the axes, as operands."""
        sizes: list[Sym] = []
        for axis, dim in enumerate(self.type.shape):
            size = self.b.dim_value(dim, (self, axis))
            assert size is not None
            sizes.append(size)
        return tuple(sizes)

    def astype(self, dtype: str) -> Sym:
        """The value converted to `dtype`.  A conversion from complex to real takes the real
        part."""
        x = self
        if is_complex(x.type) and dtype not in COMPLEX and dtype != "bool":
            x = x.b.emit("real", x)
        return x if x.dtype == dtype else x.b.emit("cast", x, dtype=dtype)

    def __neg__(self) -> Sym:
        return self.b.emit("negative", self)

    def __pos__(self) -> Sym:
        return self

    def __abs__(self) -> Sym:
        return self.b.emit("absolute", self)

    def __invert__(self) -> Sym:
        # Rules use `~` for the logical negation of conditions; in Python, ~True is -2.
        return self.b.emit("logical_not" if self.dtype == "bool" else "invert", self)

    def __bool__(self) -> bool:
        raise TypeError("the value is known only at run time")

    __hash__ = None  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: _Ufunc, method: str, *inputs: Any, **kwargs: Any) -> Sym:
        if method != "__call__" or kwargs:
            return NotImplemented
        return self.b.emit(ufunc.__name__, *inputs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.where:
            return self.b.emit("where", *args)
        return SURFACES[f"numpy.{func.__name__}"](self.b, *args, **kwargs)


def _binary(name: str) -> tuple[Any, Any]:
    def forward(self: Sym, other: Any) -> Sym:
        return self.b.emit(name, self, other)

    def backward(self: Sym, other: Any) -> Sym:
        return self.b.emit(name, other, self)

    return forward, backward


for _py, _op in BINARY.items():
    _forward, _backward = _binary(_op)
    setattr(Sym, f"__{_py}__", _forward)
    setattr(Sym, f"__r{_py}__", _backward)
for _py, _op in _COMPARE.items():
    setattr(Sym, f"__{_py}__", _binary(_op)[0])


def int_const(n: int) -> Const:
    return const(np.int64(n))


def _may_wrap(low: Operand, high: Operand) -> bool:
    """Whether `high - low` may be less than -2**63, as far as is known of the operands."""
    value = getattr(high.type, "value", None)
    if value is not None and value.is_size:
        return False
    if not isinstance(low, Const):
        return True
    at_least = value.const if value is not None and (value - value.const).is_size else -(2**63)
    return at_least - low.value < -(2**63)


def trip_count(b: Builder, start: Any, stop: Any, step: Any) -> Operand:
    """The trip count: the length of range(start, stop, step)."""
    start, stop, step = (b.sym(x).operand for x in (start, stop, step))
    first, last, stride = (x.value if isinstance(x, Const) else None for x in (start, stop, step))
    if first is not None and last is not None and stride:
        return int_const(len(range(first, last, stride)))
    if first == 0 and stride == 1:
        count = b.sym(stop)
        value = getattr(stop.type, "value", None)
        if value is not None and value.is_size:
            return count.operand
    elif stride in (1, -1):
        low, high = (start, stop) if stride == 1 else (stop, start)
        if _may_wrap(low, high):
            return (b.emit("maximum", high, low) - low).operand
        count = b.sym(high) - low
    elif stride is not None:
        end = b.emit("maximum" if stride > 0 else "minimum", stop, start)
        return (-b.emit("floor_divide", b.sym(start) - end, step)).operand
    else:
        # For an empty range, the difference of the bounds could overflow: clamp `stop` to `start`.
        above, below = (b.emit(name, stop, start) for name in ("maximum", "minimum"))
        end = b.emit("where", b.sym(step) > 0, above, below)
        # Floor division of the negated span rounds down, so the span is rounded up.
        return (-b.emit("floor_divide", b.sym(start) - end, step)).operand
    return b.emit("maximum", count, int_const(0)).operand
