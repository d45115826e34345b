"""The driver: makes the parts of the evaluator, and specialises the function as a whole."""

from __future__ import annotations

from typing import Any

from ..frontend.check_subset import checked
from ..frontend.derivative_spec import Derived
from ..frontend.kernel_interface import Build, ObjectGuard, Param
from ..frontend.pytree import Argument, Either, Fixed, Out, OutTree, Path, Spec, Step, Tree
from ..frontend.signature import signature
from ..frontend.source import Source, read
from ..ir.call_sizes import unproven_needs
from ..ir.fixpoint import IterationLimit
from ..ir.nodes import Function, Module, Operand, Scalar, Var, walk
from ..ir.quote import file_name
from ..ir.record import field, record
from ..ir.symbolic_dims import Facts
from ..syntax import core
from ..syntax.names import local_names
from .calls.calls import Calls
from .calls.methods import Methods
from .frames import Frames
from .heap.arrays import Arrays
from .interpreter.expressions import Expressions
from .interpreter.loops import Loops
from .interpreter.statements import Statements
from .operations.operators import Operators
from .outline import Outlines
from .outside.effects import Counts, Effects
from .outside.objects import Objects
from .places import Frame, NeedUnroll, Places
from .session import Session
from .shared import Callee, NeedInline, NeedOutline, NeedStaticArgument, Shared, last_return
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
    TupleVal,
    Value,
    kind_text,
)
from .variables import Variables
from .wiring import Wiring


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
    # by call: its function, and why it was inlined if calls are to stay calls
    decisions: list[tuple[str, str | None]] = field(default_factory=list)
    # the module after the last differentiation and before inlining, with the facts of then
    text: tuple[Module, Facts] | None = None


def specialise(
    function: Any,
    args: dict[str, Spec],
    values: dict[str, Any] | None,
    static: frozenset[Path] = frozenset(),
    runtime_ints: frozenset[Path] = frozenset(),
    keep: bool = False,
) -> Specialised:
    """One function for one signature.  Raises NeedStaticArgument to be called again.  With `keep`,
    calls stay calls where they can; a program that cannot be specialised so is inlined."""
    recursive: frozenset[Any] = frozenset()
    sources: dict[Any, Source] = {}
    desugared: dict[Any, core.Block] = {}
    alive: dict[Any, dict[int, frozenset[str]]] = {}
    builds: list[Build] = []
    inlined: frozenset[Any] = frozenset()
    why = ""
    rounds = IterationLimit("specialise")
    while True:
        rounds.count()
        plain = function.plain if isinstance(function, Derived) else function
        shared = Shared(
            plain, recursive, sources=sources, desugared=desugared, lifetimes=alive, builds=builds,
            keep=keep, recursive_inline=inlined,
        )  # fmt: skip
        try:
            done = Specialiser(function, values, static, runtime_ints, shared).run_main(args)
            if not shared.built:
                unproven = unproven_needs(done.module, done.facts)
                assert not unproven, unproven
                done.decisions = [("the program", why)] if why else shared.decisions
                return done
        except NeedOutline as need:
            recursive |= {need.identity}
        except NeedInline as need:
            inlined |= {need.identity}
        except Counts as counts:
            runtime_ints |= counts.paths
        except NeedStaticArgument:
            if not shared.built:
                raise
        except Exception as error:
            if not shared.built:
                if not keep:
                    raise
                keep, why = False, str(error)


