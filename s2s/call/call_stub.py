"""Call stubs: the whole call of a specialisation as one generated Python function.

A stub checks the guards, calls the kernel, builds the results and applies the side effects.  For a
small kernel, the Python code around it dominates the time of a call.  So the stub is generated once
for the current objects: a value that an identity guard pins becomes a constant, and the attributes
of objects that count their changes (`s2s.objects.change_counter`) are checked again only after the
change counter has moved.  If a check fails, the stub returns `MISS`, and
`s2s.dispatch.specializations` handles the call.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Mapping
from operator import is_
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..codegen.numba_bridge import array_table
from ..codegen.numba_bridge.numba_entry import is_borrowable
from ..codegen.size_guards import relation
from ..errors import MISS, ArgumentMismatch, Overlap, SizeGuardFailed, translate
from ..objects import change_counter
from ..objects.change_counter import Announces, is_uncounted_scalar
from ..objects.tensor import immutable
from ..objects.variable_versions import tapes
from ..runtime.overlap import overlaps_itself
from ..transforms.frontend.pytree import (
    Argument,
    ArraySpec,
    Either,
    Fixed,
    Out,
    OutTree,
    Path,
    RngSpec,
    ScalarSpec,
    Spec,
    Tree,
    TreeSpec,
    child_step,
    rebuild,
)
from ..transforms.ir.nodes import Scalar, Type
from ..transforms.ir.quote import attribute
from . import debug_flag
from .backend_choice import BACKEND_VARIABLE, environment
from .boxed_results import boxed_results
from .guards import Constants, code_text, dim_text, guard_text
from .type_key import type_key

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled
    from .guards import PathResolver

_OWN = __name__.partition(".")[0] + "."

# Leaf types: `_containers`, which collects what a `decided` property depends on, does not search
# them.
_OPAQUE_TYPES = (
    str, bytes, int, float, complex, np.ndarray, np.generic, np.dtype, np.random.Generator, type,
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type(None),
    np.ufunc,
)  # fmt: skip


class Entry(Protocol):
    """The interface of a specialisation that a stub uses (`s2s.dispatch.specialization`)."""

    compiled: Compiled
    reach: PathResolver
    specs: Mapping[str, Spec]
    static: tuple[str, ...]
    seed: Any
    written: list[int]
    convert: list[tuple[int, Any]]


class CallStub:
    """A call stub: `run(*args)` returns the result for the user, or `MISS`.  `method()` generates
    the same function as the `__call__` of a class.  A back end that can run the call without
    Python code has `bytecode` instead of `method`."""

    bytecode: Any = None
    cls: Any = None  # the class whose `__call__` the stub is

    def __init__(self, entry: Any, run: Any, method: Callable[[], Any] | None) -> None:
        self.entry, self.run, self.method = entry, run, method

    def retry(self, *args: Any) -> Any:
        """Like `run`, but with the complete checks; tried after `run` of all stubs has missed."""
        return MISS

    def install(self, cls: type) -> None:
        """Install the C function that runs bytecode as the `__call__` of a class."""


def generate_stub(
    writer: StubWriter, function: Any, trees: dict[str, OutTree], result: str, asked: bool
) -> CallStub:
    """Generate the stub that calls a kernel's `function`.  `result` is a Python expression over the
    names of `trees`, which are bound to the trees built from the kernel's results.  Unless the
    program requested the back end (`asked`), the stub checks `S2S_BACKEND` in every call."""
    if not asked:
        variable, chosen = writer.constant(BACKEND_VARIABLE), environment.get(BACKEND_VARIABLE)
        if chosen is None:
            writer.miss(f"{variable} in environment")
        else:
            writer.miss(f"environment.get({variable}) is not {writer.constant(chosen)}")
    if writer.entry.written:
        writer.space["tapes"] = tapes
        writer.miss("tapes")  # live tapes must be notified before an array changes
    writer.arguments()
    writer.miss(writer.reach.code_changed(writer.constant))
    writer.guards()
    writer.parameters()
    writer.sizes()
    writer.holders()
    return writer.finish(function, trees, result)


class StubWriter:
    """Generates the stub for a Numba dispatcher.  `each_call` are the lines that run in each call,
    `after_change` those that run only after the change counter has moved, `last` those that use the
    values which `after_change` caches.  A line is a check that returns MISS, or an assignment."""

    # Whether the kernel may return `MISS`.
    may_miss = False

    def __init__(self, entry: Entry, args: tuple[Any, ...], borrows: bool = False) -> None:
        """`borrows`: the kernel has borrowed arguments (`borrowed_arguments.py`), so it checks
        that scalars and arrays have exactly the expected types, and returns NumPy scalars."""
        self.entry, self.args, self.borrows = entry, args, borrows
        self.compiled, self.reach = entry.compiled, entry.reach
        self.value = entry.reach.values(args)
        self.each_call: list[str] = []
        self.after_change: list[str] = []
        self.last: list[str] = []
        self.space: dict[str, Any] = {
            "MISS": MISS, "changes": change_counter.changes, "type_key": type_key, "all": all,
            "map": map, "is_": is_, "ndarray": np.ndarray, "set_attribute": object.__setattr__,
            "count_nonzero": np.count_nonzero, "environment": environment, "hasattr": hasattr,
        }  # fmt: skip
        self.constant = Constants(self.space)
        self.places: dict[Path, str] = {}  # the expressions of paths evaluated so far
        self.pinned: dict[Path, Any] = {}  # values fixed by an identity check
        self.symbols: dict[str, str] = {}
        self.lists: dict[int, tuple[Any, set[Any]]] = {}  # per container: what every call checks
        self.held: dict[int, list[Any] | None] = {}  # the containers reachable from an object
        self.given: list[str] = []  # the arguments of the kernel
        self.table: list[str] = []  # the array table, if the kernel takes one
        # Cached between calls: item 0 is the change count last validated, the others are arrays.
        self.kept: list[Any] = [None]

    # ---- source

    def text(self, path: Path) -> str:
        """A Python expression for the value of a path; named paths are variables."""
        if path in self.places:
            return self.places[path]
        *before, step = path
        return self.reach.step_text(self.text(tuple(before)) if before else "", step, self.constant)

    def name(self, path: Path) -> None:
        """Bind the value of a path to a variable, in each call."""
        if path not in self.places:
            name = f"v{len(self.places)}"
            self.each_call.append(f"{name} = {self.text(path)}")
            self.places[path] = name

    def miss(self, condition: str, rarely: bool = False) -> None:
        """Add a check: the stub misses if `condition` holds."""
        (self.after_change if rarely else self.each_call).append(f"if {condition}: return MISS")

    # ---- checks

    def arguments(self) -> None:
        names = [f"a{i}" for i in range(len(self.args))]
        self.each_call.append(f"{''.join(n + ', ' for n in names)} = a" if names else "() = a")
        for (name, spec), text, value in zip(self.entry.specs.items(), names, self.args):
            self.places[(("arg", name),)] = text
            self._argument((("arg", name),), spec, text, value)

    def _argument(self, path: Path, spec: Spec, text: str, value: Any) -> None:
        """Check the type of an argument; arrays and scalars are checked as kernel parameters."""
        if isinstance(spec, TreeSpec) and spec.kind in ("tuple", "list", "namedtuple", "dict"):
            self.miss(f"type({text}) is not {self.constant(type(value))}")
            if spec.kind == "dict":
                self.miss(f"[*{text}] != {self.constant(list(value))}")
            else:
                self.miss(f"len({text}) != {len(spec.children)}")
            for key, child in zip(spec.keys, spec.children):
                inner = (*path, child_step(spec.kind, key))
                self._argument(inner, child, self.text(inner), self.value(inner))
        elif isinstance(spec, (ArraySpec, ScalarSpec, RngSpec)) and not self._static(path):
            pass
        elif isinstance(spec, Fixed) and not self._static(path) and not _is_plain(value):
            self.miss(f"{text} is not {self.constant(value)}")
            self.pinned[path] = value
        else:
            static = ", True" if self._static(path) else ""
            expected = type_key(value, bool(static))
            other = f"type_key({text}{static}) != {self.constant(expected)}"
            if value is None or isinstance(value, (str, bytes, int)):
                # Mostly it is the same object: compare by identity first.
                other = f"{text} is not {self.constant.named(value)} and {other}"
            self.miss(other)

    def _static(self, path: Path) -> bool:
        return len(path) == 1 and path[0][1] in self.entry.static

    def guards(self) -> None:
        by_identity = {g.path for g in self.compiled.object_guards if g.kind == "is"}
        done: set[Path] = set()
        for guard in self.compiled.object_guards:
            path = guard.path
            if path in done and guard.kind == "is":
                self._pin(path, guard.expected)
                continue
            self._pin_containers(path)
            if self._is_immutable(path, guard.kind):
                if guard.kind == "is":
                    self._pin(path, guard.expected)
                continue
            if guard.kind == "function" and self._check_method_in_class(path, guard):
                continue
            own = self._is_of_own_module(path)
            rarely = own or self._is_announced(path, guard)
            if rarely and not own and self._is_own_method(path):
                # An object counts changes of its attributes, but its class may get another method.
                here = self._in_class(path, guard)
                rarely = here is not None
                if here is not None:
                    self.miss(f"not ({guard_text(guard, here, self.constant)})")
            if guard.kind == "length" and not rarely:
                done |= self.check_list_items(path, by_identity)
                if done >= {(*path, ("[]", 0))}:
                    continue
            if not rarely:
                self._record_list(path, guard)
            if guard.kind == "length" and not rarely:
                self.name(path)
            text = self.text(path)
            self.miss(f"not ({guard_text(guard, text, self.constant)})", rarely)
            if guard.kind == "is":
                self._pin(path, guard.expected)

    def check_list_items(self, path: Path, told: set[Path]) -> set[Path]:
        """Check all items of a list at once, if each has an identity guard (its path is in `told`);
        the paths of the items checked."""
        container = self.value(path)
        paths = {(*path, ("[]", i)) for i in range(len(container))}
        if type(container) is not list or not paths or not paths <= told:
            return set()
        self.name(path)
        self.compare_items(self.text(path), container)
        _, seen = self.lists.setdefault(id(container), (container, set()))
        seen |= {"length", *range(len(container))}
        return paths

    def compare_items(self, text: str, container: list[Any]) -> None:
        """Check that the items of a list are the same objects as now.  Unpacking, which fails for
        another length, is faster than one index after the other."""
        names = [f"i{i}" for i in range(len(container))]
        self.each_call.append(f"{''.join(n + ', ' for n in names)} = {text}")
        same = (f"{n} is {self.constant(v)}" for n, v in zip(names, container))
        self.miss(f"not ({' and '.join(same)})")

    def _check_method_in_class(self, path: Path, guard: Any) -> bool:
        """Check a method of an object that counts its changes, if possible, by a lookup in the
        class, which allocates no bound method.  The change counter covers a method set on the
        object, and a change of the object's class."""
        by_object = path[-1] == (".", "__func__")
        by_class = len(path) > 2 and path[-2] == (".", "__class__")
        holder = self.pinned.get(path[:-2])
        if not (by_object or by_class) or not change_counter.counts_changes(holder):
            return False
        cls, function, name = type(holder), guard.expected, path[-2 if by_object else -1][1]
        plain = cls.__getattribute__ is object.__getattribute__ and name not in vars(holder)
        if not plain or inspect.getattr_static(cls, name, None) is not function:
            return False
        here = attribute(self.constant(cls), name)
        condition = guard_text(guard, here, self.constant)
        announced = self._class_counts_changes(cls, name)
        self.miss(f"{self.text(path)} is not {self.constant(function)}", True)
        if by_class:
            self.miss(f"type({self.text(path[:-2])}) is not {self.constant(cls)}")
        self.miss(f"not ({condition})", announced)
        if announced and not _is_own_function(function):
            self.miss(f"not ({code_text(function, self.constant)})")
        return True

    def _pin(self, path: Path, value: Any) -> None:
        if not isinstance(value, (int, str)):
            self.pinned[path] = value
            self.places[path] = self.constant(value)

    def _is_immutable(self, path: Path, kind: str) -> bool:
        """True if the value of a path cannot change: it is an item of a pinned tuple."""
        prefixes = _prefixes(path)
        while prefixes and type(self.pinned.get(prefixes[0])) is not tuple:
            del prefixes[0]
        if not prefixes or any(type(self.value(p)) is not tuple for p in prefixes[:-1]):
            return False
        # The item of a tuple does not change, but its own contents may.
        return kind == "is" or isinstance(self.value(path), (int, float, str, tuple, type(None)))

    def _is_of_own_module(self, path: Path) -> bool:
        """True if a path leads through a constant, function, class or module that is a global of a
        module of this package.  Such a module counts rebindings of its globals.  The identity of
        the module is checked in every call."""
        own = next((p for p in _prefixes(path) if self._is_own(p)), None)
        if own is None:
            return False
        before = own[:-1]
        holder = self.value(before)
        module = isinstance(holder, types.ModuleType)
        if not change_counter.watch_module(vars(holder) if module else holder):
            return False
        if module and before[0][0] != "module" and before not in self.pinned:
            self.miss(f"{self.text(before)} is not {self.constant(holder)}")
            self._pin(before, holder)
        return True

    def _in_class(self, path: Path, guard: Any) -> str | None:
        """A Python expression for the function at a path, looked up in its defining class."""
        if path[-1] == (".", "__func__"):
            cls, name = type(self.pinned.get(path[:-2])), path[-2][1]
            found = inspect.getattr_static(cls, name, None) is guard.expected
            return attribute(self.constant(cls), name) if found else None
        for k in range(len(path) - 1, 0, -1):
            cls = self.value(path[:k])
            if isinstance(cls, type):
                text = self.constant(cls)
                for step in path[k:]:
                    text = self.reach.step_text(text, step, self.constant)
                return text
        return None

    def _is_own(self, path: Path) -> bool:
        *before, (_, key) = path
        try:
            holder = self.value(tuple(before)) if before else None
            value = self.value(path)
        except Exception:
            return False
        if isinstance(holder, types.ModuleType):
            holder = vars(holder)
        if not isinstance(holder, dict) or not isinstance(holder.get("__name__"), str):
            return False
        code = (type, types.FunctionType, types.BuiltinFunctionType, np.ufunc, types.ModuleType)
        constant = str(key).isupper() or isinstance(value, code)
        return constant and (holder["__name__"] + ".").startswith(_OWN)

    def _pin_containers(self, path: Path) -> None:
        """Pin the containers along a path that are attributes of objects which count their changes:
        another list or dict in their place increments the counter.  Their items are checked in
        every call."""
        for inner in _prefixes(path)[1:]:
            if inner in self.pinned or self._is_decided(inner) or not self._is_announced(inner):
                continue
            container = self.value(inner)
            if type(container) in (list, dict, tuple):
                self.miss(f"{self.text(inner)} is not {self.constant(container)}", True)
                self._pin(inner, container)

    def _is_announced(self, path: Path, guard: Any = None) -> bool:
        """True if the value of a path is invariant until the change counter moves."""
        if any(map(self._is_decided, _prefixes(path))):
            return True
        if self._is_own_method(path):
            return True
        if len(path) < 2 or path[:-1] not in self.pinned:
            return False
        holder, (step, key) = self.pinned[path[:-1]], path[-1]
        if step != "." or not change_counter.counts_changes(holder):
            return False
        if key not in vars(holder) and not self._is_class_attribute(holder, key, path):
            return False
        if guard is None:
            return True
        scalar = is_uncounted_scalar(guard.expected) and guard.kind == "equals"
        return not scalar and guard.kind not in ("length", "keys")

    def _is_class_attribute(self, holder: Any, key: str, path: Path) -> bool:
        """True if a path leads to a plain attribute of a class that counts its changes."""
        cls = type(holder)
        if cls.__getattribute__ is not object.__getattribute__:
            return False
        plain = inspect.getattr_static(cls, key, None) is self.value(path)
        return plain and self._class_counts_changes(cls, key)

    def _class_counts_changes(self, cls: type, name: str) -> bool:
        """Whether a class counts changes of the attribute `name`.  A later change may make another
        base define it, so the stub repeats this test after each change."""
        if not change_counter.class_counts_changes(cls, name):
            return False
        self.space["class_counts_changes"] = change_counter.class_counts_changes
        line = f"if not class_counts_changes({self.constant(cls)}, {name!r}): return MISS"
        if line not in self.after_change:
            self.after_change.append(line)
        return True

    def _is_own_method(self, path: Path) -> bool:
        """True if a path leads through an object of a class of this package to a method of that
        class.  Such objects count the setting of an attribute that shadows it.  (A method of a
        user's class may be replaced at any time.)"""
        names = [name for step, name in path if step == "."]
        if not {"__func__", "__class__"} & {*names}:
            return False
        holder = next((self.pinned[p] for p in _prefixes(path)[::-1] if p in self.pinned), None)
        function = self.value(path)
        if not isinstance(function, types.FunctionType) or not change_counter.counts_changes(
            holder
        ):
            return False
        return all((x.__module__ + ".").startswith(_OWN) for x in (function, type(holder)))

    def _is_decided(self, path: Path) -> bool:
        """True if a path leads to a `decided` property that depends only on objects which count
        their changes.  The lists and dicts among them are checked in every call."""
        if len(path) < 2 or path[:-1] not in self.pinned or path[-1][0] != ".":
            return False
        holder = self.pinned[path[:-1]]
        raw = getattr(type(holder), path[-1][1], None)
        if not (isinstance(raw, property) and hasattr(raw.fget, "_s2s_static")):
            return False
        if id(holder) not in self.held:
            self.held[id(holder)] = _containers(holder)
        containers = self.held[id(holder)]
        if containers is None:
            return False
        for container in containers:
            self.lists.setdefault(id(container), (container, set()))
        if not (type(holder).__module__ + ".").startswith(_OWN):
            here = attribute(self.constant(type(holder)), path[-1][1])
            line = f"if {here} is not {self.constant(raw)}: return MISS"
            announced = self._class_counts_changes(type(holder), path[-1][1])
            lines = self.after_change if announced else self.each_call
            if line not in lines:
                lines.append(line)
        return True

    def _record_list(self, path: Path, guard: Any) -> None:
        """Record what every call checks of a list: its length, and the identity of items."""
        owner = path if guard.kind == "length" else path[:-1]
        try:
            container = self.value(owner)
        except Exception:  # the path cannot be resolved: it is no list
            return
        if isinstance(container, list):
            _, seen = self.lists.setdefault(id(container), (container, set()))
            if guard.kind == "length":
                seen.add("length")
            elif guard.kind == "is":
                seen.add(path[-1][1])

    def parameters(self) -> None:
        table = self.tabled()
        for i, param in enumerate(self.compiled.params):
            if i in table:
                continue
            value = self.value(param.path)
            announced = self._is_announced(param.path)
            spec, ndim = param.spec, param.type.ndim
            text = self._given(i, param.path, announced and isinstance(value, np.ndarray))
            self.symbols[param.name] = text
            if i in self.entry.written and isinstance(spec, ArraySpec) and spec.layout == "A":
                self.space["overlaps_itself"] = overlaps_itself
                self.miss(f"overlaps_itself({text})")
            self.symbols |= {f"{param.name}.{k}": f"{text}.shape[{k}]" for k in range(ndim)}
            if self.checks_exactly(spec):
                continue
            # Numba's dispatcher checks types, ranks and layouts.  But it accepts any subclass of
            # ndarray, any byte order once it has seen an unaligned array, and a scalar of another
            # type by conversion.
            kept = text.startswith("kept[")
            if isinstance(spec, ArraySpec):
                other = f"{text}.dtype is not {self.constant(value.dtype)}"
                self.miss(f"type({text}) is not ndarray or {other}", kept)
            elif isinstance(spec, (ScalarSpec, RngSpec)):
                if announced:  # the counter covers a change of type, but not of the value
                    self.after_change.append(f"{text} = {self.text(param.path)}")
                self.miss(f"type({text}) is not {self.constant(type(value))}", announced)
            else:
                self.miss(f"type_key({text}) != {self.constant(type_key(value))}", kept)
        if table:
            self._table(table)

    def checks_exactly(self, spec: Spec) -> bool:
        """Whether the kernel checks that a parameter has exactly the expected type."""
        return self.borrows and is_borrowable(spec)

    def tabled(self) -> dict[int, ArraySpec]:
        """The array parameters that are passed in one table (`array_table.py`), by position."""
        return array_table.tabled_parameters(self.compiled)

    def _table(self, specs: dict[int, ArraySpec]) -> None:
        """Generate the array table; it is rebuilt only after a change, if the change counter covers
        all its arrays, and otherwise in each call."""
        params = {i: self.compiled.params[i] for i in specs}
        announced = all(self._is_announced(p.path) for p in params.values())
        lines = self.after_change if announced else self.each_call
        arrays, table = f"kept[{len(self.kept)}]", f"kept[{len(self.kept) + 1}]"
        self.kept += [None, None]
        if not announced:  # local variables: concurrent calls must not share the table
            arrays, table = "arrays", "table"
        lines.append(f"{arrays} = [{', '.join(self.text(p.path) for p in params.values())}]")
        for position, (i, param) in enumerate(params.items()):
            text = f"{arrays}[{position}]"
            self.symbols[param.name] = text
            self.symbols |= {
                f"{param.name}.{k}": f"{text}.shape[{k}]" for k in range(param.type.ndim)
            }
            if i in self.entry.written and specs[i].layout == "A":
                self.space["overlaps_itself"] = overlaps_itself
                self.miss(f"overlaps_itself({text})", announced)
        self.space["make_table"] = array_table.table_builder([*specs.values()])
        lines.append(f"{table} = make_table({arrays})")
        self.table = [table]

    def _given(self, i: int, path: Path, announced: bool) -> str:
        """A variable for a kernel parameter.  An array covered by the change counter is cached
        between calls."""
        text = self.text(path)
        if not text.isidentifier():
            name = f"p{i}"
            if announced:
                name = f"kept[{len(self.kept)}]"
                self.after_change.append(f"{name} = {text}")
                self.kept.append(None)
            else:
                self.each_call.append(f"{name} = {text}")
            text = name
        self.given.append(text)
        return text

    def sizes(self) -> None:
        for guard in self.compiled.guards:
            if relation(guard, self.compiled) is not None:
                continue  # the kernel checks it
            left, right = dim_text(guard.left, self.symbols), dim_text(guard.right, self.symbols)
            if not (_is_fixed(left) and _is_fixed(right)):
                self.last.append(f"if not {left} {guard.sign} {right}: return MISS")

    def holders(self) -> None:
        """Check that the objects written to are distinct; pinned ones were compared when the stub
        was generated.  Then complete the checks of the recorded lists and dicts."""
        loose: list[str] = []
        pinned = [p for p in self.compiled.holders if p in self.pinned]
        for path in self.compiled.holders:
            # A property has just created its value: it is distinct from all others.
            if path in self.pinned or self._is_decided(path):
                continue
            text = self.text(path)
            for other in [*loose, *(self.constant(self.pinned[p]) for p in pinned)]:
                self.miss(f"{text} is {other}")
            loose.append(text)
        for container, seen in self.lists.values():
            if isinstance(container, dict):
                here = self.constant(container)
                self.miss(f"[*{here}] != {self.constant(list(container))}")
                kept = self.constant(list(container.values()))
                self.miss(f"not all(map(is_, {here}.values(), {kept}))")
            elif seen != {"length", *range(len(container))}:
                here, kept = self.constant(container), self.constant(list(container))
                self.miss(f"len({here}) != {len(container)}")
                self.miss(f"not all(map(is_, {here}, {kept}))")

    # ---- the kernel call and its results

    def results(self) -> None:
        """Set the expressions of the kernel's results, and the conversions they need."""
        self.raw = {i: f"rest[{i}]" for i in range(len(self.compiled.result_types))}
        # Numba returns Python ints and bools, which need no conversion.
        self.converters = {i: c for i, c in self.entry.convert if c not in (int, bool)}
        if self.borrows:
            self.converters = {}

    def takes_seed(self) -> bool:
        """True if the kernel takes the seed as an argument; a dispatcher inlines a scalar seed."""
        return self.entry.seed is not None and not isinstance(self.entry.seed, np.generic)

    def finish(self, function: Any, trees: dict[str, OutTree], result: str) -> CallStub:
        """Generate the stub from the checks collected so far."""
        self.space["kernel"], self.space["seed"] = function, self.entry.seed
        given = [*self.given, *(["seed"] if self.takes_seed() else []), *self.table]
        self.results()
        after = [f"{name} = {self._tree(tree)}" for name, tree in trees.items()]
        after += self._side_effects()
        after.append(f"return {result}")
        self.space["failed"] = self._failed()
        self.space["kept"] = self.kept
        return self.made(given, after)

    def made(self, given: list[str], after: list[str]) -> CallStub:
        """The stub that calls the kernel with the arguments `given`; the lines `after` the call use
        its results."""

        def method() -> Any:
            self.space["debug"], self.space["SizeGuardFailed"] = debug_flag, SizeGuardFailed
            lines = ["if k or debug.active: raise SizeGuardFailed"]
            lines += [
                line.replace("return MISS", "raise SizeGuardFailed") for line in self.checks()
            ]
            header, miss = "call(self, /, *a, **k)", "self._in_python(*a, **k)"
            return self.function(header, lines, given, after, miss)

        run = self.function("call(*a)", self.checks(), given, after, "MISS")
        return CallStub(self.entry, run, method)

    def checks(self) -> list[str]:
        """The lines before the kernel call."""
        rarely: list[str] = []
        if self.after_change:
            # Read the counter first and store that count last: another thread may change objects
            # between the two.
            rarely = ["now = changes[0]", "if now is not kept[0]:"]
            rarely += [f"    {line}" for line in [*self.after_change, "kept[0] = now"]]
        return [*self.each_call, *rarely, *self.last]

    def function(
        self, header: str, checks: list[str], given: list[str], after: list[str], miss: str
    ) -> Any:
        """Compile the Python function; `miss` is the expression it returns if a check fails."""
        text = [f"def {header}:", "    try:", *(f"        {line}" for line in checks)]
        text += ["    except Exception: pass", "    else:", "        try:"]
        text.append(f"            rest = kernel({', '.join(given)})")
        text += ["        except Exception as error: failed(error)", "        else:"]
        if self.may_miss:
            text.append("          if rest is not MISS:")
        text += [f"            {line}" for line in after]
        text.append(f"    return {miss}")
        return self._with_cells("\n".join(text) + "\n")

    def _with_cells(self, text: str) -> Any:
        """The function with this source.  It gets the closure cells it reads as cells of its own,
        which are read faster than their attribute `cell_contents`."""
        cells: dict[str, Any] = {}

        def variable(match: re.Match[str]) -> str:
            cells[f"{match[1]}_contents"] = self.space[match[1]]
            return f"{match[1]}_contents"

        text = re.sub(r"\b(K\d+)\.cell_contents\b", variable, text)
        made: dict[str, Any] = {}
        if cells:
            lines = ["def outer():", *(f" {name} = None" for name in cells)]
            text = "\n".join(
                [*lines, *(f" {line}" for line in text.splitlines()), " return call\n"]
            )
        exec(compile(text, "<s2s call>", "exec"), self.space, made)
        if not cells:
            return made["call"]
        code = made["outer"]().__code__
        closure = tuple(cells[name] for name in code.co_freevars)
        return types.FunctionType(code, self.space, "call", None, closure)

    def _failed(self) -> Callable[[Exception], None]:
        compiled = self.compiled

        def failed(error: Exception) -> None:
            """Raise a kernel's error as the user's error, unless it only rejected its arguments."""
            unlike = isinstance(error, TypeError) and str(error).startswith("No matching def")
            untyped = type(error).__module__ == "numba.core.errors"
            rejected = isinstance(error, (SizeGuardFailed, Overlap, ArgumentMismatch))
            if not (unlike or untyped or rejected):
                raise translate(error, compiled) from None

        return failed

    def _result(self, i: int) -> str:
        if i not in self.converters:
            return self.raw[i]
        return f"{self.constant(self.converters[i])}({self.raw[i]})"

    def _tree(self, tree: OutTree, leaf: Callable[[int], str] | None = None) -> str:
        leaf = leaf or self._result
        if isinstance(tree, Out):
            value = leaf(tree.index)
            return f"{self.constant(immutable)}({value})" if tree.tensor else value
        if isinstance(tree, Fixed):
            return self.constant(tree.value)
        if isinstance(tree, Argument):
            return self.text(tree.path)
        if isinstance(tree, Either):
            first, second = self._tree(tree.first, leaf), self._tree(tree.second, leaf)
            return f"({first} if {leaf(tree.condition.index)} else {second})"
        assert isinstance(tree, Tree)
        inner = [self._tree(child, leaf) for child in tree.children]
        if tree.kind == "tuple":
            return f"({''.join(t + ', ' for t in inner)})"
        if tree.kind == "list":
            return f"[{', '.join(inner)}]"
        if tree.kind == "dict":
            pairs = (f"{self.constant(k)}: {t}" for k, t in zip(tree.keys, inner))
            return f"{{{', '.join(pairs)}}}"
        return f"{self.constant(_constructor(tree))}([{', '.join(inner)}])"

    def _side_effects(self) -> list[str]:
        """The assignments to attributes and items of non-local objects that the function makes.
        All values are evaluated before the first assignment."""
        lines, last = [], []
        for n, (path, (kind, key), tree) in enumerate(self.compiled.changes):
            holder = self.value(path)
            value = self._tree(tree, self._stored_result)
            lines += [f"h{n} = {self.text(path)}", f"n{n} = {value}"]
            if kind != ".":
                last.append(f"h{n}[{self.constant(key)}] = n{n}")
            elif self._keeps_scalar_type(holder, key, tree) and path in self.pinned:
                here = self.constant(vars(holder))
                self.miss(f"{self.text(path)}.__dict__ is not {here}", True)
                last.append(f"{here}[{key!r}] = n{n}")
            elif self._keeps_scalar_type(holder, key, tree):
                last.append(f"set_attribute(h{n}, {key!r}, n{n})")
            else:
                plain = attribute(f"h{n}", key).startswith(f"h{n}.")
                last.append(f"h{n}.{key} = n{n}" if plain else f"setattr(h{n}, {key!r}, n{n})")
        return lines + last

    def _stored_result(self, i: int) -> str:
        """A result to be stored in an object: a Python float remains a Python float."""
        is_float = is_python_float(self.compiled.result_types[i])
        return self.python_float(i) if is_float else self._result(i)

    def python_float(self, i: int) -> str:
        if self.borrows and boxed_results(self.compiled)[i] == "float":
            return self.raw[i]
        return f"float({self.raw[i]})"

    def _keeps_scalar_type(self, holder: Any, key: str, tree: OutTree) -> bool:
        """True if an assignment replaces a Python scalar by one of the same type, which does not
        count as a change."""
        if not isinstance(tree, Out) or type(holder).__setattr__ is not Announces.__setattr__:
            return False
        type_ = self.compiled.result_types[tree.index]
        kind = {"int64": int, "float64": float}.get(type_.dtype)
        weak = isinstance(type_, Scalar) and type_.weak
        plain = not hasattr(getattr(type(holder), key, None), "__set__")
        return weak and plain and kind is type(vars(holder).get(key))


