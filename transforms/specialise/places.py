"""Where in the source the program is: the active calls, and errors with their place."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeAlias

from ..frontend.pytree import Held, Path, path_text
from ..frontend.source import Source
from ..ir.errors import S2SError, UnsupportedError
from ..ir.nodes import Origin, Scalar, Site, Span, Var
from ..ir.record import field, record, replace
from ..syntax import core
from .session import Part
from .shared import NeedStaticArgument
from .values import Cell, Num, Obj, Value

# Passes recurse along the nesting of a program; Python limits how deep, the caller included.
TOO_DEEP = (
    "expressions, blocks or calls are nested too deeply here to be compiled",
    "split them into several statements, or write a recursion as a loop",
)


@record(eq=False)
class Frame:
    """One active call: where its names come from and what it returns.  `owner` is the
    evaluator that runs it, `identity` tells its function from others, and `runtime_depth`
    is the number of run-time branches and loops around it."""

    source: Source
    function: Any
    path: Path
    node: core.Func
    locals: frozenset[str]
    enclosing: Frame | None
    depth: int
    label: tuple[str, ...]
    owner: Any
    identity: Any
    runtime_depth: int = 0
    calls: tuple[Span, ...] = ()  # where it and those around it were called
    site: Site | None = None  # of a function of the library: where the user's code calls it
    stmt: core.Stmt | None = None  # the one being run
    lifetimes: dict[int, frozenset[str]] = field(default_factory=dict)
    result: Value | None = None
    final: dict[str, Value] | None = None


class NeedUnroll(Exception):
    """A structure depends on a run-time number: the loop around must be unrolled.  `peel`
    says that a first iteration on its own would do, `sequence` which list it is about that might
    be one of the run instead.  `refusal` is for when there is no help."""

    def __init__(self, refusal: S2SError, peel: bool = False, sequence: Cell | None = None) -> None:
        self.refusal, self.peel, self.sequence = refusal, peel, sequence
        super().__init__(refusal.message)


def located(error: Exception, source: Source, span: Span) -> Exception:
    """What Python or NumPy would raise, with the user's line."""
    line = source.line(span.line)
    text = f"{error}\n  {span.file}:{span.line}\n    {line.strip()}"
    # Classes of errors with an `__init__` of their own are made of other things than a text.
    cls = next(c for c in type(error).__mro__ if not isinstance(c.__init__, types.FunctionType))
    found = cls(text) if cls is not KeyError else KeyError(error.args[0])
    found.file, found.line, found.column = span.file, span.line, span.col  # type: ignore[attr-defined]
    found.source_line = line  # type: ignore[attr-defined]
    found.said = str(error)  # type: ignore[attr-defined]
    return found


# the statement being run, and the one being run of the present frame
Position: TypeAlias = "tuple[core.Stmt | None, core.Stmt | None]"


