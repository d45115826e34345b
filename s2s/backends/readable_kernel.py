"""`backend="python"`: the readable source, interpreted by CPython with the user's own objects.

The text takes arguments and objects, not the numbers and arrays in them, and sets in objects what
the program sets.  A kernel yields a list of results, so that these are collected from what the text
returns and from the objects.  Where the values at hand are not those in the objects (a tape that
replays a block), the text runs on stand-ins for the objects.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..call.kernel_arguments import WEAK_SCALAR_TYPES
from ..errors import add_source_line
from ..runtime.ieee_math import Real, math
from ..transforms.frontend.pytree import (
    Argument,
    Either,
    Out,
    OutTree,
    Path,
    ScalarSpec,
    Spec,
    Tree,
    follow,
    with_steps,
    without_array,
)
from ..transforms.ir.nodes import Array
from .run_text import run_text

if TYPE_CHECKING:
    from ..transforms.pipeline import Compiled

World = Callable[[Path], Any]


class ReadableKernel:
    """The kernel of a specialisation.  `world` gives the user's object at a path."""

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        source = _with_ieee_floats(compiled)
        given = {"np": np, "math": math, _REAL: _real}
        self.space = run_text(compiled.source, f"<s2s {compiled.name}>", given, source)
        entry = self.space[compiled.name]
        code = entry.__code__
        self.entry, self.positional = entry, code.co_argcount
        self.named = code.co_varnames[self.positional : self.positional + code.co_kwonlyargcount]
        self.casts = [_cast(p.spec) for p in compiled.params]
        # The parameters by path; of a Variable the array has another path than the Variable.
        self.whole = {p.path: i for i, p in enumerate(compiled.params)}
        self.leaves = {without_array(p.path): i for i, p in enumerate(compiled.params)}

    def __call__(
        self,
        params: tuple[Any, ...],
        seed: Any,
        buffers: Sequence[Any] = (),
        world: World | None = None,
    ) -> list[Any]:
        values = [cast(p) if cast else p for cast, p in zip(self.casts, params)]
        if world is None:
            world = _StandIns({path: values[i] for path, i in self.leaves.items()})
        holders = [world(path) for path, _, _ in self.compiled.changes]
        given = [
            values[self.whole[path]] if path in self.whole else world(path)
            for _, path in self.compiled.takes
        ]
        if seed is not None:
            given.append(seed)
        count = self.positional
        try:
            with np.errstate(all="ignore"):
                found = self.entry(*given[:count], **dict(zip(self.named, given[count:])))
        except Exception as error:
            add_source_line(error, self.space["__name__"], self.compiled)
            raise
        return self.results(found, holders, world)

    def results(self, found: Any, holders: list[Any], world: World) -> list[Any]:
        """The kernel's results from what the text returned, and from what it set in objects."""
        compiled = self.compiled
        out: list[Any] = [None] * len(compiled.result_types)
        trees = compiled.grads
        value, bars = (found, ()) if not trees else found
        _collect(compiled.out, value, out, world)
        for tree, bar in zip(trees, (bars,) if len(trees) == 1 else bars):
            _collect(tree, bar, out, world)
        for (_, step, tree), holder in zip(compiled.changes, holders):
            _collect(tree, follow(holder, (step,)), out, world)
        for i, type_ in enumerate(compiled.result_types):
            if isinstance(type_, Array) and out[i] is not None:
                out[i] = np.asarray(out[i])  # of a Tensor or another subclass: its data
        self._separate_gradients(out)
        return out

    def _separate_gradients(self, out: list[Any]) -> None:
        """Copy gradients that share memory with another result: compiled kernels have a buffer for
        each, while the text may return one array for several."""
        buffers = self.compiled.out_like
        arrays = {i: v for i, v in enumerate(out) if isinstance(v, np.ndarray)}
        seen = {id(_owner(v)) for i, v in arrays.items() if i not in buffers}
        for i in sorted(buffers.keys() & arrays.keys()):
            if id(_owner(out[i])) in seen:
                out[i] = out[i].copy()
            seen.add(id(_owner(out[i])))


def _owner(array: Any) -> Any:
    """The array whose memory a view shows, or the array itself."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class StandIn:
    """An object or container that has only the parts that a program reads."""

    def __init__(self, *values: Any) -> None:
        self._values = values
        self._items: dict[Any, Any] = {}

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._items[key] = value


class _StandIns:
    """Stand-ins that hold given values, by path."""

    def __init__(self, leaves: dict[Path, Any]) -> None:
        self.known: dict[Path, Any] = {}
        for path, value in leaves.items():
            self.put(path, value)

    def put(self, path: Path, value: Any) -> None:
        self.known[path] = value
        if len(path) > 1:
            kind, key = path[-1]
            holder = self(path[:-1])
            if kind == ".":
                setattr(holder, key, value)
            else:
                holder[key] = value

    def __call__(self, path: Path) -> Any:
        if path not in self.known:
            (kind, root), *steps = path
            as_it_is = kind == "held" and not steps and path not in self.known
            self.put(path, root.value if as_it_is else StandIn())
        return self.known[path]


def _collect(tree: OutTree, value: Any, out: list[Any], world: World) -> None:
    """Puts the numbers and arrays of a result at their places in the kernel's results."""
    if isinstance(tree, Out):
        out[tree.index] = value
    elif isinstance(tree, Tree):
        for position, (key, child) in enumerate(zip(tree.keys, tree.children)):
            if isinstance(value, StandIn):
                part = value._values[position]
            elif tree.kind == "dataclass":
                part = getattr(value, key)
            else:
                part = value[key if tree.kind == "dict" else position]
            _collect(child, part, out, world)
    elif isinstance(tree, Either):
        options = [o.path for o in (tree.first, tree.second) if isinstance(o, Argument)]
        known = isinstance(tree.first, Argument)
        same = bool(options) and value is world(options[0])
        out[tree.condition.index] = chosen = same if known else not same
        _collect(tree.first if chosen else tree.second, value, out, world)


# ---------------------------------------------------------------- numbers

_REAL = "_s2s_real"


def _cast(spec: Spec) -> Callable[[Any], Any] | None:
    """The conversion of a number to one whose arithmetic is that of compiled code."""
    if not isinstance(spec, ScalarSpec):
        return None
    if spec.weak:
        return {**WEAK_SCALAR_TYPES, "float64": Real}[spec.dtype]
    return np.dtype(spec.dtype).type


def _real(value: Any) -> Any:
    return Real(value) if type(value) is float else value


def _with_ieee_floats(compiled: Compiled) -> ast.Module | None:
    """The text's tree, in which Python floats that are read from objects follow IEEE 754."""
    texts: set[str] = set()
    for p in compiled.params:
        if isinstance(p.spec, ScalarSpec) and p.spec.weak and p.spec.dtype == "float64":
            texts |= {
                ast.unparse(ast.parse(with_steps(name, p.path[len(root) :])))
                for name, root in compiled.takes
                if p.path[: len(root)] == root and len(p.path) > len(root)
            }
    if not texts:
        return None
    tree = ast.parse(compiled.source)
    _IeeeFloats(texts).visit(tree)
    return ast.fix_missing_locations(tree)


class _IeeeFloats(ast.NodeTransformer):
    def __init__(self, texts: set[str]) -> None:
        self.texts = texts

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            read = isinstance(node, ast.Call) or isinstance(node.ctx, ast.Load)
            if read and ast.unparse(node) in self.texts:
                name = ast.copy_location(ast.Name(_REAL, ast.Load()), node)
                return ast.copy_location(ast.Call(name, [node], []), node)
        return self.generic_visit(node)
