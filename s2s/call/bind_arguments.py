"""Unwraps callables to plain functions, and binds the arguments of calls to parameters.

A bound method, a `functools.partial` and a callable object are all represented in the same form:
a plain function with some arguments already bound (`Target`).
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import is_
from typing import Any

import numpy as np

from ..errors import S2STypeError, SourceError, UnsupportedError
from ..transforms.frontend.derivative_spec import Derived
from ..transforms.frontend.signature import signature, why_not_read

Wrt = int | str | tuple[int | str, ...] | list[int | str]

# Callables without Python source: NumPy's ufuncs, its dispatched functions (`type(np.sum)`), and
# functions of other C extensions.
_NOT_PYTHON = (np.ufunc, type(np.sum), types.BuiltinFunctionType, types.BuiltinMethodType)


@dataclass
class Target:
    """The plain function behind a callable, and the arguments bound to it.  `kind` is "classmethod"
    or "staticmethod" for those; `vectorized` marks the scalar function of a `@vectorize` ufunc."""

    function: Any  # types.FunctionType, which type checkers would treat as a method here
    prefix: tuple[Any, ...] = ()
    fixed: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    vectorized: bool = False


def unwrap(target: Any) -> Target:
    """Find the plain function behind a callable; raise an error if there is none."""
    if isinstance(target, types.FunctionType):
        return Target(target)
    if isinstance(target, types.MethodType):
        inner = unwrap(target.__func__)
        return Target(inner.function, (target.__self__, *inner.prefix), inner.fixed)
    if isinstance(target, functools.partial):
        inner = unwrap(target.func)
        fixed = {**inner.fixed, **target.keywords}
        return Target(inner.function, (*inner.prefix, *target.args), fixed)
    if isinstance(target, (staticmethod, classmethod)):
        inner = unwrap(target.__func__)
        inner.kind = type(target).__name__
        return inner
    if reason := why_not_read(target):
        raise UnsupportedError(reason[0], advice=reason[1])
    if isinstance(getattr(target, "py_func", None), types.FunctionType):  # @numba.njit
        return Target(target.py_func)
    scalar = getattr(getattr(target, "_dispatcher", None), "py_func", None)
    if isinstance(scalar, types.FunctionType):  # @numba.vectorize
        return Target(scalar, vectorized=True)
    if isinstance(target, _NOT_PYTHON):
        name = getattr(target, "__name__", repr(target))
        raise SourceError(
            f"source not available: {name} is not written in Python",
            advice=f"wrap it: s2s.grad(lambda x: {name}(x))",
        )
    if isinstance(target, type):
        raise S2STypeError(
            f"{target.__name__} is a class, not a function",
            advice="decorate one of its methods",
        )
    call = vars(type(target)).get("__call__") if callable(target) else None
    if isinstance(call, types.FunctionType):
        return Target(call, (target,))
    raise S2STypeError(f"not a function: {target!r}")


def is_method(function: types.FunctionType) -> bool:
    """True if a function is defined as a method: in a class body, with self or cls first."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return in_class(function) and names[:1] in (("self",), ("cls",))


def in_class(function: types.FunctionType) -> bool:
    """True if a function is defined in a class body."""
    owner = function.__qualname__.rpartition(".")[0]
    return bool(owner) and not owner.endswith("<locals>")


