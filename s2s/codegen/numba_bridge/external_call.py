"""Calls of external C functions from code that Numba compiles.

Numba decrements an array's reference count after the last statement that mentions the array.  An
address that was taken in an earlier statement does not keep the array alive: `f(address(a))` is
two statements, and `a` may be freed before `f` runs.  So no function here returns an address.  The
call itself takes the arrays, and their addresses exist only inside it; the reference counts are
decremented after it has returned.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.templates import signature
from numba.extending import intrinsic

ADDRESS: Any = types.voidptr  # of an array's first element, or of a copy of a scalar


def external(name: str, result: Any, *parameters: Any) -> Any:
    """A function for compiled code that calls the C function `name`.

    For a parameter of type `ADDRESS` it takes an array in C order and passes the address of its
    first element, or a scalar and passes the address of a copy.
    """

    def typed(*arguments: Any) -> tuple[Any, Any]:
        taken = [_accepted(name, p, a) for p, a in zip(parameters, arguments, strict=True)]
        return signature(result, *taken), code

    def code(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        passed = [
            _address(context, builder, given, value) if wanted == ADDRESS else value
            for wanted, given, value in zip(parameters, sig.args, values, strict=True)
        ]
        type_ = ir.FunctionType(
            context.get_value_type(result), [context.get_value_type(p) for p in parameters]
        )
        function = cgutils.get_or_insert_function(builder.module, type_, name)
        return builder.call(function, passed)

    return intrinsic_of(typed, [f"a{i}" for i in range(len(parameters))])


@intrinsic
def forbid_caching(typingctx: Any) -> Any:
    """For compiled code: keep Numba from caching it (`cache=True`).  Numba could not load it in
    another process, which lacks the module of a kernel and the symbols that its code refers to.
    Numba caches no code with a global of this name."""

    def code(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        name = "numba.dynamic.globals.s2s"
        if name not in builder.module.globals:
            mark: Any = ir.GlobalVariable(builder.module, ir.IntType(8), name)
            mark.initializer, mark.linkage = ir.IntType(8)(0), "weak"
        return context.get_dummy_value()

    return signature(types.none), code


def intrinsic_of(typed: Any, names: Iterable[str]) -> Any:
    """An intrinsic with parameters of these names: Numba would pass `*arguments` as one tuple."""
    listed = ", ".join(names)
    made: dict[str, Any] = {"typed": typed}
    exec(f"def call(typingctx, {listed}):\n    return typed({listed})\n", made)
    return intrinsic(made["call"])


def _accepted(name: str, parameter: Any, argument: Any) -> Any:
    """The type that an argument is converted to; a TypingError if it is not accepted."""
    if parameter != ADDRESS:
        return parameter
    if isinstance(argument, types.Array) and argument.layout == "C":
        return argument
    number = types.unliteral(argument)
    if isinstance(number, types.Number):
        return number
    raise TypingError(f"{name} takes arrays in C order and numbers, not {argument}")


def _address(context: Any, builder: Any, type_: Any, value: Any) -> Any:
    """The address that is passed for an array or a scalar."""
    if isinstance(type_, types.Array):
        place = context.make_array(type_)(context, builder, value).data
    else:
        place = cgutils.alloca_once_value(builder, value)
    return builder.bitcast(place, cgutils.voidptr_t)
