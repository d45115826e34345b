"""The shape of arguments and results: trees of numbers and arrays, and paths into objects.

`describe` turns a value into a hashable *spec*; two values with equal specs run the same
compiled code as long as its guards hold.  Containers are taken apart: the kernel sees
leaves only.  Anything that is no number, array or known container is a `Fixed` object:
the program may look inside it while it is specialised, by paths that are guarded.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..ir.errors import UnsupportedError
from ..ir.nodes import MAX_RANK, Array, Record, Rng, Scalar, Type
from ..ir.quote import attribute
from ..ir.record import record, replace
from ..ir.symbolic_dims import Dim

# A path is a root and steps: ("arg", "x"), ("global", "W"), ("closure", "k"), ("module",
# "package.module"), ("namespace", "package.module") for the dict of a module's globals, where ""
# stands for those of the function itself, or ("held", Held(object)) for an object to which nothing
# else leads; followed by (".", attribute) or ("[]", key) steps.
Step = tuple[str, Any]
Path = tuple[Step, ...]

# Libraries, which stay what they are while a program runs.
CONSTANT_MODULES = ("numpy", "math", "scipy", "cmath", "builtins", "numba", "operator", "functools")


class Held:
    """The root of a path that is an object itself, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self.value is other.value

    def __str__(self) -> str:
        return getattr(self.value, "__qualname__", None) or type(self.value).__name__

    __repr__ = __str__


@record(frozen=True)
class ArraySpec:
    dtype: str
    ndim: int
    layout: str
    writeable: bool = True
    tensor: bool = False  # an immutable value, as in the `tf` namespace
    device: bool = False  # in the memory of a device, contiguous


@record(frozen=True)
class ScalarSpec:
    dtype: str
    weak: bool


@record(frozen=True)
class RecordSpec:
    fields: tuple[tuple[str, str], ...]
    ndim: int


@record(frozen=True)
class TreeSpec:
    """`kind` is tuple, list, dict, namedtuple or dataclass; `keys` name the children."""

    kind: str
    cls: Any
    keys: tuple[Any, ...]
    children: tuple[Spec, ...]