class Binder:
    """Binds the arguments of calls to the parameters of one function."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.signature = signature(function)
        parameters = self.signature.parameters.values()
        self.names = tuple(p.name for p in parameters)
        self.var_positional = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
        self.var_keyword = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), "")
        # A call with exactly this many positional arguments needs no binding; -1: none does.
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.exact = len(self.names) if all(p.kind in plain for p in parameters) else -1
        self.fill = _make_fill(self.signature)
        self.plain = getattr(function, "plain", function)
        self.code, self.defaults = self.plain.__code__, _defaults(self.plain)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in order of the parameters, defaults filled in."""
        filled = self.filled(args, kwargs)
        if filled is not None:
            return filled
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.function.__qualname__}(): {error}") from None
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in self.names)

    def filled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """Like `bind`, but None if the arguments do not match the parameters."""
        if not kwargs and len(args) == self.exact:
            return args
        if not same_objects(_defaults(self.plain), self.defaults):
            self.renew()
        try:
            return self.fill(*args, **kwargs)
        except TypeError:
            return None

    def renew(self) -> None:
        """Read the parameters again, after the function got other defaults or other code."""
        names: Any = self.names
        if isinstance(self.function, Derived):
            self.function.renew()
        self.__init__(self.function)
        if self.names != names:
            raise UnsupportedError(
                f"the parameters of {self.plain.__qualname__} have changed since it was wrapped",
                advice="wrap the function again",
            )

    def countable(self, target: Target, method: bool) -> tuple[str, ...]:
        """The parameters that `wrt` may refer to: all but self and those already bound."""
        given = max(len(target.prefix), int(method))
        return tuple(n for n in self.names[given:])


def _defaults(function: types.FunctionType) -> tuple[Any, ...]:
    """The objects that determine a function's defaults, to be compared by identity."""
    named = function.__kwdefaults__
    if named is None:
        return (function.__defaults__,)
    return (function.__defaults__, *named, *named.values())


def same_objects(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
    return len(left) == len(right) and all(map(is_, left, right))


class _NamedDefault:
    """A default value whose repr is a name, so that `inspect.Signature` prints that name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def _make_fill(signature: inspect.Signature) -> Callable[..., tuple[Any, ...]]:
    """Generate a function with the given signature that returns its arguments in order.  It takes a
    small fraction of the time of `Signature.bind`."""
    space: dict[str, Any] = {}
    parameters = []
    for i, p in enumerate(signature.parameters.values()):
        p = p.replace(annotation=p.empty)
        if p.default is not p.empty:
            space[f"default_{i}_"] = p.default
            p = p.replace(default=_NamedDefault(f"default_{i}_"))
        parameters.append(p)
    shown = inspect.Signature(parameters)
    names = "".join(f"{p.name}, " for p in parameters)
    exec(f"def fill{shown}: return ({names})", space)
    return space["fill"]


def resolve_wrt(wrt: Wrt, names: tuple[str, ...], function: str) -> tuple[str, ...]:
    """The names of the parameters to differentiate with respect to."""
    single = not isinstance(wrt, (tuple, list))
    chosen = tuple(_resolve_one(w, names, function) for w in ((wrt,) if single else wrt))  # type: ignore[union-attr]
    if not chosen:
        raise S2STypeError(f"wrt of {function} is empty", advice=f"choose from {_listed(names)}")
    repeated = next((n for i, n in enumerate(chosen) if n in chosen[:i]), None)
    if repeated is not None:
        raise S2STypeError(f"wrt of {function} names {repeated} twice")
    return chosen


def _resolve_one(wrt: Any, names: tuple[str, ...], function: str) -> str:
    if not names:
        raise S2STypeError(f"{function} has no parameter to differentiate with respect to")
    if isinstance(wrt, str):
        if wrt in names:
            return wrt
        raise S2STypeError(
            f"wrt={wrt!r}: {function} has no parameter of that name",
            advice=f"its parameters are {_listed(names)}",
        )
    if isinstance(wrt, (int, np.integer)) and not isinstance(wrt, bool):
        if -len(names) <= wrt < len(names):
            return names[wrt]
        raise S2STypeError(
            f"wrt={wrt}: {function} has {len(names)} parameter{'s' * (len(names) != 1)}",
            advice=f"its parameters are {_listed(names)}, counted from 0",
        )
    raise S2STypeError(
        f"wrt={wrt!r} is neither a name nor a position",
        advice=f"the parameters of {function} are {_listed(names)}",
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def check_static(static: Iterable[str], names: tuple[str, ...], function: str) -> None:
    """Raise an error for a static parameter that does not exist."""
    for name in static:
        if name not in names:
            raise S2STypeError(
                f"static_argnames: {function} has no parameter {name!r}",
                advice=f"its parameters are {_listed(names)}",
            )
