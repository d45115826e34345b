"""Parameters and results of an emitted function, in the structure of the user's.

A kernel takes numbers and arrays.  The text takes the user's own arguments, and the other objects
that it reads, by their names: a part is read by its path, as `net.first.kernel` or
`params[0]["w"]`.  Results and gradients have the user's structure, and attributes that the program
sets are assigned by statements.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..bufferize.coalesce import RESERVED
from ..frontend.kernel_interface import Interface
from ..frontend.pytree import (
    Argument,
    Either,
    Fixed,
    Held,
    Out,
    OutTree,
    Path,
    Step,
    Tree,
    arguments_in,
    child_step,
    is_variable_array,
    literal_text,
    path_name,
    with_steps,
    without_array,
)
from ..ir.record import field, record

# Calls that make an instance of a class from its fields need one of these; others go without.
NAMESPACE = "SimpleNamespace"
_LITERALS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
Change = tuple[Path, Step, OutTree]


@record
class Outside:
    """The parameters of an emitted function, `roots`, by path of the object; and by name of a
    kernel's parameter how the text reads it, `reads`."""

    interface: Interface
    roots: dict[Path, str] = field(default_factory=dict)
    reads: dict[str, str] = field(default_factory=dict)
    variables: frozenset[str] = frozenset()  # the kernel's parameters that are arrays of Variables
    # What the text must read before it sets anything: by path the name, and the expression.
    before: dict[Path, tuple[str, str]] = field(default_factory=dict)

    @staticmethod
    def of(interface: Interface, taken: Iterable[str]) -> Outside:
        """`taken` are names of the user's that do not stand for arguments."""
        made = Outside(interface)
        params = interface.params
        whole = {r: p.name for p in params if len(r := _root(p.path)) == len(p.path)}
        used = {*taken, *RESERVED, *whole.values()}
        paths = [p.path for p in params]
        paths += [path for tree in interface.trees() for path in arguments_in(tree)]
        paths += [path for path, _, _ in interface.changes]
        roots = dict.fromkeys(map(_root, paths))
        values = dict.fromkeys(Held(v) for t in interface.built() for v in _objects(t))
        order: dict[Path, int] = {
            (("arg", name),): position for position, name in enumerate(interface.args)
        }
        ordered = sorted(roots, key=lambda root: order.get(root, len(order)))
        for root in [*ordered, *((("held", value),) for value in values)]:
            name = whole.get(root) or (root[0][1] if root in order else "")
            made.roots[root] = name or _free(_root_name(root), used)
            used.add(made.roots[root])
        made.reads = {p.name: made.text(p.path) for p in interface.params}
        made.variables = frozenset(p.name for p in interface.params if is_variable_array(p.path))
        found = [(path, path_name(path), made.text(path)) for path in _replaced(interface)]
        for path, name, text in found:
            name = _free(name, used)
            used.add(name)
            made.before[path] = name, text
        return made

    def text(self, path: Path) -> str:
        """The expression that reads what stood at a path when the call began."""
        path = without_array(path)
        for count in range(len(path), 0, -1):
            if path[:count] in self.before:
                return with_steps(self.before[path[:count]][0], path[count:])
        root = _root(path)
        return with_steps(self.roots[root], without_array(path)[len(root) :])

    def place(self, path: Path) -> tuple[str, tuple[Step, ...]] | None:
        """The parameter that a path begins with and the steps from there; None if the text reads
        the value before it sets anything."""
        path = without_array(path)
        if any(path[:count] in self.before for count in range(len(path), 0, -1)):
            return None
        root = _root(path)
        return self.roots[root], tuple(path[len(root) :])

    # ---- results

    def tree_text(self, tree: OutTree, leaf: Callable[[int], str], path: Path = ()) -> str:
        """The expression that makes a result of its leaves.  `path` leads to the argument that a
        gradient has the structure of."""
        if isinstance(tree, Out):
            return leaf(tree.index)
        if isinstance(tree, Fixed):
            return self.fixed_text(tree.value)
        if isinstance(tree, Argument):
            return self.text(tree.path)
        if isinstance(tree, Either):
            first, second = (self.tree_text(t, leaf) for t in (tree.first, tree.second))
            return f"({first} if {leaf(tree.condition.index)} else {second})"
        steps = [child_step(tree.kind, key) for key in tree.keys]
        inner = [
            self.tree_text(child, leaf, (*path, step) if path else ())
            for step, child in zip(steps, tree.children)
        ]
        if tree.kind == "tuple":
            return f"({inner[0]},)" if len(inner) == 1 else f"({', '.join(inner)})"
        if tree.kind == "list":
            return f"[{', '.join(inner)}]"
        if tree.kind == "dict":
            items = (f"{self.fixed_text(k)}: {v}" for k, v in zip(tree.keys, inner))
            return f"{{{', '.join(items)}}}"
        if not _is_called_by_fields(tree.cls):
            fields = (f"{k}={v}" for k, v in zip(tree.keys, inner))
            return f"{NAMESPACE}({', '.join(fields)})"
        made = f"type({self.text(path)})" if path else self.fixed_text(tree.cls)
        return f"{made}({', '.join(inner)})"

    def fixed_text(self, value: Any) -> str:
        if _is_literal(value):
            return "..." if value is ... else literal_text(value)
        return self.roots[(("held", Held(value)),)]

    def target_text(self, holder: Path, step: Step) -> str:
        return with_steps(self.text(holder), (step,))

    def under(self, holder: Path, step: Step) -> set[str]:
        """The kernel's parameters that are read by way of a place in an object."""
        place = (*holder, step)
        return {p.name for p in self.interface.params if p.path[: len(place)] == place}


