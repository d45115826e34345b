"""Frames: look-up of names, nested functions, and the run of a function's body."""

from __future__ import annotations

import builtins
import sys
from dataclasses import replace
from typing import Any

from ..frontend.check_subset import checked
from ..frontend.derivative_spec import Derived
from ..frontend.desugar.jumps import remove_jumps
from ..frontend.kernel_interface import Param
from ..frontend.pytree import Path
from ..frontend.source import Source
from ..ir.builder import resolve_dims
from ..ir.nodes import Record, Scalar, Var
from ..ir.quote import file_name
from ..ir.record import record
from ..ir.symbolic_dims import Dim
from ..syntax import core
from ..syntax.names import local_names
from .control.caught_errors import CaughtErrors
from .control.joins import Joins
from .heap.arrays import Arrays
from .lifetimes import lifetimes
from .outside.objects import Objects
from .patterns import Leaf, unpack
from .places import TOO_DEEP, Frame, Places
from .session import Part
from .shared import Captured, NeedOutline, _packed, owner_of
from .values import (
    Cell,
    Closure,
    Conflict,
    Ended,
    Maybe,
    Num,
    Obj,
    PyObject,
    Rec,
    Ref,
    Undefined,
    Value,
)
from .variables import Variables

# A recursion of known depth is unrolled up to here.
UNROLLED = 30