@record(eq=False)
class Places(Part):
    """Where in the source the program is: the active calls, and errors with their place."""

    stack: list[Frame] = field(default_factory=list, init=False)
    # the statement being run
    stmt: core.Stmt | None = field(default=None, init=False)

    @property
    def frame(self) -> Frame:
        return self.stack[-1]

    def frames(self) -> list[Frame]:
        """All active calls, the callers' included."""
        return [*(self.session.outer.places.frames() if self.session.outer else ()), *self.stack]

    def enter(self, frame: Frame) -> core.Stmt | None:
        """Begins a call; returns the statement that makes it, for `leave`."""
        self.stack.append(frame)
        return self.stmt

    def leave(self, stmt: core.Stmt | None) -> None:
        self.stack.pop()
        self.stmt = stmt

    def position(self) -> Position:
        return self.stmt, self.frame.stmt

    def begin(self, stmt: core.Stmt | None) -> None:
        """A statement of the present frame is run; None for what has no statement."""
        self.stmt = self.frame.stmt = stmt

    def resume(self, position: Position) -> None:
        self.stmt, self.frame.stmt = position

    def holders(self) -> Iterable[object]:
        return self.stack

    def env_of(self, frame: Frame) -> dict[str, Value]:
        """A frame's names as they are now, or as they were when it returned."""
        if frame.depth < len(self.stack) and self.stack[frame.depth] is frame:
            return self.state.envs[frame.depth]
        return frame.final or {}

    def fresh_name(self, name: str) -> str:
        """A name no variable of this frame has."""
        while name in self.frame.locals:
            name += "_"
        return name

    def origin(self, node: core.Node | None) -> Origin | None:
        if node is None:
            return self.b.origin
        source = self.frame.source
        span = source.span(node)
        whole = span if self.stmt is None else self._header(source, self.stmt)
        frame = self.frame
        site = frame.site
        if site is None and frame.label:
            site = Site(source, whole, self._outermost(node), frame.node.name)
        return Origin(span, whole, frame.label, calls=frame.calls, site=site)

    def _header(self, source: Source, stmt: core.Stmt) -> Span:
        """The span of a statement; of a compound one that of its header."""
        whole = source.span(stmt)
        header = getattr(stmt, "body", None)
        if isinstance(stmt, (core.If, core.For, core.While)) and header:
            last = stmt.over if isinstance(stmt, core.For) else stmt.test
            end = source.span(last)
            whole = type(whole)(whole.file, whole.line, whole.col, end.end_line, end.end_col)
        return whole

    def _outermost(self, node: core.Node) -> Span:
        """The statement being run in the function that is compiled."""
        first = next(frame for frame in reversed(self.stack) if not frame.label)
        stmt = first.stmt
        return first.source.span(node) if stmt is None else self._header(first.source, stmt)

    def library_site(self, function: object, at: core.Node, owner: Value | None) -> Site | None:
        """Where the user's code calls a function of this package, directly or through others;
        None for a function of the user's.  `owner` is the function's first argument."""
        if not is_own(function):
            return None
        caller = self.frame
        site = caller.site
        if site is None:
            stmt = caller.stmt or self.stmt
            span = caller.source.span(at) if stmt is None else self._header(caller.source, stmt)
            name = caller.node.name if caller.label else ""
            site = Site(caller.source, span, self._outermost(at), name)
        if isinstance(owner, Obj) and is_own(type(owner.value)):
            kind = type(owner.value).__name__
            named = owner.path and not isinstance(owner.path[0][1], Held)
            site = replace(site, owner=f"{path_text(owner.path)}: {kind}" if named else kind)
        return site

    def refusal(
        self, node: core.Node | None, message: str, advice: str = "",
        kind: type[S2SError] = UnsupportedError,
    ) -> S2SError:  # fmt: skip
        source = self.frame.source
        place = node or self.stmt or source.node
        span = source.span(place)
        if _has_body(place):
            line = source.line(span.line)
            span = type(span)(span.file, span.line, span.col, span.line, len(line.rstrip()))
        return kind(message, span=span, source_line=source.line(span.line), advice=advice)

    def refuse(self, node: core.Node | None, message: str, advice: str = "") -> NoReturn:
        raise self.refusal(node, message, advice)

    def need_unroll(
        self,
        node: core.Node | None,
        why: str = "the index of this sequence must be known while compiling",
        advice: str = "use an array, or loop over the sequence itself",
        peel: bool = False,
        sequence: Cell | None = None,
    ) -> NoReturn:
        raise NeedUnroll(self.refusal(node, why, advice), peel, sequence)

    def located(self, error: Exception, node: core.Node) -> Exception:
        """What Python or NumPy would raise, with the user's line."""
        return located(error, self.frame.source, self.frame.source.span(node))

    @contextmanager
    def python_errors(self, node: core.Node) -> Iterator[None]:
        """Around what Python computes while compiling: its errors get the user's line."""
        try:
            yield
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise self.located(error, node) from None

    def demand_static(self, value: Num, node: core.Node, what: str) -> NoReturn:
        """A run-time number where it must be known: bake it in if it is an argument."""
        for param in self.session.params:
            if isinstance(value.operand, Var) and param.name == value.operand.name:
                given = self.session.given or param.path[0][0] == "leaf"
                if (
                    isinstance(param.type, Scalar)
                    and param.type.dtype in ("int64", "bool")
                    and given
                ):
                    raise NeedStaticArgument(param.path)
        return self.need_unroll(
            node, f"{what} must be known while compiling", "pass it through static_argnames"
        )


def is_own(definition: Any) -> bool:
    """Whether a function or class is one of this package."""
    module = str(getattr(definition, "__module__", ""))
    return module.partition(".")[0] == __name__.partition(".")[0]


def _has_body(node: core.Node) -> bool:
    """Whether a message shows only the first line of a node."""
    if isinstance(node, core.Func):
        return not node.is_lambda
    return isinstance(node, (core.Define, core.If, core.For, core.While))