def _replaced(interface: Interface) -> list[Path]:
    """The paths to objects that results and changes mention, by way of places that are set."""
    places = [(*holder, step) for holder, step, _ in interface.changes]
    # The others that hold arguments are set together, after all are evaluated.
    first = [(*h, step) for h, step, tree in interface.changes if not holds_argument(tree)]
    found: list[Path] = []
    for holder, _, tree in interface.changes:
        found += _under([holder], places)
        found += _under(arguments_in(tree), first)
    found += _under(arguments_in(interface.out), places)
    return sorted(dict.fromkeys(found), key=len)


def _under(paths: Iterable[Path], places: list[Path]) -> Iterator[Path]:
    """Those of the paths that lead to one of the places, or through it."""
    for path in map(without_array, paths):
        if any(path[: len(place)] == place for place in places):
            yield path


def _root(path: Path) -> Path:
    """The shortest prefix of a path that is a parameter of the text: an argument, a global, or an
    object that no expression of the user's reads."""
    path = without_array(path)
    count = 2 if path[0][0] in ("module", "namespace") else 1
    for position in range(1, len(path)):
        kind, key = path[position]
        if kind == "." and key.startswith("__"):
            count = position + (2 if key in ("__globals__", "__dict__") else 1)
        elif kind == "[]" and not _is_key(key):
            count = position + 1
    return path[: max(1, min(count, len(path)))]


def _is_key(key: Any) -> bool:
    if type(key) is tuple:
        return all(map(_is_key, key))
    return type(key) in (int, str, bool, type(None))


def _root_name(root: Path) -> str:
    if root[-1] == (".", "__self__"):  # of a method that was reached by name
        return "self"
    names = [s for s in root if not (s[0] == "." and s[1].startswith("__"))]
    kept = names[-1:] if names else root[-1:]
    return path_name((("global", str(kept[0][1]).rpartition(".")[2]),))


def _free(name: str, used: set[str]) -> str:
    found, number = name, 0
    while found in used:
        number += 1
        found = f"{name}_{number}"
    return found


def holds_argument(tree: OutTree) -> bool:
    """Whether a result holds an object from outside."""
    return any(True for _ in arguments_in(tree))


def _objects(tree: OutTree) -> Iterator[Any]:
    """The objects that a result holds as they are, and the classes whose instances are made."""
    if isinstance(tree, Fixed):
        if not _is_literal(tree.value):
            yield tree.value
    elif isinstance(tree, Tree):
        if tree.kind in ("namedtuple", "dataclass") and _is_called_by_fields(tree.cls):
            yield tree.cls
        if tree.kind == "dict":
            yield from (key for key in tree.keys if not _is_literal(key))
        for child in tree.children:
            yield from _objects(child)
    elif isinstance(tree, Either):
        yield from (*_objects(tree.first), *_objects(tree.second))


def _is_literal(value: Any) -> bool:
    return type(value) in _LITERALS


def _is_called_by_fields(cls: Any) -> bool:
    """Whether a call with the values of all fields makes an instance of exactly these."""
    if not dataclasses.is_dataclass(cls):
        return True  # a namedtuple
    made: Any = cls
    own = made.__dataclass_params__.init and "__init__" in vars(cls)
    fields = dataclasses.fields(made)
    plain = all(f.init and not getattr(f, "kw_only", False) for f in fields)
    return own and plain and not hasattr(cls, "__post_init__")
