"""Numba overloads: s2s functions called inside users' `@njit` code, `prange` included.

The Numba type of an s2s object (`_numba_type_`) is the type of a function that has an `@overload`.
When Numba resolves a call of it, the kernel is compiled for the argument types and for all sizes,
with the loop nests of the default back end, and a wrapper is generated that calls the kernel and
assembles the results.  Numba compiles the lowered source where `inlinable_kernel` refuses.

Scalars and arrays that the function reads from globals and closures are constants in `@njit` code,
as everywhere in Numba: frozen when the `@njit` function is compiled.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..backends.backends import inlinable_kernel, overlap_message
from ..backends.build_kernel import build_njit
from ..dispatch.specialization import seed_of
from ..errors import S2STypeError, UnsupportedError
from ..runtime.locks import kernel_locks
from ..transforms.frontend.pytree import Argument, ArraySpec, Fixed, Out, OutTree, Path
from ..transforms.ir.nodes import Scalar
from . import signature_spec

if TYPE_CHECKING:
    from ..dispatch.specializations import Specialiser
    from ..transforms.pipeline import Compiled


class Function(Protocol):
    """The interface of an s2s function that this module uses (`s2s.api.functions`)."""

    __name__: str
    _shared: Any
    _prefix: Any
    _fixed: Any
    _mode: Any
    _s2s_mode: Any

    def _specialiser(self, mode: Any) -> Specialiser: ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


def type_of(function: Function) -> Any:
    """The Numba type of an s2s object: the type of a function with an overload."""
    shared = function._shared
    if shared.numba_type is None:
        with kernel_locks("numba"):
            if shared.numba_type is None:
                shared.numba_type = _make_type(function)
    return shared.numba_type


def _make_type(function: Function) -> Any:
    from numba.core.registry import cpu_target
    from numba.extending import overload

    if function._prefix or function._fixed:
        raise UnsupportedError(
            f"{function!r} has arguments bound to it and cannot be called inside @njit",
            advice="call the gradient of a plain function that takes them as arguments",
        )
    signature = _signature(function)

    def stub() -> None:
        raise AssertionError("called by Numba only")

    stub.__name__ = function.__name__
    space: dict[str, Any] = {"implement": lambda *types: implement(function, types)}
    names = ", ".join(signature.parameters)
    text = f"def resolve{_header(signature, space)}:\n    return implement({names})\n"
    exec(text, space)
    overload(stub, strict=False, jit_options={"nogil": True})(space["resolve"])
    context: Any = cpu_target.typing_context
    context.refresh()  # registers the overload just declared
    return context.resolve_value_type(stub)


def _signature(function: Function) -> inspect.Signature:
    signature = inspect.signature(function)
    for p in signature.parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise UnsupportedError(
                f"{function.__name__} takes *{p.name} and cannot be called inside @njit"
            )
    return signature


def _header(signature: inspect.Signature, space: dict[str, Any]) -> str:
    """The parameter list as source, without annotations, with defaults by name."""
    parts = []
    for p in signature.parameters.values():
        if p.default is p.empty:
            parts.append(p.name)
        else:
            space[f"default_{p.name}"] = p.default
            parts.append(f"{p.name}=default_{p.name}")
    return f"({', '.join(parts)})"


# ---------------------------------------------------------------- one set of types


def implement(function: Function, types: tuple[Any, ...]) -> Callable[..., Any]:
    """The implementation that Numba compiles for a call with arguments of these types."""
    specialiser = function._specialiser(function._mode)
    args = tuple(_example(specialiser, n, t) for n, t in zip(specialiser.binder.names, types))
    compiled = specialiser.translate(specialiser.describe(args), None)
    if compiled.object_guards and any(g.path[0][0] == "arg" for g in compiled.object_guards):
        raise UnsupportedError(f"{function.__name__}: objects cannot be passed inside @njit")
    return _generate_implementation(function, specialiser, compiled, args)


def _example(specialiser: Specialiser, name: str, type_: Any) -> Any:
    """An example value of a Numba type, from which the specs are computed."""
    from numba import types

    if not isinstance(type_, types.Type):  # a default
        return type_
    if isinstance(type_, types.Omitted):
        return type_.value
    if isinstance(type_, types.Literal):
        return type_.literal_value
    if isinstance(type_, types.NoneType):
        return None
    if isinstance(type_, types.Function):  # a function argument: Numba passes only its type
        raise UnsupportedError(f"{name} of {specialiser.name}: functions cannot be passed in @njit")
    value = signature_spec.of_numba(specialiser.name, type_)
    return np.asfortranarray(value) if getattr(type_, "layout", "") == "F" else value


def _generate_implementation(
    function: Function, specialiser: Specialiser, compiled: Compiled, args: tuple[Any, ...]
) -> Callable[..., Any]:
    from ..codegen.numba_bridge.external_call import forbid_caching
    from ..kernels_numba.strided_overlap import may_overlap

    seed = seed_of(compiled, specialiser.options.has_aux) if specialiser.mode == "vjp" else None
    reach = _constants(specialiser)
    kernel = inlinable_kernel(
        compiled, seed, tuple(reach.value(args, param.path) for param in compiled.params)
    )
    inlinable = kernel is not None
    kernel = kernel or build_njit(compiled.lowered, compiled.entry, None)
    space: dict[str, Any] = {
        "np": np, "kernel": kernel, "seed": seed, "forbid_caching": forbid_caching,
        "may_overlap": may_overlap,
    }  # fmt: skip
    values = []
    for i, param in enumerate(compiled.params):
        if param.path[0][0] == "arg":
            values.append(_path_text(param.path))
        else:
            space[f"constant_{i}"] = reach.value((), param.path)
            values.append(f"constant_{i}")
    lines = ["forbid_caching()", *([] if inlinable else _overlap_checks(compiled))]
    buffers: dict[int, str] = {}
    seeds = [] if seed is None or inlinable else ["seed"]
    for result, position in [] if inlinable else sorted(compiled.out_like.items()):
        buffers[result] = f"buffer_{result}"
        dtype = compiled.params[position].type.dtype
        lines.append(f"buffer_{result} = np.empty({values[position]}.shape, np.{dtype})")
    lines.append(f"rest = kernel({', '.join([*values, *seeds, *buffers.values()])})")
    texts = _results(compiled, buffers)
    lines.append(f"return {_returned(function, specialiser, compiled, texts, space)}")
    header = _header(_signature(function), space)
    text = f"def implementation{header}:\n" + "".join(f"    {line}\n" for line in lines)
    filename = f"<s2s {compiled.name} inside njit>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), space)
    return space["implementation"]


def _overlap_checks(compiled: Compiled) -> list[str]:
    """Statements that raise an error if an array that is written may overlap another argument."""
    from ..kernels_numba.strided_overlap import layout_text

    arrays = {
        i: layout_text(_path_text(param.path), param.spec.ndim)
        for i, param in enumerate(compiled.params)
        if isinstance(param.spec, ArraySpec) and param.path[0][0] == "arg"
    }
    message = overlap_message(compiled)
    return [
        f"if may_overlap({arrays[i]}, {layout}): raise ValueError({message!r})"
        for i in compiled.written
        for j, layout in arrays.items()
        if i in arrays and (i < j or (i != j and j not in compiled.written))
    ]


def _constants(specialiser: Specialiser) -> Any:
    from ..call.guards import PathResolver

    return PathResolver(specialiser.function, specialiser.binder.names)


def _path_text(path: Path) -> str:
    (_, root), *steps = path
    return root + "".join(f".{key}" if kind == "." else f"[{key!r}]" for kind, key in steps)


def _results(compiled: Compiled, buffers: dict[int, str]) -> list[str]:
    """The source expression of each of the kernel's results."""
    texts = []
    for i, type_ in enumerate(compiled.result_types):
        if i in buffers:
            texts.append(buffers[i])
            continue
        text = f"rest[{i - sum(b < i for b in buffers)}]"
        texts.append(f"np.{type_.dtype}({text})" if _is_float(type_) else text)
    return texts


