"""Which calls stay calls although nothing forces them to: helpers, methods and closures.

`Shared.keep` requests it.  A callee is specialised separately from its caller, tentatively: where
that fails, or where its outcome may differ from that of the inlined function, all parts are rolled
back and the function is inlined.  `Shared.decisions` has the reasons.
"""

from __future__ import annotations

from typing import Any

from ...frontend.derivative_spec import Derived
from ...ir.errors import S2SError
from ...ir.nodes import (
    Draw,
    Function,
    ListOf,
    Record,
    blocks_of,
    inner_targets_of,
    targets_of,
    walk,
)
from ...ir.record import record
from ...syntax import core
from ..outline import Outlines
from ..places import Places
from ..session import Part
from ..shared import Callee, NeedInline, NeedOutline, NeedStaticArgument, Outlined
from ..values import Ended, Num, PyObject, Value

_COMPILER = __name__.removesuffix("specialise.calls.kept_calls")
# Variants of one function; a further call is inlined.
VARIANTS = 8


class _Inlined(Exception):
    """A callee cannot stay a call, for a reason."""


@record(eq=False)
class KeptCalls(Part):
    """Calls that stay calls although nothing forces them to."""

    places: Places
    outline: Outlines

    def keeps(self, callee: Callee) -> str | None:
        """Why a callee is inlined without an attempt to keep it; None if it may stay a call."""
        node = callee.source.node
        if len(self.places.stack) == 1 and isinstance(self.places.frame.identity, Derived):
            return "the function that a derivative is taken of"
        if node.is_lambda:
            return "a lambda"
        if (getattr(callee.function, "__module__", None) or "").startswith(_COMPILER):
            return "a part of the compiler"
        if callee.identity in self.shared.recursive_inline:
            return "a recursion that is unrolled"
        made = (key for key, _ in self.shared.made if key[0] == callee.key)
        if sum(1 for _ in made) >= VARIANTS:
            return f"more than {VARIANTS} variants"
        return None

    def must_not_recur(self, identity: PyObject) -> None:
        """Raises where a function that is kept as a call calls itself: only recursions that end at
        run time stay calls, and inlining decides which do."""
        shared = self.shared
        if shared.keep and identity not in shared.recursive_inline | shared.recursive:
            if any(f.identity == identity for f in self.places.frames()):
                raise NeedInline(identity)

    def call(self, callee: Callee, env: dict[str, Value], node: core.Node) -> Value | None:
        """The result of a call that stays one; None if the function is to be inlined."""
        shared = self.shared
        if not shared.keep:
            return None
        why, key = self.keeps(callee), None
        if why is None:
            mark = self.session.checkpoint()
            try:
                pattern, leaves = self.outline.pattern_of(callee, env, node)
                key = (callee.key, pattern)
                if key in shared.unkept:
                    raise _Inlined(shared.unkept[key])
                for leaf in leaves:
                    _check_number(leaf, "it is given")
                value = self._attempt(callee, env, node)
                shared.decisions.append((callee.name, None))
                return value
            except Ended:
                shared.decisions.append((callee.name, None))
                raise
            except (NeedOutline, NeedInline):
                raise
            except NeedStaticArgument as need:
                if need.path[0][0] not in ("leaf", "captured"):
                    raise
                why = "an argument must be known while compiling"
            except S2SError as error:
                why = error.message
            except _Inlined as reason:
                why = str(reason)
            except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
                # An error that Python would raise: the inlined function raises it with the lines of
                # all callers.
                why = f"{type(error).__name__}: {error}"
            self.session.rollback(mark)
            if key is not None:
                shared.unkept[key] = why
        shared.decisions.append((callee.name, why))
        return None

    def _attempt(self, callee: Callee, env: dict[str, Value], node: core.Node) -> Value:
        before = {id(outlined) for _, outlined in self.shared.made}
        value, outlined = self.outline.call_with_outline(callee, dict(env), node)
        if id(outlined) not in before:
            self._check(outlined)
        return value

    def _check(self, outlined: Outlined) -> None:
        """Raises unless a call of the function has the same effect as its inlined body."""
        function, outcome = outlined.function, outlined.outcome
        assert function is not None
        if outcome.shared:
            raise _Inlined("it returns an array that may share memory with another")
        if any(isinstance(s, Draw) and s.rng is not None for s in walk(function.body)):
            raise _Inlined("it draws from a random generator")
        if any(getattr(x.type, "mixed", False) for x in function.results):
            raise _Inlined("it returns a number that is Python's on some paths only")
        if _has_lists_inside(function):
            raise _Inlined("it has a list or record in a branch or loop")


def _has_lists_inside(function: Function) -> bool:
    """Whether values of branches and loops are lists or records, which a sweep cannot restore from
    a stack (`autodiff/tape_stacks.py`)."""
    inner = (s for stmt in function.body for block in blocks_of(stmt) for s in walk(block))
    values = [v for s in inner for v in (*targets_of(s), *inner_targets_of(s))]
    values += [v for s in function.body for v in inner_targets_of(s)]
    return any(isinstance(v.type, (ListOf, Record)) for v in values)


def _check_number(value: Any, what: str) -> None:
    if isinstance(value, Num) and value.arrays:
        raise _Inlined(f"{what} an array of rank 0 that is updated in place")
    if getattr(getattr(value, "type", None), "mixed", False):
        raise _Inlined(f"{what} a number that is Python's on some paths only")