def is_python_float(type_: Type) -> bool:
    """True if a type is that of a Python float (weakly typed float64)."""
    return isinstance(type_, Scalar) and type_.weak and type_.dtype == "float64"


def _is_own_function(function: Any) -> bool:
    """True if a function is defined in this package, whose code is not replaced at run time."""
    return (function.__module__ + ".").startswith(_OWN)


def _is_plain(value: Any) -> bool:
    """True if a value is compared by its type key, not by identity."""
    return value is None or isinstance(value, (str, bytes, int, types.FunctionType))


def _prefixes(path: Path) -> list[Path]:
    return [path[:i] for i in range(1, len(path) + 1)]


def _is_fixed(text: str) -> bool:
    return not any(c.isalpha() for c in text)


def _containers(root: Any) -> list[Any] | None:
    """The lists and dicts reachable from an object; None if an object that does not count its
    changes is reachable."""
    found: dict[int, Any] = {}
    worklist = [root]
    seen: set[int] = set()
    while worklist:
        value = worklist.pop()
        if id(value) in seen or isinstance(value, _OPAQUE_TYPES):
            continue
        seen.add(id(value))
        if change_counter.counts_changes(value):
            worklist += vars(value).values()
        elif type(value) is list or type(value) is dict:
            found[id(value)] = value
            worklist += value.values() if isinstance(value, dict) else value
        elif type(value) is tuple:
            worklist += value
        else:
            return None
    return list(found.values())


def _constructor(tree: Tree) -> Callable[[list[Any]], Any]:
    """A constructor of a namedtuple or dataclass from a list of values."""
    flat = Tree(tree.kind, tree.cls, tree.keys, tuple(Out(i) for i in range(len(tree.children))))
    return lambda values: rebuild(flat, values.__getitem__, lambda path: None)