def _is_float(type_: Any) -> bool:
    return isinstance(type_, Scalar) and type_.dtype in ("float32", "float64")


def _returned(
    function: Function,
    specialiser: Specialiser,
    compiled: Compiled,
    texts: list[str],
    space: dict[str, Any],
) -> str:
    def tree(node: OutTree) -> str:
        return _tree_text(node, texts, space, function.__name__)

    if function._mode == "primal":
        return tree(compiled.out)
    gradients = [tree(g) for g in compiled.grads]
    single = not isinstance(function._shared.options.wrt, tuple)
    bare = gradients[0] if single else f"({', '.join(gradients)},)"
    if function._s2s_mode == "value_and_grad":
        return f"({tree(compiled.out)}, {bare})"
    if specialiser.options.has_aux:
        return f"({bare}, {tree(compiled.out.children[1])})"  # type: ignore[union-attr]
    return bare


def _tree_text(node: OutTree, texts: list[str], space: dict[str, Any], name: str) -> str:
    if isinstance(node, Out):
        return texts[node.index]
    if isinstance(node, Argument) and node.path[0][0] == "arg":
        return _path_text(node.path)
    if isinstance(node, Fixed) and (
        node.value is None or isinstance(node.value, (bool, int, float, str))
    ):
        return repr(node.value)
    children = [_tree_text(c, texts, space, name) for c in getattr(node, "children", ())]
    kind = getattr(node, "kind", type(node).__name__)
    if kind == "tuple":
        return f"({''.join(c + ', ' for c in children)})"
    if kind == "namedtuple":
        cls = node.cls  # type: ignore[union-attr]
        space[cls.__name__] = cls
        return f"{cls.__name__}({', '.join(children)})"
    raise S2STypeError(
        f"the result of {name} holds a {kind}, which cannot be made inside @njit",
        advice="use tuples and namedtuples there",
    )
