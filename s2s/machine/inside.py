"""A kernel inside a function of Numba's: an intrinsic, which an otherwise empty function calls."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.np import arrayobj

from ..errors import Overlap
from ..kernels_external import intrinsic_of
from . import apart
from .buffers import Buffer, pack, unpack
from .context import Context, of_numba, to_numba
from .infer import Types
from .kernel import Errors, Kernel
from .kinds import Array, Opaque, Tuple
from .optimise import forbid_estimates
from .outline import Plan


def body(text: str, entry: str, space: dict[str, Any]) -> Any:
    """What does the same as function `entry` of a module, called with the same arguments;
    Numba knows the other functions of the module.  Only when it has to compile this one is the
    text read; it may turn out to be `Unsupported`."""

    def typed(*arguments: Any) -> tuple[Any, Any]:
        functions = (s for s in ast.parse(text).body if isinstance(s, ast.FunctionDef))
        function = next(s for s in functions if s.name == entry)
        kinds = tuple(of_numba(types.unliteral(a)) for a in arguments)
        known = Types(function, space, kinds)
        results = to_numba(Tuple(known.results))

        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            own = Context(lambda: context)
            values = [
                unpack(own, builder, kind, value) if isinstance(kind, Array) else value
                for kind, value in zip(kinds, args)
            ]
            plan = Plan(function, known)
            kernel = Kernel(own, builder, known, NumbaErrors(context, known), plan)
            found = kernel.run(function, values)
            forbid_estimates(builder.module)
            if found is None:
                # The program always fails; what follows is never run.
                builder.position_at_end(builder.append_basic_block("never"))
                return ir.Constant(context.get_value_type(results), ir.Undefined)
            packed = [pack(own, builder, v) if isinstance(v, Buffer) else v for v in found]
            return context.make_tuple(builder, results, packed)

        return signature(results, *arguments), code

    return intrinsic_of(typed, inspect.signature(space[entry]).parameters)


def check_apart(written: int, count: int) -> Any:
    """A function of so many arrays that raises `Overlap` unless the first ones, which are
    written, lie apart from each other and from the rest."""

    def typed(*arrays: Any) -> tuple[Any, Any]:
        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            own = Context(lambda: context)
            buffers = [unpack(own, builder, _shape(t), a) for t, a in zip(sig.args, args)]
            items = [arrayobj.get_itemsize(context, t) for t in sig.args]
            apart.emit(
                builder, [*zip(buffers, items)], written,
                lambda: context.call_conv.return_user_exc(builder, Overlap, ()),
            )  # fmt: skip
            return context.get_dummy_value()

        return signature(types.none, *arrays), code

    return intrinsic_of(typed, [f"a{i}" for i in range(count)])


def _shape(type_: Any) -> Array:
    """An array of anything, such as records."""
    return Array(Opaque(str(type_.dtype), type_.dtype), type_.ndim, type_.layout)


class NumbaErrors(Errors):
    def __init__(self, context: Any, known: Types) -> None:
        self.context = context
        self.known = known

    def set(self, builder: Any, exception: Any, args: tuple[Any, ...]) -> None:
        self.context.call_conv.set_static_user_exc(builder, exception, args)

    def set_with(self, builder: Any, exception: Any, values: list[Any], kinds: list[Any]) -> None:
        self.known.wake()
        told = tuple(
            to_numba(k) if isinstance(v, ir.Value) else None for k, v in zip(kinds, values)
        )
        self.context.call_conv.set_dynamic_user_exc(builder, exception, tuple(values), told)
