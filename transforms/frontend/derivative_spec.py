"""Functions derived from others: what `s2s.jvp(f)` or the gradient of a gradient stands for.

A derived function has no source of its own.  The specialiser calls what it is derived from
and differentiates what that emitted (`specialise/derivatives/derived.py`); names and values that
the function reads belong to the plain function at the bottom, `plain`.
"""

from __future__ import annotations

import inspect
from typing import Any

from ..ir.record import record
from .signature import signature

# Derivatives in a direction: it is passed right after the first argument.
DIRECTED = ("jvp", "vjp", "hvp")


@record(eq=False)
class Derived:
    """`kind` of `function`, which may be derived itself, with respect to the parameters
    `wrt`; `single` if that is one, given by itself.  `skipped` parameters (`self`) come before
    those that users count.  `options` are (name, value) pairs particular to a kind."""

    kind: str
    function: Any
    wrt: tuple[str, ...] = ()
    single: bool = True
    has_aux: bool = False
    skipped: int = 0
    options: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        plain = self.plain
        for name in ("__code__", "__globals__", "__closure__", "__defaults__", "__kwdefaults__"):
            setattr(self, name, getattr(plain, name))
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(self, name, getattr(plain, name))
        self.__signature__ = self._signature()

    @property
    def plain(self) -> Any:
        """The function as it was written."""
        return self.function.plain if isinstance(self.function, Derived) else self.function

    @property
    def name(self) -> str:
        """What the emitted function is called."""
        inner = self.function
        name = inner.name if isinstance(inner, Derived) else inner.__name__
        return f"{name}_{self.kind}" if name.isidentifier() else f"function_{self.kind}"

    @property
    def title(self) -> str:
        """What it is, in words: `hvp of f`."""
        inner = self.function
        return f"{self.kind} of {inner.title if isinstance(inner, Derived) else inner.__name__}"

    def _signature(self) -> inspect.Signature:
        own = signature(self.function)
        if self.kind == "custom":
            own = own.replace(return_annotation=own.empty)
        if self.kind not in DIRECTED:
            return own
        parameters = list(own.parameters.values())
        names = {p.name for p in parameters}
        name = next(n for n in ("v", "v_", "direction", "direction_") if n not in names)
        at = self.skipped + 1
        kind = parameters[at - 1].kind if len(parameters) >= at else inspect.Parameter.KEYWORD_ONLY
        if kind not in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            raise TypeError(f"{self.plain.__qualname__} has no positional parameter")
        # A default may not come before a parameter without one.
        before = [p.replace(default=p.empty) for p in parameters[:at]]
        direction = inspect.Parameter(name, kind)
        return own.replace(parameters=[*before, direction, *parameters[at:]])

    def renew(self) -> None:
        """Reads the defaults and the code of the function again."""
        if isinstance(self.function, Derived):
            self.function.renew()
        self.__post_init__()

    def __reduce__(self) -> Any:
        how = {"wrt": self.wrt, "single": self.single, "has_aux": self.has_aux}
        how |= {"skipped": self.skipped, "options": self.options}
        return _derive_again, (self.function, self.kind, how)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"the {self.title} is called through s2s.{self.kind}")


def _derive_again(function: Any, kind: str, how: dict[str, Any]) -> Derived:
    return derive(function, kind, **how)


_DEFAULTS = {"wrt": (), "single": True, "has_aux": False, "skipped": 0, "options": ()}


def derive(function: Any, kind: str, **how: Any) -> Derived:
    """One `Derived` for each function and each way to derive from it: written anew in every
    step of a loop, it is compiled once."""
    known = vars(function).setdefault("__s2s_derived__", {})
    key = (kind, *sorted({**_DEFAULTS, **how}.items()))
    found = known.get(key)
    # functools.wraps copies the dictionary of a function to another one.
    if found is None or found.function is not function:
        found = known[key] = Derived(kind, function, **how)
    return found
