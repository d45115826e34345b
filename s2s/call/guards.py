"""Guards of specialisations, and the access paths of kernel parameters.

A kernel's parameters are reached by access paths from arguments, globals and closures.  A guard is
a condition on the value at the end of a path, or on sizes.  Both are generated as one Python
function per specialisation (`write_enter`), since interpreting paths step by step in each call
would cost more than a small kernel itself.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..transforms.frontend.pytree import Path, Spec, Step, follow, path_text, spec_leaves
from ..transforms.ir.quote import attribute
from ..transforms.ir.symbolic_dims import Atom, Dim
from .type_key import type_key

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled, ObjectGuard

Enter = Callable[[tuple[Any, ...]], "tuple[Any, ...] | None"]


class Constants:
    """Allocates names for constants in the namespace of a generated function."""

    def __init__(self, space: dict[str, Any]) -> None:
        self.space = space
        self.known: dict[int, str] = {}

    def __call__(self, value: Any) -> str:
        """A source expression for a value: a literal, or a name."""
        return repr(value) if type(value) in (int, str) else self.named(value)

    def named(self, value: Any) -> str:
        if id(value) not in self.known:
            self.known[id(value)] = f"K{len(self.known)}"
            self.space[self.known[id(value)]] = value
        return self.known[id(value)]


class PathResolver:
    """Resolves access paths from the arguments, globals and closure of one function."""

    def __init__(self, function: types.FunctionType, names: tuple[str, ...]) -> None:
        self.function = function
        self.plain = getattr(function, "plain", function)  # for a derivative: the primal function
        self.positions = {name: i for i, name in enumerate(names)}
        self.free = function.__code__.co_freevars

    def value(self, args: tuple[Any, ...], path: Path) -> Any:
        return follow(self._root_value(args, path[0]), path[1:])

    def values(self, args: tuple[Any, ...]) -> Callable[[Path], Any]:
        """A resolver for many paths, valid while nothing changes.  It memoises common prefixes,
        since a path may lead through an expensive property."""
        reached: dict[Path, Any] = {}

        def value(path: Path) -> Any:
            if path not in reached:
                if len(path) == 1:
                    reached[path] = self._root_value(args, path[0])
                else:
                    reached[path] = follow(value(path[:-1]), path[-1:])
            return reached[path]

        return value

    def _root_value(self, args: tuple[Any, ...], step: Step) -> Any:
        kind, root = step
        if kind == "arg":
            return args[self.positions[root]]
        if kind == "closure":
            return (self.function.__closure__ or ())[self.free.index(root)].cell_contents
        if kind == "module":
            return sys.modules[root]
        if kind == "namespace":
            return vars(sys.modules[root]) if root else self.function.__globals__
        if kind == "held":
            return root.value
        return self.lookup(root)

    def code_changed(self, constant: Constants) -> str:
        """The condition, as source, that the code of the function has been replaced since now."""
        return f"{constant(self.plain)}.__code__ is not {constant(self.plain.__code__)}"

    def lookup(self, name: str) -> Any:
        """A global or builtin, resolved as in the function."""
        space = self.function.__globals__
        if name in space:
            return space[name]
        builtins = space["__builtins__"]
        return (vars(builtins) if isinstance(builtins, types.ModuleType) else builtins)[name]

    def step_text(self, before: str, step: Step, constant: Constants) -> str:
        """Python source for one step of a path from the expression `before`.  For the first step
        `before` is empty; the expression then refers to `a`, the tuple of arguments."""
        kind, root = step
        if before:
            return attribute(before, root) if kind == "." else f"{before}[{constant(root)}]"
        if kind == "arg":
            return f"a[{self.positions[root]}]"
        if kind == "closure":
            cell = (self.function.__closure__ or ())[self.free.index(root)]
            return f"{constant(cell)}.cell_contents"
        if kind == "module":
            return constant(sys.modules[root])
        if kind in ("namespace", "held"):
            return constant(self._root_value((), step))
        if root in self.function.__globals__:
            return f"{constant(self.function.__globals__)}[{root!r}]"
        return f"{constant(self.lookup)}({root!r})"


def write_enter(
    compiled: Compiled, reach: PathResolver, specs: Mapping[str, Spec], args: tuple[Any, ...]
) -> Enter:
    """Generate `enter(args)`: the kernel's parameters, or None if a guard does not hold.

    `args` are the arguments it was compiled for.  Parameters lifted out of objects, globals and
    closures must have the same type keys as then, and objects that may be written to must be
    distinct."""
    space: dict[str, Any] = {"type_key": type_key, "count_nonzero": np.count_nonzero}
    constant = Constants(space)
    # The code of the function may have been replaced since.
    lines = [f"if {reach.code_changed(constant)}: return None"]
    reached: dict[Path, str] = {}

    def text(path: Path) -> str:
        """A variable for the value of a path.  Common prefixes are evaluated once, since they may
        be long or contain an expensive property."""
        if path not in reached:
            *before, step = path
            value = reach.step_text(text(tuple(before)) if before else "", step, constant)
            reached[path] = f"v{len(reached)}"
            lines.append(f"{reached[path]} = {value}")
        return reached[path]

    for guard in compiled.object_guards:
        condition = guard_text(guard, text(guard.path), constant)
        lines.append(f"if not ({condition}): return None")
    roots = ((spec, (("arg", name),)) for name, spec in specs.items())
    leaves = {path for spec, root in roots for path, _ in spec_leaves(spec, root)}
    symbols: dict[str, str] = {}
    here = reach.values(args)
    for param in compiled.params:
        value = text(param.path)
        if param.path not in leaves:
            expected = constant(type_key(here(param.path)))
            lines.append(f"if type_key({value}) != {expected}: return None")
        symbols[param.name] = value
        for axis in range(param.type.ndim):
            symbols[f"{param.name}.{axis}"] = f"{value}.shape[{axis}]"
    lines += [
        f"if not {dim_text(g.left, symbols)} {g.sign} {dim_text(g.right, symbols)}: return None"
        for g in compiled.guards
    ]
    params = "".join(f"{text(p.path)}, " for p in compiled.params)
    ids = ", ".join(f"id({text(path)})" for path in compiled.holders)
    # A path that can no longer be resolved counts as a failed guard.
    body = ["try:", *(f"    {line}" for line in lines or ["pass"])]
    body += ["except Exception:", "    return None"]
    if ids:
        body.append(f"if len({{{ids}}}) < {len(compiled.holders)}: return None")
    body.append(f"return ({params})")
    source = "def enter(a):\n" + "".join(f"    {line}\n" for line in body)
    exec(compile(source, "<s2s guards>", "exec"), space)
    return space["enter"]


def guard_text(guard: ObjectGuard, value: str, constant: Constants) -> str:
    """The condition under which a guard holds, as Python source."""
    expected: Any = guard.expected
    if guard.kind == "type":
        return f"type({value}) is {constant(expected)}"
    if guard.kind == "length":
        return f"len({value}) == {expected}"
    if guard.kind == "keys":
        return f"tuple({value}) == {constant(expected)}"
    if guard.kind == "is" and type(expected) not in (int, str):
        return f"{value} is {constant(expected)}"
    if guard.kind == "equals" and (expected is None or isinstance(expected, bool)):
        return f"{value} is {expected}"
    if guard.kind == "equals" and type(expected) is int and -5 <= expected <= 256:
        # CPython caches these integers: compare by identity.
        return f"{value} is {constant.named(expected)}"
    if guard.kind == "equals" and type(expected) in (int, str):
        return f"(v := {value}) == {expected!r} and type(v) is {type(expected).__name__}"
    if guard.kind == "equals" and type(expected) is float:
        # Mostly it is the same object: compare by identity first.
        return f"{value} is {constant(expected)} or {constant(guard)}.holds({value})"
    if guard.kind in ("item", "attribute"):
        looked: Any = guard.expected
        name, has = looked
        if guard.kind == "item" and type(name) is str:
            return f"{name!r} {'in' if has else 'not in'} {value}"
        if guard.kind == "attribute" and not has:
            return f"not hasattr({value}, {name!r})"
    if guard.kind == "function":
        known = f"{value} is {constant(expected)}"
        same = code_text(expected, constant)
        return f"({same}) if {known} else {constant(guard)}.holds({value})"
    return f"{constant(guard)}.holds({value})"


def code_text(function: Any, constant: Constants) -> str:
    """The condition, as source, that a function still has its current code and defaults."""
    # Tools that reload modules replace the code of existing functions.  A function that had no
    # defaults gets every argument from the caller, so defaults added later have no effect.
    names = ("__code__", "__defaults__", "__kwdefaults__")
    parts = [(name, getattr(function, name)) for name in names]
    here = constant(function)
    return " and ".join(
        f"{here}.{name} is {constant(part)}" for name, part in parts if part is not None
    )


def dim_text(dim: Dim | None, symbols: Mapping[str, str]) -> str:
    """A symbolic size as Python source; `symbols` maps its symbols to expressions."""
    if dim is None:
        return ""
    terms = [
        "*".join([str(k)] * (k != 1) + [_symbol_text(s, symbols) for s in monomial])
        for monomial, k in dim.terms
    ]
    if dim.const or not terms:
        terms.append(str(dim.const))
    text = " + ".join(terms)
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _symbol_text(symbol: str, symbols: Mapping[str, str]) -> str:
    if not isinstance(symbol, Atom):
        return symbols[symbol]
    parts = [dim_text(p, symbols) for p in symbol.parts]
    if symbol.op == "max0":
        return f"max({parts[0]}, 0)"
    if symbol.op == "len":
        return f"len(range({parts[0]})[{':'.join(parts[1:])}])"
    if symbol.op == "count":
        return f"count_nonzero({parts[0]})"
    return f"({parts[0]} {'//' if symbol.op == 'floordiv' else '%'} {parts[1]})"


def failed_guard_text(compiled: Compiled, reach: PathResolver, args: tuple[Any, ...]) -> str:
    """A description of the first guard that does not hold, for messages."""
    changed = changed_object_text(compiled, reach, args)
    if changed is not None:
        return changed
    here = reach.values(args)
    sizes: dict[str, int] = {}
    for param in compiled.params:
        try:
            value = here(param.path)
        except Exception:
            return f"{path_text(param.path)}, which is no longer there"
        for axis, size in enumerate(np.shape(value)):
            sizes[f"{param.name}.{axis}"] = size
        if isinstance(value, (int, np.integer)):
            sizes[param.name] = int(value)
    for relation in compiled.guards:
        if not relation.holds(sizes):
            amount = relation.kind in ("below", "reaches")
            return f"{'how much there is to do' if amount else 'a relation of sizes'} ({relation})"
    return "the type of something it reads"


def changed_object_text(
    compiled: Compiled, reach: PathResolver, args: tuple[Any, ...]
) -> str | None:
    """A description of the first guard on an object that does not hold; None if all hold."""
    here = reach.values(args)
    for guard in compiled.object_guards:
        try:
            value = here(guard.path)
        except Exception:
            return f"{path_text(guard.path)}, which is no longer there"
        if not _holds(guard, value):
            return _guard_change(guard, value)
    return None


def _holds(guard: ObjectGuard, value: Any) -> bool:
    try:
        return guard.holds(value)
    except Exception:  # it has another type, without a length for instance
        return False


def _guard_change(guard: ObjectGuard, value: Any) -> str:
    text = path_text(guard.path)
    if guard.kind == "equals":
        return f"{text} ({guard.expected!r} before, {value!r} now)"
    if guard.kind in ("attribute", "item"):
        return f"whether {text} has the {guard.kind} {guard.expected[0]!r}"
    if guard.kind in ("type", "length", "keys"):
        return f"the {guard.kind} of {text}"
    return f"which object {text} is"
