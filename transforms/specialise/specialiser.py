"""The specialiser: frames, places, and the function as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ..frontend.check_subset import checked
from ..frontend.derivative_spec import Derived
from ..frontend.desugar.jumps import remove_jumps
from ..frontend.kernel_interface import Build, ObjectGuard, Param
from ..frontend.pytree import Argument, Either, Fixed, Out, OutTree, Path, Spec, Step, Tree
from ..frontend.signature import signature
from ..frontend.source import Source, read
from ..ir.builder import Builder, NameSupply
from ..ir.errors import S2SError, UnsupportedError
from ..ir.fixpoint import IterationLimit
from ..ir.nodes import Function, Module, Operand, Origin, Scalar, Span, Var, walk
from ..ir.quote import file_name
from ..ir.record import field, record
from ..ir.symbolic_dims import Facts
from ..syntax import core
from ..syntax.names import local_names
from .arrays import Arrays
from .attempts import Attempts
from .attributes import Attributes
from .calls import Calls
from .checkpoints import Checkpoints
from .comparisons import Comparisons
from .custom import CustomRules
from .derived import Derivatives
from .effects import Counts, Effects, located
from .expressions import Expressions, NeedUnroll
from .imports import Imports
from .indexing import Indexing
from .instances import Instances
from .iterators import Iterators
from .jacobians import Jacobians
from .joins import Joins
from .lifetimes import lifetimes
from .list_parts import ListParts
from .loop_joins import LoopJoins
from .loops import Loops
from .managers import Managers
from .methods import Methods
from .numpy_calls import NumpyCalls
from .objects import Objects
from .operators import Operators
from .outline import Callee, NeedOutline, NeedStaticArgument, Outlines, Shared, last_return
from .peel import Peel
from .python_calls import PythonCalls
from .random_calls import RandomCalls
from .statements import TOO_DEEP, Statements
from .tape import Tape, Tapes
from .tape_products import TapeProducts
from .values import (
    Cell,
    Conflict,
    DictVal,
    Ended,
    Fields,
    Growing,
    InstanceVal,
    ListVal,
    Num,
    Obj,
    Ref,
    State,
    TupleVal,
    Value,
)
from .vmaps import Vmaps


@record(eq=False)
class Frame:
    """One active call: where its names come from and what it returns.  `owner` is the
    specialiser that runs it, `identity` tells its function from others, and `runtime_depth`
    is the number of run-time branches and loops around it."""

    source: Source
    function: Any
    path: Path
    node: core.Func
    locals: frozenset[str]
    enclosing: Frame | None
    depth: int
    label: tuple[str, ...]
    owner: Specialiser
    identity: Any
    runtime_depth: int = 0
    calls: tuple[Span, ...] = ()  # where it and those around it were called
    stmt: core.Stmt | None = None  # the one being run
    lifetimes: dict[int, frozenset[str]] = field(default_factory=dict)
    result: Value = None
    final: dict[str, Value] | None = None


@record
class Specialised:
    module: Module
    params: list[Param]
    out: OutTree
    facts: Facts
    object_guards: list[ObjectGuard]
    written: list[int]
    files: dict[str, str] = field(default_factory=dict)
    # what is set after the call, and the holders it may concern
    changes: list[tuple[Path, Step, OutTree]] = field(default_factory=list)
    holders: list[Path] = field(default_factory=list)
    builds: list[Build] = field(default_factory=list)
    # the files of all functions that were read, and whether more than paths can tell was used
    inlined: list[str] = field(default_factory=list)
    loose: bool = False


def specialise(
    function: Any,
    args: dict[str, Spec],
    values: dict[str, Any] | None,
    static: frozenset[Path] = frozenset(),
    runtime_ints: frozenset[Path] = frozenset(),
) -> Specialised:
    """One function for one signature.  Raises NeedStaticArgument to be called again."""
    recursive: frozenset[Any] = frozenset()
    sources: dict[Any, Source] = {}
    desugared: dict[Any, core.Block] = {}
    alive: dict[Any, dict[int, frozenset[str]]] = {}
    builds: list[Build] = []
    rounds = IterationLimit("specialise")
    while True:
        rounds.count()
        plain = function.plain if isinstance(function, Derived) else function
        shared = Shared(
            plain, recursive, sources=sources, desugared=desugared, lifetimes=alive, builds=builds
        )
        try:
            done = Specialiser(function, values, static, runtime_ints, shared).run_main(args)
            if not shared.built:
                return done
        except NeedOutline as need:
            recursive |= {need.identity}
        except Counts as counts:
            runtime_ints |= counts.paths
        except Exception:
            if not shared.built:
                raise


class Specialiser(
    Arrays,
    Attempts,
    Joins,
    Peel,
    Objects,
    Imports,
    Managers,
    Indexing,
    Expressions,
    Comparisons,
    Operators,
    Calls,
    Instances,
    NumpyCalls,
    Outlines,
    Statements,
    LoopJoins,
    Loops,
    Iterators,
    ListParts,
    Methods,
    RandomCalls,
    PythonCalls,
    Attributes,
    Derivatives,
    Jacobians,
    Vmaps,
    CustomRules,
    Effects,
    Tapes,
    TapeProducts,
    Checkpoints,
):
    """Specialises one function of a module; `outer` is the specialiser of its caller."""

    def __init__(
        self,
        function: Any,
        values: dict[str, Any] | None,
        static: frozenset[Path],
        runtime_ints: frozenset[Path],
        shared: Shared,
        outer: Specialiser | None = None,
    ) -> None:
        self.shared = shared
        self.outer = outer
        self.function = function
        self.values = values
        self.baked = static
        self.runtime_ints = runtime_ints
        self.given_ints: dict[str, int] = {}
        facts = Facts(None if values is None else {}, ints=self.given_ints)
        self.b = Builder(NameSupply({"np", "math"}), facts)
        self.state = State([])
        self.params: list[Param] = []
        self.object_guards = shared.object_guards
        self.lifted: dict[Path, Value] = {}
        self.containers: list[tuple[Path, Any, Value]] = []
        self.reached: dict[Any, list[Var]] = {}
        self.looked_up: dict[tuple[int, str | None], str] = {}
        self.sources = shared.sources
        self.stack: list[Frame] = []
        self.appended: set[Cell] = set()
        self.run_time_lists: set[Cell] = set()
        self.run_over: list[Cell] = []
        self.voids: set[Cell] = set()
        self.renamed_arrays: set[Cell] = set()
        self.tapes: list[Tape] = []
        self.variables: dict[Cell, Any] = {}
        self.object_cells: dict[int, tuple[Cell, Obj]] = {}
        self.first_contents: dict[Cell, Any] = {}
        self.instances: set[Cell] = set()
        self.branch_names: list[frozenset[str]] = []
        self.peeled: list[Any] = []
        self.runtime_depth = 0
        self.desugared = shared.desugared
        self.lifetimes = shared.lifetimes
        self.aliases: set[str] = set()  # names that are second names for arrays
        self.closing = False
        self.stmt: core.Stmt | None = None
        self.reading: core.Node | None = None

    # ---- the whole function

    def run_main(self, args: dict[str, Spec]) -> Specialised:
        plain = self.shared.main
        if plain not in self.sources:
            self.sources[plain] = read(plain)
        source = self.sources[plain]
        node = checked(source)
        self.state.envs.append({})
        frame = Frame(source, plain, (), node, local_names(node), None, 0, (), self, self.function)
        self.stack.append(frame)
        for name, spec in args.items():
            value = None if self.values is None else self.values[name]
            self.state.env[name] = self.argument(spec, (("arg", name),), value)
        try:
            if isinstance(self.function, Derived):
                result = self._call_with(frame)
            elif self.function in self.shared.recursive:
                callee = Callee(self.function, self.function, source, self.function, (), None)
                result = self.call_outlined(callee, self.state.env, node)
            else:
                result = self._body(frame)
        except Ended:
            result = Num(self.b.emit("undef", type=Scalar("float64")).operand)
        except NeedUnroll as error:
            raise error.refusal from None
        results: list[Operand] = []
        with self.b.at(self.origin(last_return(node))):
            out = self._out_tree(result, results, node)
            changes = [
                (path, step, self._kept_tree(value, results, node))
                for path, step, value in self.changes()
            ]
        if not results and isinstance(result, Obj) and result.value is None:
            assigned = (c for c in self.variables if self.state.heap[c] != c.param)
            if not self.tapes and not any(c.param is not None for c in assigned):
                self._refuse_none(node)
        name = "function" if node.is_lambda else node.name
        if isinstance(self.function, Derived):
            name = self.function.name
        params = [Var(p.name, p.type, p.name) for p in self.params]
        effects = [
            (cell.param, content)
            for cell, content in self.state.heap.items()
            if cell.param is not None and isinstance(content, Var) and content != cell.param
        ]
        main = Function(name, params, self.b.block, results, effects, source)  # type: ignore[arg-type]
        main.notes["aliases"] = frozenset(self.aliases)
        main.notes["facts"] = self.b.facts
        main.notes["unconnected"] = list(self.shared.unconnected)
        sweeps = max((s.origin.sweep for s in walk(main.body) if s.origin), default=0)
        if sweeps:
            main.notes["inner_sweeps"] = sweeps
        if isinstance(self.function, Derived):
            main.notes["title"] = self.function.title
        written = [i for i, p in enumerate(params) if any(e[0] == p for e in effects)]
        return Specialised(
            self.module(main), self.params, out, self.b.facts, self.object_guards, written,
            {file_name(s.file): s.file for s in self.sources.values()}, changes,
            [c.path for c in self.first_contents], self.shared.builds,
            sorted({s.file for s in self.sources.values()}), self.shared.loose,
        )  # fmt: skip

    def _call_with(self, frame: Frame) -> Value:
        """A derived function has no body: it is called with its own parameters."""
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        self.stmt = None
        for p in signature(self.function).parameters.values():
            value = self.state.env[p.name]
            if p.kind is p.VAR_POSITIONAL:
                args += self.static_items(value) or ()
            elif p.kind is p.VAR_KEYWORD:
                content = self.state.heap[value.cell]
                kwargs.update(zip(content.keys, content.values))
            elif p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = value
            else:
                args.append(value)
        return self.call(Obj(self.function), tuple(args), kwargs, frame.node)

    def _body(self, frame: Frame) -> Value:
        node = frame.node
        if node.is_lambda and isinstance(node.body[0], core.Return):
            self.stmt = None
            assert node.body[0].value is not None
            frame.result = self.eval(node.body[0].value)
        else:
            key = node
            try:
                if key not in self.desugared:
                    self.desugared[key] = remove_jumps(node, {*frame.locals, *self.state.env})
                if key not in self.lifetimes:
                    self.lifetimes[key] = lifetimes(self.desugared[key])
            except RecursionError as error:
                raise self.refusal(node, *TOO_DEEP) from error
            frame.lifetimes = self.lifetimes[key]
            self.run(self.desugared[key])
        if frame.result is None:
            raise Ended  # every path raises
        return frame.result

    def _out_tree(self, value: Value, results: list[Operand], node: core.Func) -> OutTree:
        if isinstance(value, Conflict):
            self.refuse(last_return(node), value.why, "use one name for one kind of thing")
        value = self.usable(value, last_return(node))
        if isinstance(value, Num):
            operand = value.operand
            results.append(operand)
            return Out(len(results) - 1)
        if isinstance(value, Ref):
            results.append(self.read(value))
            out = Out(len(results) - 1, value.cell.tensor is True)
            return self._outside_array(value) or out
        if isinstance(value, TupleVal):
            children = tuple(self._out_tree(v, results, node) for v in value.values)
            kind = "namedtuple" if value.cls is not None else "tuple"
            return Tree(kind, value.cls, tuple(range(len(children))), children)
        if isinstance(value, (ListVal, DictVal, InstanceVal)):
            if value.cell.path:
                return Argument(value.cell.path)
            content = self.state.heap[value.cell]
            if isinstance(content, Conflict):
                self.refuse(last_return(node), content.why)
            if isinstance(content, Growing):
                self.refuse(
                    last_return(node),
                    "returning a list whose length is known only at run time is not supported",
                    "return np.array(list)",
                )
            children = tuple(self._out_tree(v, results, node) for v in content.values)
            if isinstance(value, ListVal):
                return Tree("list", list, tuple(range(len(children))), children)
            kind = "dict" if isinstance(value, DictVal) else "dataclass"
            assert isinstance(content, Fields)
            return Tree(kind, getattr(value, "cls", dict), content.keys, children)
        if isinstance(value, Obj):
            return Fixed(value.value)
        return self.refuse(last_return(node), f"returning {self.kind_of(value)} is not supported")

    def _outside_array(self, value: Ref) -> Argument | None:
        """The array from outside that a value is, if it is one."""
        if value.cell.param is None or value.path or value.cell.tensor:
            return None
        own = value.cell in self.variables  # the Variable, not the array in it
        return Argument(value.cell.path[:-1] if own else value.cell.path)

    def _kept_tree(self, value: Value, results: list[Operand], node: core.Func) -> OutTree:
        """What is set in an object: where it may be one of two arrays, the one that it is."""
        tree = self._out_tree(value, results, node)
        if not isinstance(value, Ref) or value.path or value.cell.choice is None:
            return tree
        condition, *refs = value.cell.choice
        first, second = (self._outside_array(ref) or tree for ref in refs)
        if first == second:
            return tree
        results.append(condition)
        return Either(Out(len(results) - 1), first, second)

    def _refuse_none(self, node: core.Func) -> None:
        written = [
            c.label for c, v in self.state.heap.items() if c.param is not None and v != c.param
        ]
        advice = f"return the array it writes: return {written[0]}" if written else "return a value"
        self.refuse(last_return(node), "this function returns None", advice)

    # ---- frames

    @property
    def frame(self) -> Frame:
        return self.stack[-1]

    def frames(self) -> list[Frame]:
        """All active calls, the callers' included."""
        return [*(self.outer.frames() if self.outer else ()), *self.stack]

    def nested(self, callee: Callee) -> Specialiser:
        """A specialiser for a function that is called."""
        inner = Specialiser(callee.function, None, self.baked, self.runtime_ints, self.shared, self)
        node = checked(callee.source)
        inner.state.envs.append({})
        inner.stack.append(
            Frame(
                callee.source, callee.function, callee.path, node, local_names(node),
                callee.enclosing, 0, (), inner, callee.identity,
            )
        )  # fmt: skip
        return inner

    def env_of(self, frame: Frame) -> dict[str, Value]:
        """A frame's names as they are now, or as they were when it returned."""
        if frame.depth < len(self.stack) and self.stack[frame.depth] is frame:
            return self.state.envs[frame.depth]
        return frame.final or {}

    def run_function(
        self, source: Source, function: Any, path: Path, env: dict[str, Value],
        enclosing: Frame | None, identity: Any, at: core.Node,
    ) -> Value:  # fmt: skip
        node = checked(source)
        where = f"{file_name(source.file)}:{node.line} {node.name}"
        label = (*self.frame.label, where)
        calls = (*self.frame.calls, self.frame.source.span(at))
        if len(self.stack) == 1 and isinstance(self.frame.identity, Derived):
            label = calls = ()  # what the derivative is taken of is the user's own function
        frame = Frame(
            source, function, path, node, local_names(node), enclosing,
            len(self.stack), label, self, identity, self.runtime_depth, calls,
        )  # fmt: skip
        saved_stmt, saved_hint = self.stmt, self.b.hint
        self.stack.append(frame)
        self.state.envs.append(env)
        try:
            result = self._body(frame)
        finally:
            frame.final = self.state.envs.pop()
            self.stack.pop()
            self.stmt, self.b.hint = saved_stmt, saved_hint
        return self.usable(result, at)

    def fresh_name(self, name: str) -> str:
        """A name no variable of this frame has."""
        while name in self.frame.locals:
            name += "_"
        return name

    # ---- places

    def origin(self, node: core.Node | None) -> Origin | None:
        if node is None:
            return self.b.origin
        source = self.frame.source
        span = source.span(node)
        stmt = self.stmt
        whole = span if stmt is None else source.span(stmt)
        header = getattr(stmt, "body", None)
        if isinstance(stmt, (core.If, core.For, core.While)) and header:
            last = stmt.over if isinstance(stmt, core.For) else stmt.test
            end = source.span(last)
            whole = type(whole)(whole.file, whole.line, whole.col, end.end_line, end.end_col)
        return Origin(span, whole, self.frame.label, calls=self.frame.calls)

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
        for param in self.params:
            if isinstance(value.operand, Var) and param.name == value.operand.name:
                given = self.values is not None or param.path[0][0] == "leaf"
                if (
                    isinstance(param.type, Scalar)
                    and param.type.dtype in ("int64", "bool")
                    and given
                ):
                    raise NeedStaticArgument(param.path)
        return self.need_unroll(
            node, f"{what} must be known while compiling", "pass it through static_argnames"
        )


def _has_body(node: core.Node) -> bool:
    """Whether a message shows only the first line of a node."""
    if isinstance(node, core.Func):
        return not node.is_lambda
    return isinstance(node, (core.Define, core.If, core.For, core.While))