@record(eq=False)
class Frames(Part):
    """Names, and calls of functions whose text is read."""

    places: Places
    variables: Variables
    arrays: Arrays
    joins: Joins
    objects: Objects
    caught_errors: CaughtErrors

    def lookup(self, name: str, node: core.Node) -> Value:
        self.objects.read_at(node)
        value = self.find(name)
        if isinstance(value, Undefined):
            self.b.check(False, "UnboundLocalError", _unbound(name))
            raise Ended
        if value is None and isinstance(node, core.Result):
            return Obj(None)  # a function's result that no path binds
        if value is None:
            raise self.places.located(NameError(f"name {name!r} is not defined"), node)
        if isinstance(value, Conflict):
            self.places.need_unroll(node, value.why, value.advice, peel=True)
        if isinstance(value, Maybe):
            if not isinstance(node, core.Result):
                self.b.check(self.b.sym(value.flag), "UnboundLocalError", _unbound(name))
            elif not node.always:
                called = self.places.frame.node.name
                message = f"{called} ended without a return, so its result is None"
                self.b.check(self.b.sym(value.flag), "TypeError", message)
            self.state.env[name] = value.value
            return value.value
        return value

    def find(self, name: str) -> Value | None:
        """The value of a name: own names, enclosing functions', closure, globals, builtins."""
        frame = self.places.frame
        if name in self.state.env:
            return self.state.env[name]
        if name in frame.locals:
            return Undefined()
        enclosing = frame.enclosing
        while enclosing is not None:
            env = enclosing.owner.places.env_of(enclosing)
            if name in env:
                own = enclosing.owner is self
                return env[name] if own else self.captured(enclosing, name)
            frame, enclosing = enclosing, enclosing.enclosing
        function, path = frame.function, frame.path
        code = function.__code__
        if name in code.co_freevars:
            index = code.co_freevars.index(name)
            try:
                value = function.__closure__[index].cell_contents
            except ValueError:
                return Undefined()
            root: Path = (*path, (".", "__closure__"), ("[]", index), (".", "cell_contents"))
            if not path:
                if function is not self.shared.main:
                    return self.objects.unreachable(function, name, value)
                root = (("closure", name),)
            return self.objects.lift_name(value, root)
        if name in function.__globals__:
            value = function.__globals__[name]
            root = (*path, (".", "__globals__"), ("[]", name))
            if not path:
                root = (("global", name),)
                if function.__globals__ is not self.shared.main.__globals__:
                    module = sys.modules.get(function.__module__)
                    if module is None or vars(module) is not function.__globals__:
                        return self.objects.unreachable(function, name, value)
                    root = (("module", function.__module__), (".", name))
            return self.objects.lift_name(value, root)
        if hasattr(builtins, name):
            self.objects.guard_builtin(name, function)
            return Obj(getattr(builtins, name))
        return None

    def stays_call(self, identity: PyObject) -> bool:
        """Whether calls of a function stay calls.  A recursion is unrolled as long as nothing
        between two activations depends on the run."""
        if identity in self.shared.recursive:
            return True
        active = [f for f in self.places.stack if f.identity == identity]
        if len(active) > UNROLLED or (
            active and self.joins.runtime_depth > active[-1].runtime_depth
        ):
            raise NeedOutline(identity)
        return False

    def receive(self, leaf: Leaf, name: str, path: Path) -> tuple[Var, Value]:
        """A new parameter of this function, and its value."""
        type_: Any = leaf.type
        name = self.b.names.fresh(name)
        self.b.names.keep(name)
        if isinstance(type_, Scalar):
            type_ = replace(type_, value=Dim.of(name) if type_.dtype == "int64" else None)
        else:
            type_ = resolve_dims(type_, name)
        var = Var(name, type_, name)
        self.session.params.append(Param(name, path, None, type_))  # type: ignore[arg-type]
        if isinstance(type_, Scalar):
            return var, Num(var)
        if isinstance(type_, Record):
            return var, Rec(var)
        cell = Cell(name, var, path)
        self.state.adopt(cell, var)
        cell.tensor = leaf.tensor
        if leaf.variable is not None:
            self.variables.watch(cell, leaf.variable.value)
        return var, Ref(cell)

    def captured(self, holder: Frame | Closure, name: str) -> Value:
        """A name of a frame of the caller, or of its callers: passed in."""
        key = ("captured", holder, name)
        if key in self.objects.lifted:
            return self.objects.lifted[key]
        pattern, packer = _packed(holder, name)
        path: Path = (("captured", name),)

        def take_in(variables: list[Var]) -> Value:
            def leaf(leaf: Leaf, name: str) -> Value:
                var, value = self.receive(leaf, name, (("captured", name),))
                variables.append(var)
                if self.b.facts.sizes is not None:
                    owner = owner_of(holder)
                    owner.arrays.pass_sizes(packer.leaves[leaf.index], var, self.b.facts)
                return value

            return unpack(pattern, self, leaf, name, path)

        return self.objects.take_in(key, Captured(holder, name, pattern), take_in)

    def run_body(self, frame: Frame) -> Value:
        node = frame.node
        if node.is_lambda and isinstance(node.body[0], core.Return):
            self.places.begin(None)
            assert node.body[0].value is not None
            frame.result = self.evaluator.eval(node.body[0].value)
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
            try:
                self.evaluator.run(self.session.shared.desugared[key])
            except Exception as error:
                found = self.caught_errors.explained(error, frame)
                if found is error:
                    raise
                raise found from None
            self.caught_errors.check(frame)
        if frame.result is None:
            raise Ended  # every path raises
        return frame.result

    def run_function(
        self, source: Source, function: PyObject, path: Path, env: dict[str, Value],
        enclosing: Frame | None, identity: PyObject, at: core.Node,
    ) -> Value:  # fmt: skip
        node = checked(source)
        where = f"{file_name(source.file)}:{node.line} {node.name}"
        label = (*self.places.frame.label, where)
        calls = (*self.places.frame.calls, self.places.frame.source.span(at))
        if len(self.places.stack) == 1 and isinstance(self.places.frame.identity, Derived):
            label = calls = ()  # the function to differentiate is the user's own
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
            self.places.library_site(function, at, next(iter(env.values()), None)),
        )
        hint = self.session.b.hint
        stmt = self.places.enter(frame)
        self.session.state.envs.append(env)
        try:
            result = self.run_body(frame)
        finally:
            frame.final = self.session.state.envs.pop()
            self.places.leave(stmt)
            self.session.b.hint = hint
        return self.arrays.usable(result, at)

    def closure(self, node: core.Func) -> Closure:
        p = node.params
        plain = (*p.positional_only, *p.plain)
        defaults = tuple(self.evaluator.eval(q.default) for q in plain if q.default is not None)
        named = tuple(
            (q.name, self.evaluator.eval(q.default))
            for q in p.keyword_only
            if q.default is not None
        )
        return Closure(node, self.places.frame, defaults, named)


def _unbound(name: str) -> str:
    return f"cannot access local variable '{name}' where it is not associated with a value"