@record(frozen=True)
class Fixed:
    """An object that is part of the specialisation itself, compared by `identify`."""

    value: Any

    def __hash__(self) -> int:
        return hash(identify(self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and identify(self.value) == identify(other.value)


@record(frozen=True)
class RngSpec:
    """An `np.random.Generator`."""


Spec = ArraySpec | ScalarSpec | RecordSpec | RngSpec | TreeSpec | Fixed


def identify(value: Any) -> Any:
    """What decides whether two static objects are the same: value for plain data, identity
    for everything else."""
    if value is None or isinstance(value, (str, bytes, bool, int, float, complex, type(Ellipsis))):
        return (type(value).__name__, value)
    if isinstance(value, np.dtype):
        return ("dtype", value.str)
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, types.FunctionType):
        return same_function(value)
    return ("id", id(value))


def same_function(function: types.FunctionType) -> Any:
    """Functions made anew by the same lines are the same to the compiler: what they close
    over is looked up anew in every call, or guarded for itself."""
    defaults = tuple(map(identify, function.__defaults__ or ()))
    named = tuple((k, identify(v)) for k, v in (function.__kwdefaults__ or {}).items())
    return ("function", function.__code__, id(function.__globals__), defaults, named)


def describe(value: Any, static: bool = False) -> Spec:
    """The spec of one argument.  Raises TypeError for arrays no code can be made for."""
    if static:
        return Fixed(value)
    if isinstance(value, np.ndarray):
        return _describe_array(value)
    if isinstance(value, (bool, np.bool_)):
        return ScalarSpec("bool", isinstance(value, bool))
    if isinstance(value, np.generic) and value.dtype.kind in "fiuc":
        refuse_long_double(value.dtype)
        return ScalarSpec(value.dtype.name, False)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            message = f"the integer {_short(value)} does not fit in 64 bits"
            raise UnsupportedError(message, advice="pass a float")
        return ScalarSpec("int64", True)
    if isinstance(value, float):
        return ScalarSpec("float64", True)
    if isinstance(value, complex) and not isinstance(value, np.generic):
        return ScalarSpec("complex128", True)
    if isinstance(value, np.random.Generator):
        return RngSpec()
    if hasattr(type(value), "_s2s_device"):
        array: Any = value
        return ArraySpec(array.dtype.name, array.ndim, "C", array.writeable, device=True)
    refuse_foreign(value)
    children = _children(value)
    if children is None:
        return Fixed(value)
    kind, keys, values = children
    return TreeSpec(kind, type(value), keys, tuple(describe(v) for v in values))


def refuse_long_double(dtype: np.dtype[Any]) -> None:
    if dtype.kind == "f" and dtype.itemsize > 8 or dtype.kind == "c" and dtype.itemsize > 16:
        plain = "np.float64" if dtype.kind == "f" else "np.complex128"
        raise TypeError(f"np.longdouble ({dtype}) is not supported; use x.astype({plain})")


def _short(value: int) -> str:
    return str(value) if value.bit_length() < 200 else f"of {value.bit_length()} bits"


def refuse_foreign(value: Any) -> None:
    """What looks like something that is supported, and is not.  Containers of Numba's own are
    recognised without importing Numba."""
    if isinstance(value, np.random.RandomState):
        raise UnsupportedError(
            "np.random.RandomState is not supported", advice="use np.random.default_rng(seed)"
        )
    cls = value if isinstance(value, type) else type(value)
    if (cls.__module__ or "").startswith("numba.typed"):
        plain = "list" if cls.__name__ == "List" else "dict"
        raise UnsupportedError(
            f"numba.typed.{cls.__name__} is not supported", advice=f"use a {plain} or a dataclass"
        )
    if type(cls).__name__ == "JitClassType" or "jitclass" in (cls.__module__ or ""):
        name = getattr(cls, "class_type", cls)
        name = getattr(name, "class_name", cls.__name__)
        raise UnsupportedError(
            f"{name} is a jitclass, which is not supported", advice="use a dataclass"
        )


def _describe_array(value: np.ndarray[Any, Any]) -> Spec:
    if type(value) is not np.ndarray:  # asking for np.ma imports it
        if isinstance(value, np.ma.MaskedArray):
            raise TypeError("masked arrays are not supported; pass the data and the mask apart")
        if isinstance(value, np.matrix):
            raise TypeError("np.matrix is not supported; pass np.asarray(matrix)")
        own = _own_behaviour(type(value))
        if own:
            raise TypeError(
                f"{type(value).__name__} has its own {own}, and compiled code computes as plain "
                "arrays do; pass np.asarray(x)"
            )
    dtype = value.dtype
    if dtype.kind == "O":
        raise TypeError("object arrays are not supported; convert to float64")
    if dtype.names is not None:
        fields = tuple((n, _field_dtype(dtype.fields[n][0])) for n in dtype.names)  # type: ignore[index]
        return RecordSpec(fields, value.ndim)
    if not dtype.isnative:
        raise TypeError(
            "arrays of foreign byte order are not supported; "
            "use x.astype(x.dtype.newbyteorder('='))"
        )
    if dtype.kind not in "fiubc":
        raise TypeError(f"arrays of {dtype} are not supported")
    if dtype.name == "float16":
        raise TypeError("float16 arrays are not supported; use x.astype(np.float32)")
    refuse_long_double(dtype)
    if value.ndim > MAX_RANK:
        raise TypeError(
            f"arrays of more than {MAX_RANK} axes are not supported; "
            f"this one has {value.ndim}: join axes with reshape"
        )
    layout = "C" if value.flags.c_contiguous else "A"
    writeable = bool(value.flags.writeable)
    tensor = not writeable and hasattr(type(value), "_s2s_tensor")
    return ArraySpec(dtype.name, value.ndim, layout, writeable, tensor)


# What a subclass of np.ndarray may define without computing something else than its base.
_HARMLESS = frozenset(
    """
__new__ __init__ __del__ __doc__ __module__ __repr__ __str__ __format__ __hash__ __copy__
__deepcopy__
__reduce__ __reduce_ex__ __setstate__ __getattribute__ __setattr__ __delattr__ __dir__ __sizeof__
__init_subclass__ __subclasshook__ __class_getitem__ __array_finalize__ __array_wrap__
__array_prepare__ __array_priority__
""".split()
)


def _own_behaviour(cls: type) -> str | None:
    """The first attribute of np.ndarray that a subclass defines anew and that may change what is
    computed with it."""
    if cls in (np.memmap, np.recarray) or hasattr(cls, "_s2s_array"):
        return None
    bases = cls.__mro__[: cls.__mro__.index(np.ndarray)]
    own = (n for base in bases if base not in (np.memmap, np.recarray) for n in vars(base))
    return next((n for n in own if n in vars(np.ndarray) and n not in _HARMLESS), None)


def _field_dtype(dtype: np.dtype[Any]) -> str:
    """The name of a field's dtype; of one in foreign byte order the text that tells it apart."""
    return dtype.name if dtype.isnative else dtype.str


def _children(value: Any) -> tuple[str, tuple[Any, ...], tuple[Any, ...]] | None:
    """Kind, keys and values of a container, or None."""
    fields = getattr(value, "_fields", None)
    if isinstance(value, tuple) and fields is not None:
        return "namedtuple", tuple(fields), tuple(value)
    if type(value) is tuple:
        return "tuple", tuple(range(len(value))), value
    if type(value) is list:
        return "list", tuple(range(len(value))), tuple(value)
    if type(value) is dict:
        return "dict", tuple(value), tuple(value.values())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(f.name for f in dataclasses.fields(value))
        return "dataclass", names, tuple(getattr(value, n) for n in names)
    return None


def as_tensors(spec: Spec) -> Spec:
    """A spec whose arrays are immutable values, whoever may write to them."""
    if isinstance(spec, ArraySpec):
        return replace(spec, writeable=False, tensor=True)
    if isinstance(spec, TreeSpec):
        return replace(spec, children=tuple(map(as_tensors, spec.children)))
    return spec


def child_step(kind: str, key: Any) -> Step:
    return (".", key) if kind in ("namedtuple", "dataclass") else ("[]", key)


def spec_leaves(spec: Spec, path: Path) -> Iterator[tuple[Path, Spec]]:
    """The kernel's parameters in order: every leaf that is a number or array."""
    if isinstance(spec, TreeSpec):
        for key, child in zip(spec.keys, spec.children):
            yield from spec_leaves(child, (*path, child_step(spec.kind, key)))
    elif not isinstance(spec, Fixed):
        yield path, spec


def is_constant_module(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__.split(".")[0] in CONSTANT_MODULES


def follow(value: Any, steps: Path) -> Any:
    for kind, key in steps:
        value = getattr(value, key) if kind == "." else value[key]
    return value


def path_text(path: Path) -> str:
    """A path as the user would write it: `params["W"]`, `self.scale`."""
    (_, root), *steps = path
    return str(root) + "".join(f".{k}" if kind == "." else f"[{k!r}]" for kind, k in steps)


def without_array(path: Path) -> Path:
    """A path without the step from a Variable to its array."""
    return path[:-1] if is_variable_array(path) else path


def with_steps(text: str, steps: Iterable[Step]) -> str:
    """The expression that reads what lies some steps further."""
    for kind, key in steps:
        text = attribute(text, key) if kind == "." else f"{text}[{literal_text(key)}]"
    return text


def literal_text(key: Any) -> str:
    """A literal, a string in double quotes."""
    text = repr(key)
    plain = isinstance(key, str) and text[0] == "'" and '"' not in text and "\\" not in text
    return f'"{text[1:-1]}"' if plain else text


def is_variable_array(path: Path) -> bool:
    """Whether a path leads to the array of a Variable."""
    return len(path) > 1 and path[-1] == (".", "_array")


def path_name(path: Path) -> str:
    """A path as a Python identifier: `params_W`; of a global in another module, its name."""
    start = max((i + 1 for i, s in enumerate(path) if s == (".", "__globals__")), default=0)
    path = path[1:] if path[0][0] == "module" else path[start:]
    if path[-1] == (".", "_array"):  # of a Variable, which goes by its own name
        path = path[:-1]
    text = "_".join(str(key) for _, key in path)
    text = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in text)
    return text if text.isidentifier() else f"p_{text}"


def leaf_type(spec: Spec, name: str) -> Type:
    """The IR type of a parameter `name`; its sizes are the symbols `name.0`, `name.1`, …"""
    if isinstance(spec, ScalarSpec):
        value = Dim.of(name) if spec.dtype == "int64" else None
        return Scalar(spec.dtype, spec.weak, value)
    if isinstance(spec, ArraySpec):
        return Array(
            spec.dtype, tuple(Dim.of(f"{name}.{i}") for i in range(spec.ndim)), spec.layout
        )
    if isinstance(spec, RecordSpec):
        return Record(spec.fields, tuple(Dim.of(f"{name}.{i}") for i in range(spec.ndim)))
    if isinstance(spec, RngSpec):
        return Rng()
    raise AssertionError(spec)


# ---------------------------------------------------------------- results


@record(frozen=True)
class Out:
    """One result of the kernel, by position; as a `tensor`, if it is to be immutable."""

    index: int
    tensor: bool = False


@record(frozen=True)
class Argument:
    """The very object passed in at `path` (a function that returns its argument object)."""

    path: Path


@record(frozen=True)
class Tree:
    kind: str
    cls: Any
    keys: tuple[Any, ...]
    children: tuple[OutTree, ...]


@record(frozen=True)
class Either:
    """The first if a result of the kernel is true, else the second."""

    condition: Out
    first: OutTree
    second: OutTree


OutTree = Out | Argument | Tree | Fixed | Either


def arguments_in(tree: OutTree) -> Iterator[Path]:
    """The paths of the objects from outside in a result."""
    if isinstance(tree, Argument):
        yield tree.path
    elif isinstance(tree, Either):
        yield from (*arguments_in(tree.first), *arguments_in(tree.second))
    elif isinstance(tree, Tree):
        for child in tree.children:
            yield from arguments_in(child)


def leaves_in(tree: OutTree) -> Iterator[int]:
    """The positions of the kernel's results in a result."""
    if isinstance(tree, Out):
        yield tree.index
    elif isinstance(tree, Either):
        yield tree.condition.index
        yield from (*leaves_in(tree.first), *leaves_in(tree.second))
    elif isinstance(tree, Tree):
        for child in tree.children:
            yield from leaves_in(child)


def rebuild(
    tree: OutTree,
    leaf: Callable[[int], Any],
    argument: Callable[[Path], Any],
    tensor: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """The user's result from the kernel's; `tensor` makes immutable ones."""
    if isinstance(tree, Out):
        return tensor(leaf(tree.index)) if tree.tensor else leaf(tree.index)
    if isinstance(tree, Fixed):
        return tree.value
    if isinstance(tree, Argument):
        return argument(tree.path)
    if isinstance(tree, Either):
        chosen = tree.first if leaf(tree.condition.index) else tree.second
        return rebuild(chosen, leaf, argument, tensor)
    values = [rebuild(c, leaf, argument, tensor) for c in tree.children]
    if tree.kind == "tuple":
        return tuple(values)
    if tree.kind == "list":
        return values
    if tree.kind == "dict":
        return dict(zip(tree.keys, values))
    if tree.kind == "namedtuple":
        return tree.cls(*values)
    return _rebuild_dataclass(tree.cls, tree.keys, values)


def _rebuild_dataclass(cls: Any, names: tuple[Any, ...], values: list[Any]) -> Any:
    # __init__ may check or convert; a gradient is not an argument, so it is not asked.
    out = object.__new__(cls)
    for name, value in zip(names, values):
        object.__setattr__(out, name, value)
    return out
