"""What a name stands for while a program is specialised.

Numbers and arrays are IR operands.  Everything else — tuples, dicts, functions, objects —
exists only here and leaves no trace in the IR.  Mutable things live in *cells*: a cell is
the identity of an array, list, dict or instance, and the heap says what it holds now.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias, overload

import numpy as np

from ..frontend.pytree import Path
from ..ir.builder import const
from ..ir.nodes import Operand, Type, Var
from ..ir.record import field, record
from ..syntax import core


class Value:
    """What a name, an element or an attribute stands for: one of the classes below."""

    __slots__ = ()


class Cell:
    """An identity.  `param` is the kernel parameter behind it, if any; `path` its origin.
    `choice` is (condition, ref, ref) for a name that is one of two arrays.  A `tensor` is an
    immutable value of the `tf` namespace; None for what is one on some paths only.  A callee may
    write into an array that is `inout`: its last version is a result of the call."""

    __slots__ = ("choice", "contiguous", "inout", "label", "param", "path", "readonly", "tensor")

    def __init__(self, label: str = "", param: Var | None = None, path: Path = ()) -> None:
        self.label = label
        self.param = param
        self.path = path
        self.readonly = False
        self.contiguous = True
        self.choice: Any = None
        self.tensor: bool | None = False
        self.inout = False


# Functions that give an array of rank 0, not a scalar, for scalars.
RANK_0 = {
    f"numpy.{name}"
    for name in (
        "where", "zeros_like", "ones_like", "full_like", "empty_like", "copy", "squeeze",
        "transpose", "select", "tensordot", "i0", "moveaxis", "swapaxes", "rollaxis",
    )
}  # fmt: skip


@record(frozen=True)
class Num(Value):
    """A scalar.  `known` is its value where the compiler knows it (wrapped in a tuple, so
    that None means unknown).  `arrays` identifies the arrays of rank 0 that NumPy would have in its
    place: an update in place (`+=`) changes every name of such an array."""

    operand: Any  # an Operand of Scalar type
    known: tuple[Any] | None = None
    arrays: frozenset[Any] = frozenset()

    @property
    def type(self) -> Type:
        return self.operand.type


# One step of a view: the attrs-level step of an `update` path with its operands in place
# of positions: ("index", ((kind, operand, …), …)), ("transpose", axes), …
ViewStep = tuple[Any, ...]


@record(frozen=True)
class Ref(Value):
    """An array: a cell, seen through a path of view steps (the whole cell if empty)."""

    cell: Cell
    path: tuple[ViewStep, ...] = ()


@record(frozen=True)
class Rec(Value):
    """A structured array or one of its records: inactive data."""

    operand: Operand


@record(frozen=True)
class RngVal(Value):
    """A random number generator."""

    operand: Operand


@record(frozen=True)
class Items:
    """What a list cell holds when its length is known: the elements."""

    values: tuple[Any, ...]


@record(frozen=True)
class Growing:
    """What a list cell holds when its length is known only at run time; `tensor` as in `Cell`."""

    operand: Any  # an Operand of ListOf type
    example: Any = None
    tensor: bool = False


@record(frozen=True)
class Fields:
    """What a dict or instance cell holds: values by key, in order."""

    keys: tuple[Any, ...]
    values: tuple[Any, ...]


@record(frozen=True)
class TupleVal(Value):
    values: tuple[Any, ...]
    cls: Any = None  # a namedtuple class


@record(frozen=True)
class ListVal(Value):
    cell: Cell


@record(frozen=True)
class DictVal(Value):
    cell: Cell


@record(frozen=True)
class InstanceVal(Value):
    """An instance of a dataclass, or of a class that is made here, as its attributes."""

    cell: Cell
    cls: Any


@record(frozen=True)
class Obj(Value):
    """A Python object: a module, class, function, string, None, or a user's instance.
    `path` says how it was reached, so that what is found inside can be guarded or lifted;
    it is empty for constants."""

    value: Any
    path: Path = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Obj) and (
            self.value is other.value
            or (isinstance(self.value, (str, int)) and self.value == other.value)
            or (isinstance(self.value, float) and repr(self.value) == repr(other.value))
        )

    def __hash__(self) -> int:
        return hash(id(self.value))


@record(frozen=True, eq=False)
class Closure(Value):
    """A lambda or nested function: its node and the frame whose names it sees."""

    node: core.Func
    frame: Any
    defaults: tuple[Any, ...] = ()
    kw_defaults: tuple[tuple[str, Any], ...] = ()

    @property
    def named_defaults(self) -> dict[str, Any]:
        params = self.node.params
        names = [p.name for p in (*params.positional_only, *params.plain)]
        last = names[len(names) - len(self.defaults) :]
        return {**dict(zip(last, self.defaults)), **dict(self.kw_defaults)}


@record(frozen=True)
class Bound(Value):
    """A method of an array, list, dict or object, not yet called."""

    owner: Any
    name: str


@record(frozen=True)
class RangeVal(Value):
    start: Num
    stop: Num
    step: Num
    reverse: bool = False
    parallel: bool = False


@record(frozen=True)
class CheckpointedVal(Value):
    """What a loop runs over whose adjoint sweep computes its iterations again: `amount` states
    may be kept, or as many as fit into `amount` bytes."""

    inner: Any
    amount: Num
    in_bytes: bool


@record(frozen=True)
class EnumerateVal(Value):
    inner: Any
    start: Num


@record(frozen=True)
class ZipVal(Value):
    inners: tuple[Any, ...]


@record(frozen=True)
class ProductVal(Value):
    """Index tuples, the last part running fastest; with the elements of an array there."""

    inners: tuple[Any, ...]
    array: Ref | None = None


@record(frozen=True)
class IterVal(Value):
    """An iterator, which is consumed: its cell holds what it has left.  `cls` is its class."""

    cell: Cell
    cls: type


@record(frozen=True, eq=False)
class GeneratorVal(Value):
    """What a generator expression will compute: `first` is its outermost iterable, the rest is
    evaluated in its frame when it is consumed."""

    node: core.Comp
    frame: Any
    first: Any


@record(frozen=True)
class MapVal(Value):
    """`map(function, *inners)`; with `keeps`, `filter(function, inner)`."""

    function: Any
    inners: tuple[Any, ...]
    keeps: bool = False


@record(frozen=True, eq=False)
class LibraryVal(Value):
    """What a program of the library that stands for an iterator will compute."""

    program: Any
    value: Any
    inners: tuple[Any, ...]
    kwargs: dict[str, Any]


@record(frozen=True)
class RestVal(Value):
    """The elements of a sequence from a position on.  A loop over it keeps the position of the
    iterator `tracked`."""

    inner: Any
    start: Num
    tracked: Cell | None = None


@record(frozen=True)
class KeysVal(Value):
    """What an iterator over a dict, or over a view of one, was made of: it had these keys."""

    inner: Any
    keys: tuple[Any, ...]


@record(frozen=True)
class SnapshotVal(Value):
    """A sequence made of what a cell held, while it still holds that."""

    inner: Any
    cell: Cell
    content: Any


@record(frozen=True)
class ViewVal(Value):
    """`d.keys()`, `d.values()` or `d.items()` of the dict in a cell, as it is when it is read."""

    cell: Cell
    kind: str


@record(frozen=True)
class SliceVal(Value):
    start: Any
    stop: Any
    step: Any


@record(frozen=True)
class Partial(Value):
    function: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()


@record(frozen=True)
class Super(Value):
    """`super()`: an object, seen as an instance of what comes after `cls` in its class."""

    owner: Any
    cls: Any


@record(frozen=True)
class Maybe(Value):
    """A name that is bound on some paths only; `flag` says whether it is."""

    value: Any
    flag: Operand


@record(frozen=True)
class Conflict(Value):
    """A name, or what a container holds, that differs between paths: an error only when read."""

    why: str
    advice: str = "use one name for one kind of thing"

    # The parts of what a container holds.  To read one here raises the error.

    @property
    def keys(self) -> NoReturn:
        raise Disagreement(self.why)

    @property
    def values(self) -> NoReturn:
        raise Disagreement(self.why)

    @property
    def operand(self) -> NoReturn:
        raise Disagreement(self.why)


class Disagreement(Exception):
    """The content of a container was read that differs between paths."""


class Undefined(Value):
    """Never bound."""


UNDEFINED = Undefined()


class Ended(Exception):
    """The path being run always ends in an error from here on."""


# an object of Python: of the user's program, or what is known while compiling
PyObject: TypeAlias = Any
# what a cell holds: the version of an array, or the elements of a container
Content: TypeAlias = "Var | Items | Growing | Fields | Conflict | Value"
# an index, one entry for each axis
IndexItems: TypeAlias = "tuple[tuple[PyObject, ...], ...]"
Args: TypeAlias = Sequence[Value]
Kwargs: TypeAlias = dict[str, Value]


@record(eq=False)
class State:
    """Names of every active frame (innermost last), the heap, the views already read, and
    pairs of cells that may share memory although they are distinct here.  `family` are all
    states of one specialiser."""

    envs: list[dict[str, Value]] = field(default_factory=list)
    heap: dict[Cell, Any] = field(default_factory=dict)
    views: dict[Any, tuple[str, Var]] = field(default_factory=dict)
    pairs: set[frozenset[Cell]] = field(default_factory=set)
    family: weakref.WeakSet[State] = field(default_factory=weakref.WeakSet, repr=False)

    def __post_init__(self) -> None:
        self.family.add(self)

    def entangle(self, new: Cell, old: Cell) -> None:
        """`new` may share memory with `old`, and so with whatever `old` may share it with."""
        partners = [p for pair in self.pairs if old in pair for p in pair]
        for other in (old, *partners):
            if other is not new:
                self.pairs.add(frozenset((new, other)))

    def copy(self) -> State:
        envs = [dict(e) for e in self.envs]
        return State(envs, dict(self.heap), dict(self.views), set(self.pairs), self.family)

    def changed_since(self, before: State) -> bool:
        """Whether a name was bound, or what a cell holds has changed."""
        if any(p != q for p, q in zip(map(_ids, self.envs), map(_ids, before.envs))):
            return True
        return any(self.heap.get(cell) is not content for cell, content in before.heap.items())

    def adopt(self, cell: Cell, content: Any) -> None:
        """What is reached from outside was there from the start, on every path."""
        for state in self.family:
            state.heap.setdefault(cell, content)

    @property
    def env(self) -> dict[str, Value]:
        return self.envs[-1]


def _ids(env: dict[str, Value]) -> dict[str, int]:
    return {name: id(value) for name, value in env.items()}


@overload
def constant(value: bool | int | float | complex) -> Num: ...
@overload
def constant(value: str | bytes | None) -> Obj: ...
@overload
def constant(value: object) -> Num | Obj: ...
def constant(value: Any) -> Num | Obj:
    """A value that belongs to the program text or to a library.  An integer beyond 64 bits is an
    object: it becomes a number where it meets one of a dtype that holds it."""
    if is_huge(value):
        return Obj(value)
    if isinstance(value, (bool, int, float, complex, np.bool_)) or (
        isinstance(value, np.generic) and value.dtype.kind in "fiubc"
    ):
        return Num(const(value), (value,))
    return Obj(value)


def is_huge(value: Any) -> bool:
    """Whether this is an integer that int64 does not hold."""
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def number(value: Value) -> Num:
    """What is known to be a number."""
    assert isinstance(value, Num), value
    return value


def array(value: Value) -> Ref:
    """What is known to be an array."""
    assert isinstance(value, Ref), value
    return value


def kind_text(value: Value) -> str:
    names = {
        Num: "a number", Ref: "an array", TupleVal: "a tuple", ListVal: "a list",
        DictVal: "a dict", Closure: "a function", RangeVal: "a range", Rec: "a record",
        SliceVal: "a slice", Bound: "a method", RngVal: "a random generator",
    }  # fmt: skip
    if isinstance(value, Obj):
        if is_huge(value.value):
            return "an integer that does not fit in 64 bits"
        return f"{type(value.value).__name__} {getattr(value.value, '__name__', value.value)!r}"
    if isinstance(value, (InstanceVal, IterVal)):
        return f"a {value.cls.__name__}"
    if isinstance(value, ViewVal):
        return f"the {value.kind} of a dict"
    return names.get(type(value), "this value")


def class_of(value: Value) -> type:
    """The class that `type(value)` gives in Python."""
    if isinstance(value, Ref):
        return np.ndarray
    if isinstance(value, Num):
        if value.arrays:  # an array of rank 0 in NumPy
            return np.ndarray
        type_ = value.operand.type
        if type_.weak:
            return {"bool": bool, "int64": int, "complex128": complex}.get(type_.dtype, float)
        return np.dtype(type_.dtype).type
    if isinstance(value, (InstanceVal,)):
        return value.cls
    if isinstance(value, IterVal):
        return value.cls
    if isinstance(value, ViewVal):
        return type(getattr({}, value.kind)())
    plain = {TupleVal: tuple, ListVal: list, DictVal: dict, RangeVal: range}
    if isinstance(value, TupleVal) and value.cls is not None:
        return value.cls
    return plain.get(type(value)) or type(getattr(value, "value", None))
