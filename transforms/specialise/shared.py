"""What the specialisers of one module have in common: its functions, and what they reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..frontend.kernel_interface import Build, ObjectGuard
from ..frontend.pytree import Path
from ..frontend.source import Source
from ..ir.nodes import (
    Function,
)
from ..ir.record import field, record
from ..ir.symbolic_dims import Guard
from ..syntax import core
from ..syntax.traverse import returns_of
from .patterns import Leaf, Packer, Pattern, leaves_of
from .values import (
    Closure,
    Num,
    Value,
)


class NeedStaticArgument(Exception):
    """An argument must be part of the specialisation: start again with it baked in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(path)


class NeedOutline(Exception):
    """A recursion is not to be unrolled: start again with calls of that function."""

    def __init__(self, identity: Any) -> None:
        self.identity = identity
        super().__init__(identity)


class NeedInline(Exception):
    """A function that was to stay a call calls itself: start again with that function inlined."""

    def __init__(self, identity: Any) -> None:
        self.identity = identity
        super().__init__(identity)


@record(frozen=True)
class Callee:
    """A function to be called.  `key` is the object behind it, `identity` its place in the
    source; `enclosing` is the frame whose names it sees, of a nested function."""

    key: Any
    identity: Any
    source: Source
    function: Any
    path: Path
    enclosing: Any

    @property
    def name(self) -> str:
        node = self.source.node
        return "function" if node.is_lambda else node.name


@record(frozen=True)
class Lifted:
    """A number or array reached by a path."""

    path: Path
    value: Any = field(compare=False)

    def fits(self) -> bool:
        return True

    def reach(self, caller: Any) -> list[Value]:
        return [caller.objects.lift(self.value, self.path)]


@record(frozen=True)
class LiftedVariable:
    """The array of a Variable reached by a path.  It is a Variable in the caller, too, so that
    tapes there watch it."""

    path: Path
    variable: Any = field(compare=False)

    def fits(self) -> bool:
        return True

    def reach(self, caller: Any) -> list[Value]:
        return [caller.objects.variable(self.variable, self.path)]


@record(frozen=True)
class Captured:
    """The numbers and arrays behind a name of an enclosing frame (or a default of a nested
    function), `holder`."""

    holder: Any
    name: str
    pattern: Pattern

    def fits(self) -> bool:
        """Whether the name still stands for the same kind of thing."""
        return _packed(self.holder, self.name)[0] == self.pattern

    def reach(self, caller: Any) -> list[Value]:
        owner = owner_of(self.holder)
        value = held(self.holder, self.name)
        if owner is not caller:
            value = caller.captured(self.holder, self.name)
        packer = _capturing(caller, self.name)
        packer.pack(value)
        return [packer.leaves[leaf.index] for leaf in leaves_of(self.pattern)]


@record(frozen=True)
class Outcome:
    """What callers rely on.  `result` is None while no path is known to come out.  `shared`
    has the pairs that may share memory: result leaves by their index, parameters by
    -1 - position.  `needs` are guards on sizes, in terms of the parameters
    (`ir/call_sizes.py`).  `written` are the array arguments that the function writes into, with
    the types of their last versions, which are further results."""

    result: Pattern | None = None
    reached: tuple[Lifted | LiftedVariable | Captured, ...] = ()
    shared: frozenset[tuple[int, int]] = frozenset()
    needs: tuple[Guard, ...] = ()
    written: tuple[Leaf, ...] = ()


@record(eq=False)
class Outlined:
    """One specialised function; while it is being made, `outcome` is assumed."""

    name: str
    args: Pattern
    outcome: Outcome = Outcome()
    function: Function | None = None
    depends: tuple[frozenset[int], ...] | None = None  # as in `Call`
    requested: bool = False  # called while its result was unknown
    # what it and its callees read of objects and containers (`Objects.looked_up`)
    looked_up: dict[tuple[int, str | None], str] = field(default_factory=dict)


@record
class Shared:
    """What the specialisers of one module have in common."""

    main: Any
    recursive: frozenset[Any] = frozenset()
    # the path by which each function was reached first, and its source
    paths: dict[Any, Path] = field(default_factory=dict)
    sources: dict[Any, Source] = field(default_factory=dict)
    desugared: dict[Any, core.Block] = field(default_factory=dict)
    lifetimes: dict[Any, dict[int, frozenset[str]]] = field(default_factory=dict)
    object_guards: list[ObjectGuard] = field(default_factory=list)
    # by callee and pattern of arguments, in the order in which they were begun
    made: list[tuple[Any, Outlined]] = field(default_factory=list)
    running: list[Outlined] = field(default_factory=list)
    assumed: dict[Any, Outcome] = field(default_factory=dict)
    # leaves of the arguments that must be known, by callee and pattern
    static: dict[Any, set[int]] = field(default_factory=dict)
    # the products of functions that derivatives inside the program call
    derived: dict[str, Function] = field(default_factory=dict)
    # sources of tapes' gradients that have none (`tape.Unconnected`), in order
    unconnected: dict[Any, None] = field(default_factory=dict)
    # objects that this pass has completed, so that its outcome is thrown away
    built: set[Any] = field(default_factory=set)
    # all objects that were completed, in this pass and before, and how much was guarded by then
    builds: list[Build] = field(default_factory=list)
    built_after: int = 0
    # whether it rests on the state of an object to which no path leads
    loose: bool = False
    count: int = 0
    # whether calls stay calls where they can (`calls/kept_calls.py`), the functions that call
    # themselves and are inlined nevertheless, and by call: its function, and why it was inlined
    keep: bool = False
    recursive_inline: frozenset[Any] = frozenset()
    decisions: list[tuple[str, str | None]] = field(default_factory=list)
    # why attempts failed, by callee and pattern of its arguments
    unkept: dict[Any, str] = field(default_factory=dict)

    @property
    def replayed(self) -> bool:
        """Whether the program has run already, and only its results are wanted: what it prints
        and sets was printed and set then."""
        return hasattr(self.main, "_s2s_replayed")

    def find(
        self, key: Any, fits: Callable[[Outlined], bool] = lambda outlined: True
    ) -> Outlined | None:
        for other, outlined in self.made:
            if other == key and all(r.fits() for r in outlined.outcome.reached):
                if fits(outlined):
                    return outlined
        return None


def last_return(func: core.Func) -> core.Node:
    """Where a function returns last, in its text; a lambda itself."""
    returns = () if func.is_lambda else returns_of(func.body)
    return max(returns, key=lambda n: n.line, default=func)


def owner_of(holder: Any) -> Any:
    return holder.frame.owner if isinstance(holder, Closure) else holder.owner


def held(holder: Any, name: str) -> Value:
    """What a frame's name, or a nested function's default, stands for."""
    if isinstance(holder, Closure):
        return holder.named_defaults[name]
    return holder.owner.places.env_of(holder)[name]


def _capturing(owner: Any, name: str) -> Packer:
    def refuse(why: str) -> Any:
        text = f"{name}, which a recursive function uses, is {why}"
        return owner.places.refuse(None, text, "pass it as an argument")

    def known(index: int, number: Num) -> bool:
        return number.known is not None and isinstance(number.known[0], int)

    return Packer(owner, known, refuse)


def _packed(holder: Any, name: str) -> tuple[Pattern, Packer]:
    packer = _capturing(owner_of(holder), name)
    return packer.pack(held(holder, name)), packer