class Specialiser:
    """Specialises one function of a module; `outer` is the specialiser of its caller."""

    def __init__(
        self,
        function: Any,
        values: dict[str, Any] | None,
        static: frozenset[Path],
        runtime_ints: frozenset[Path],
        shared: Shared,
        outer: Frames | None = None,
    ) -> None:
        self.function = function
        self.values = values
        self.session = Session(shared, values is not None, static, runtime_ints, outer, self.nested)
        self.parts = parts = Wiring(self.session, self)
        self.places = parts[Places]
        self.variables = parts[Variables]
        self.arrays = parts[Arrays]
        self.objects = parts[Objects]
        self.effects = parts[Effects]
        self.frames = parts[Frames]
        self.outline = parts[Outlines]
        expressions, statements = parts[Expressions], parts[Statements]
        calls, methods = parts[Calls], parts[Methods]
        self.aliases = statements.aliases
        self._result_cells: dict[Operand, Cell] = {}  # the first array that is a result, by value
        self.eval = expressions.eval
        self.elements = expressions.elements
        self.run = statements.run
        self.bind = statements.bind
        self.for_each = parts[Loops].for_each
        self.call = calls.call
        self.call_function = calls.call_function
        self.call_method = methods.call_method
        self.call_special = parts[Operators].call_special

    # ---- the whole function

    def run_main(self, args: dict[str, Spec]) -> Specialised:
        plain = self.session.shared.main
        if plain not in self.session.shared.sources:
            self.session.shared.sources[plain] = read(plain)
        source = self.session.shared.sources[plain]
        node = checked(source)
        self.session.state.envs.append({})
        owner = self.frames
        frame = Frame(source, plain, (), node, local_names(node), None, 0, (), owner, self.function)
        self.places.enter(frame)
        for name, spec in args.items():
            value = None if self.values is None else self.values[name]
            self.session.state.env[name] = self.objects.argument(spec, (("arg", name),), value)
        try:
            if isinstance(self.function, Derived):
                result = self._call_with(frame)
            elif self.function in self.session.shared.recursive:
                callee = Callee(self.function, self.function, source, self.function, (), None)
                result = self.outline.call_outlined(callee, self.session.state.env, node)
            else:
                result = self.frames.run_body(frame)
        except Ended:
            result = Num(self.session.b.emit("undef", type=Scalar("float64")).operand)
        except NeedUnroll as error:
            raise error.refusal from None
        results: list[Operand] = []
        with self.session.b.at(self.places.origin(last_return(node))):
            out = self._out_tree(result, results, node)
            changes = [
                (path, step, self._kept_tree(value, results, node))
                for path, step, value in self.effects.changes()
            ]
        if not results and isinstance(result, Obj) and result.value is None:
            assigned = (
                c for c in self.variables.variables if self.session.state.heap[c] != c.param
            )
            if not self.variables.tapes and not any(c.param is not None for c in assigned):
                self._refuse_none(node)
        name = "function" if node.is_lambda else node.name
        if isinstance(self.function, Derived):
            name = self.function.name
        params = [Var(p.name, p.type, p.name) for p in self.session.params]
        effects = [
            (cell.param, content)
            for cell, content in self.session.state.heap.items()
            if cell.param is not None and isinstance(content, Var) and content != cell.param
        ]
        main = Function(name, params, self.session.b.block, results, effects, source)  # type: ignore[arg-type]
        main.notes["aliases"] = frozenset(self.aliases)
        main.notes["given_names"] = dict(self.session.b.names.given)
        main.notes["facts"] = self.session.b.facts
        main.notes["unconnected"] = list(self.session.shared.unconnected)
        sweeps = max((s.origin.sweep for s in walk(main.body) if s.origin), default=0)
        if sweeps:
            main.notes["inner_sweeps"] = sweeps
        if isinstance(self.function, Derived):
            main.notes["title"] = self.function.title
        written = [i for i, p in enumerate(params) if any(e[0] == p for e in effects)]
        shared = self.session.shared
        files = sorted({s.file for s in shared.sources.values()})
        return Specialised(
            self.outline.module(main), self.session.params, out, self.session.b.facts,
            shared.object_guards, written, {file_name(f): f for f in files}, changes,
            [c.path for c in self.arrays.first_contents], shared.builds, files, shared.loose,
        )  # fmt: skip

    def _call_with(self, frame: Frame) -> Value:
        """A derived function has no body: it is called with its own parameters."""
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        self.places.begin(None)
        for p in signature(self.function).parameters.values():
            value = self.session.state.env[p.name]
            if p.kind is p.VAR_POSITIONAL:
                args += self.objects.static_items(value) or ()
            elif p.kind is p.VAR_KEYWORD:
                assert isinstance(value, DictVal)
                content = self.session.state.heap[value.cell]
                kwargs.update(zip(content.keys, content.values))
            elif p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = value
            else:
                args.append(value)
        return self.call(Obj(self.function), tuple(args), kwargs, frame.node)

    def _out_tree(self, value: Value, results: list[Operand], node: core.Func) -> OutTree:
        if isinstance(value, Conflict):
            self.places.refuse(last_return(node), value.why, value.advice)
        value = self.arrays.usable(value, last_return(node))
        if isinstance(value, Num):
            operand = value.operand
            results.append(operand)
            return Out(len(results) - 1)
        if isinstance(value, Ref):
            results.append(self._result(value, results))
            out = Out(len(results) - 1, value.cell.tensor is True)
            return self._outside_array(value) or out
        if isinstance(value, TupleVal):
            children = tuple(self._out_tree(v, results, node) for v in value.values)
            kind = "namedtuple" if value.cls is not None else "tuple"
            return Tree(kind, value.cls, tuple(range(len(children))), children)
        if isinstance(value, (ListVal, DictVal, InstanceVal)):
            if value.cell.path:
                return Argument(value.cell.path)
            content = self.session.state.heap[value.cell]
            if isinstance(content, Conflict):
                self.places.refuse(last_return(node), content.why)
            if isinstance(content, Growing):
                self.places.refuse(
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
        return self.places.refuse(
            last_return(node), f"returning {kind_text(value)} is not supported"
        )

    def _result(self, value: Ref, results: list[Operand]) -> Operand:
        """The array of a result.  Where it is the value of another result but not its array, as the
        gradients of `a` and `b` in `a + b`, a copy: the caller may write into each."""
        operand = self.arrays.read(value)
        if value.cell.tensor is not True:
            cell = self._result_cells.setdefault(operand, value.cell)
            if cell is not value.cell and operand in results:
                return self.session.b.emit("copy", operand).operand
        return operand

    def _outside_array(self, value: Ref) -> Argument | None:
        """The array from outside that a value is, if it is one."""
        if value.cell.param is None or value.path or value.cell.tensor:
            return None
        own = value.cell in self.variables.variables  # the Variable, not the array in it
        return Argument(value.cell.path[:-1] if own else value.cell.path)

    def _kept_tree(self, value: Value, results: list[Operand], node: core.Func) -> OutTree:
        """The value that is set in an object; of a value that is one of two arrays, a choice of
        these."""
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
            c.label
            for c, v in self.session.state.heap.items()
            if c.param is not None and v != c.param
        ]
        advice = f"return the array it writes: return {written[0]}" if written else "return a value"
        self.places.refuse(last_return(node), "this function returns None", advice)

    def nested(self, callee: Callee) -> Outlines:
        """The evaluator, as `Outlines`, of a function that is specialised separately."""
        inner = Specialiser(
            callee.function,
            None,
            self.session.baked,
            self.session.runtime_ints,
            self.session.shared,
            self.frames,
        )
        node = checked(callee.source)
        inner.session.state.envs.append({})
        inner.places.enter(
            Frame(
                callee.source, callee.function, callee.path, node, local_names(node),
                callee.enclosing, 0, (), inner.frames, callee.identity,
            )
        )  # fmt: skip
        return inner.outline
