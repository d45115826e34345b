"""The driver: makes the parts of the evaluator, and specialises the function as a whole."""

from __future__ import annotations

import dataclasses
from typing import Any

from ..frontend.check_subset import checked
from ..frontend.derivative_spec import Derived
from ..frontend.desugar.jumps import remove_jumps
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
from .arrays import Arrays
from .attributes import Attributes
from .calls import Calls
from .checkpoints import Checkpoints
from .comparisons import Comparisons
from .custom import CustomRules
from .derived import Derivatives
from .effects import Counts, Effects
from .expressions import Expressions
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
from .outline import Outlines
from .peel import Peel
from .places import Frame, NeedUnroll, Places
from .python_calls import PythonCalls
from .random_calls import RandomCalls
from .session import Session
from .shared import Callee, NeedInline, NeedOutline, NeedStaticArgument, Shared, last_return
from .statements import TOO_DEEP, Statements
from .tape import Tapes
from .tape_products import TapeProducts
from .values import (
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
from .vmaps import Vmaps


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
        outer: Specialiser | None = None,
    ) -> None:
        self.function = function
        self.values = values
        self.session = Session(shared, values is not None, static, runtime_ints, outer)
        base = self.session, self
        self.places = Places(*base)
        self.arrays = Arrays(*base, self.places)
        self.joins = Joins(*base, self.arrays)
        self.expressions = Expressions(*base, self.places, self.arrays, self.joins)
        self.outline = Outlines(*base, self.places, self.arrays, self.joins)
        self.objects = Objects(*base, self.places, self.arrays, self.outline)
        self.tape = Tapes(*base, self.places, self.arrays, self.expressions, self.objects)
        self.peel = Peel(*base, self.places, self.joins, self.expressions)
        self.operators = Operators(*base, self.expressions, self.objects)
        self.managers = Managers(*base, self.places, self.expressions, self.operators)
        self.indexing = Indexing(
            *base, self.places, self.arrays, self.joins, self.expressions, self.tape
        )
        self.iterators = Iterators(
            *base, self.places, self.arrays, self.joins, self.expressions, self.operators
        )
        self.derived = Derivatives(
            *base, self.places, self.arrays, self.joins, self.expressions, self.objects, self.tape
        )
        self.effects = Effects(
            *base, self.places, self.arrays, self.joins, self.expressions, self.objects, self.tape
        )
        self.instances = Instances(*base, self.places, self.arrays, self.objects, self.effects)
        self.numpy_calls = NumpyCalls(
            *base, self.places, self.arrays, self.joins, self.expressions, self.iterators
        )
        self.calls = Calls(
            *base,
            self.places,
            self.arrays,
            self.joins,
            self.expressions,
            self.outline,
            self.objects,
            self.operators,
            self.indexing,
            self.iterators,
            self.derived,
            self.effects,
            self.instances,
            self.numpy_calls,
        )
        self.random_calls = RandomCalls(*base, self.places, self.arrays, self.calls)
        self.comparisons = Comparisons(
            *base, self.places, self.joins, self.expressions, self.tape, self.operators, self.calls
        )
        self.imports = Imports(*base, self.places, self.expressions, self.objects, self.operators)
        self.loop_joins = LoopJoins(*base, self.places, self.arrays, self.joins, self.peel)
        self.attributes = Attributes(
            *base,
            self.places,
            self.arrays,
            self.joins,
            self.expressions,
            self.objects,
            self.tape,
            self.operators,
            self.indexing,
            self.numpy_calls,
            self.calls,
        )
        self.statements = Statements(
            *base,
            self.places,
            self.arrays,
            self.joins,
            self.expressions,
            self.operators,
            self.indexing,
            self.iterators,
            self.effects,
            self.instances,
            self.calls,
            self.attributes,
        )
        self.custom = CustomRules(
            *base,
            self.places,
            self.arrays,
            self.joins,
            self.expressions,
            self.tape,
            self.managers,
            self.derived,
            self.calls,
            self.attributes,
            self.statements,
        )
        self.loops = Loops(
            *base,
            self.places,
            self.arrays,
            self.joins,
            self.expressions,
            self.peel,
            self.operators,
            self.indexing,
            self.iterators,
            self.comparisons,
            self.loop_joins,
            self.attributes,
            self.statements,
        )
        self.list_parts = ListParts(
            *base, self.places, self.arrays, self.expressions, self.attributes, self.loops
        )
        self.python_calls = PythonCalls(
            *base,
            self.places,
            self.arrays,
            self.joins,
            self.expressions,
            self.objects,
            self.operators,
            self.indexing,
            self.iterators,
            self.effects,
            self.numpy_calls,
            self.calls,
            self.comparisons,
            self.attributes,
            self.statements,
            self.loops,
            self.list_parts,
        )
        self.checkpoints = Checkpoints(
            *base, self.places, self.iterators, self.loops, self.python_calls
        )
        self.methods = Methods(
            *base,
            self.places,
            self.arrays,
            self.joins,
            self.expressions,
            self.objects,
            self.tape,
            self.iterators,
            self.effects,
            self.numpy_calls,
            self.calls,
            self.random_calls,
            self.comparisons,
            self.attributes,
            self.statements,
            self.loops,
            self.list_parts,
            self.python_calls,
        )
        self.vmaps = Vmaps(
            *base,
            self.places,
            self.arrays,
            self.expressions,
            self.derived,
            self.effects,
            self.calls,
        )
        self.jacobians = Jacobians(*base, self.places, self.derived, self.vmaps)
        self.tape_products = TapeProducts(
            *base, self.places, self.arrays, self.tape, self.derived, self.calls, self.jacobians
        )
        self.eval_methods: dict[type, Any] = {
            core.Const: self.expressions.eval_Const,
            core.Name: self.expressions.eval_Name,
            core.Refused: self.expressions.eval_Refused,
            core.Seq: self.expressions.eval_Seq,
            core.Dict: self.expressions.eval_Dict,
            core.Lambda: self.expressions.eval_Lambda,
            core.Format: self.expressions.eval_Format,
            core.Bind: self.expressions.eval_Bind,
            core.Slice: self.expressions.eval_Slice,
            core.Star: self.expressions.eval_Star,
            core.Binary: self.expressions.eval_Binary,
            core.Unary: self.expressions.eval_Unary,
            core.Bool: self.expressions.eval_Bool,
            core.Choose: self.expressions.eval_Choose,
            core.Comp: self.expressions.eval_Comp,
            core.Call: self.calls.eval_Call,
            core.Compare: self.comparisons.eval_Compare,
            core.Attr: self.attributes.eval_Attr,
            core.Item: self.attributes.eval_Item,
            core.Result: self.expressions.eval_Name,
        }
        self.run_methods: dict[type, Any] = {
            core.Import: self.imports.run_Import,
            core.ImportFrom: self.imports.run_ImportFrom,
            core.Delete: self.imports.run_Delete,
            core.Pass: self.statements.run_Pass,
            core.Global: self.statements.run_Global,
            core.Refused: self.statements.run_Refused,
            core.Eval: self.statements.run_Eval,
            core.Return: self.statements.run_Return,
            core.Define: self.statements.run_Define,
            core.Assign: self.statements.run_Assign,
            core.Augment: self.statements.run_Augment,
            core.If: self.statements.run_If,
            core.Raise: self.statements.run_Raise,
            core.Assert: self.statements.run_Assert,
            core.With: self.custom.run_With,
            core.For: self.loops.run_For,
            core.While: self.loops.run_While,
        }
        self.derive_methods: dict[str, Any] = {
            "grad": self.derived.derive_grad,
            "value_and_grad": self.derived.derive_value_and_grad,
            "jvp": self.derived.derive_jvp,
            "vjp": self.derived.derive_vjp,
            "pullback": self.derived.derive_pullback,
            "hvp": self.derived.derive_hvp,
            "custom": self.custom.derive_custom,
            "implicit": self.custom.derive_implicit,
            "checkpoint": self.custom.derive_checkpoint,
            "vmap": self.vmaps.derive_vmap,
            "jacobian": self.jacobians.derive_jacobian,
            "hessian": self.jacobians.derive_hessian,
        }
        self.tape_methods: dict[str, Any] = {
            "gradient": self.tape_products.tape_gradient,
            "jacobian": self.tape_products.tape_jacobian,
            "batch_jacobian": self.tape_products.tape_batch_jacobian,
        }
        methods: list[tuple[Any, Any]] = [
            (range, self.python_calls.call_range),
            (super, self.python_calls.call_super),
            (dataclasses.replace, self.python_calls.call_replace),
            (len, self.python_calls.call_len),
            (slice, self.python_calls.call_slice),
            (enumerate, self.python_calls.call_enumerate),
            (zip, self.python_calls.call_zip),
            (sorted, self.python_calls.call_sorted),
            (reversed, self.python_calls.call_reversed),
            (isinstance, self.python_calls.call_isinstance),
            (issubclass, self.python_calls.call_issubclass),
            (type, self.python_calls.call_type),
            (dataclasses.is_dataclass, self.python_calls.call_is_dataclass),
            (dataclasses.fields, self.python_calls.call_fields),
            (callable, self.python_calls.call_callable),
            (hasattr, self.python_calls.call_hasattr),
            (getattr, self.python_calls.call_getattr),
            (tuple, self.python_calls.call_tuple),
            (list, self.python_calls.call_list),
            (dict, self.python_calls.call_dict),
            (map, self.python_calls.call_map),
            (filter, self.python_calls.call_filter),
            (sum, self.python_calls.call_sum),
            (any, self.python_calls.call_any),
            (all, self.python_calls.call_all),
            (max, self.python_calls.call_max),
            (min, self.python_calls.call_min),
            (int, self.python_calls.call_int),
            (float, self.python_calls.call_float),
            (bool, self.python_calls.call_bool),
            (iter, self.iterators.call_iter),
            (next, self.iterators.call_next),
        ]
        self.builtin_methods: dict[int, Any] = {id(f): method for f, method in methods}
        self.bind = self.statements.bind
        self.call = self.calls.call
        self.call_function = self.calls.call_function
        self.call_method = self.methods.call_method
        self.call_special = self.operators.call_special
        self.elements = self.expressions.elements
        self.eval = self.expressions.eval
        self.for_each = self.loops.for_each
        self.run = self.statements.run

    # ---- the whole function

    def run_main(self, args: dict[str, Spec]) -> Specialised:
        plain = self.session.shared.main
        if plain not in self.session.shared.sources:
            self.session.shared.sources[plain] = read(plain)
        source = self.session.shared.sources[plain]
        node = checked(source)
        self.session.state.envs.append({})
        frame = Frame(source, plain, (), node, local_names(node), None, 0, (), self, self.function)
        self.places.stack.append(frame)
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
                result = self._body(frame)
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
            assigned = (c for c in self.tape.variables if self.session.state.heap[c] != c.param)
            if not self.tape.tapes and not any(c.param is not None for c in assigned):
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
        main.notes["aliases"] = frozenset(self.statements.aliases)
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
            [c.path for c in self.effects.first_contents], shared.builds, files, shared.loose,
        )  # fmt: skip

    def _call_with(self, frame: Frame) -> Value:
        """A derived function has no body: it is called with its own parameters."""
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        self.places.stmt = None
        for p in signature(self.function).parameters.values():
            value = self.session.state.env[p.name]
            if p.kind is p.VAR_POSITIONAL:
                args += self.expressions.static_items(value) or ()
            elif p.kind is p.VAR_KEYWORD:
                content = self.session.state.heap[value.cell]
                kwargs.update(zip(content.keys, content.values))
            elif p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = value
            else:
                args.append(value)
        return self.calls.call(Obj(self.function), tuple(args), kwargs, frame.node)

    def _body(self, frame: Frame) -> Value:
        node = frame.node
        if node.is_lambda and isinstance(node.body[0], core.Return):
            self.places.stmt = None
            assert node.body[0].value is not None
            frame.result = self.expressions.eval(node.body[0].value)
        else:
            key = node
            try:
                if key not in self.session.shared.desugared:
                    self.session.shared.desugared[key] = remove_jumps(
                        node, {*frame.locals, *self.session.state.env}
                    )
                if key not in self.session.shared.lifetimes:
                    self.session.shared.lifetimes[key] = lifetimes(
                        self.session.shared.desugared[key]
                    )
            except RecursionError as error:
                raise self.places.refusal(node, *TOO_DEEP) from error
            frame.lifetimes = self.session.shared.lifetimes[key]
            self.statements.run(self.session.shared.desugared[key])
        if frame.result is None:
            raise Ended  # every path raises
        return frame.result

    def _out_tree(self, value: Value, results: list[Operand], node: core.Func) -> OutTree:
        if isinstance(value, Conflict):
            self.places.refuse(last_return(node), value.why, "use one name for one kind of thing")
        value = self.loops.usable(value, last_return(node))
        if isinstance(value, Num):
            operand = value.operand
            results.append(operand)
            return Out(len(results) - 1)
        if isinstance(value, Ref):
            results.append(self.arrays.read(value))
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

    def _outside_array(self, value: Ref) -> Argument | None:
        """The array from outside that a value is, if it is one."""
        if value.cell.param is None or value.path or value.cell.tensor:
            return None
        own = value.cell in self.tape.variables  # the Variable, not the array in it
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
            c.label
            for c, v in self.session.state.heap.items()
            if c.param is not None and v != c.param
        ]
        advice = f"return the array it writes: return {written[0]}" if written else "return a value"
        self.places.refuse(last_return(node), "this function returns None", advice)

    def nested(self, callee: Callee) -> Specialiser:
        """A specialiser for a function that is called."""
        inner = Specialiser(
            callee.function,
            None,
            self.session.baked,
            self.session.runtime_ints,
            self.session.shared,
            self,
        )
        node = checked(callee.source)
        inner.session.state.envs.append({})
        inner.places.stack.append(
            Frame(
                callee.source, callee.function, callee.path, node, local_names(node),
                callee.enclosing, 0, (), inner, callee.identity,
            )
        )  # fmt: skip
        return inner

    def run_function(
        self, source: Source, function: Any, path: Path, env: dict[str, Value],
        enclosing: Frame | None, identity: Any, at: core.Node,
    ) -> Value:  # fmt: skip
        node = checked(source)
        where = f"{file_name(source.file)}:{node.line} {node.name}"
        label = (*self.places.frame.label, where)
        calls = (*self.places.frame.calls, self.places.frame.source.span(at))
        if len(self.places.stack) == 1 and isinstance(self.places.frame.identity, Derived):
            label = calls = ()  # what the derivative is taken of is the user's own function
        frame = Frame(
            source,
            function,
            path,
            node,
            local_names(node),
            enclosing,
            len(self.places.stack),
            label,
            self,
            identity,
            self.joins.runtime_depth,
            calls,
        )
        saved_stmt, saved_hint = self.places.stmt, self.session.b.hint
        self.places.stack.append(frame)
        self.session.state.envs.append(env)
        try:
            result = self._body(frame)
        finally:
            frame.final = self.session.state.envs.pop()
            self.places.stack.pop()
            self.places.stmt, self.session.b.hint = saved_stmt, saved_hint
        return self.loops.usable(result, at)
