"""What each operation means: one `Rule` per operation, declared once.

A rule serves type inference, reverse and forward mode, lowering, the writer and the
generated documentation.  The modules of this package fill `RULES` and `SURFACES` when
imported.  A *surface* is what the user writes (`numpy.sum`, `ndarray.sum`, `math.exp`);
it builds operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .nodes import Type
from .record import record


@record
class Rule:
    """One operation.

    infer(b, types, attrs, operands) -> Type   the result's type; `b` is the Builder (dims,
                                       checks)
    evaluate(*values, **attrs)         the meaning, in NumPy; a test and folding oracle
    text(args, attrs, types) -> (str, int)   readable Python for the operands' texts (pairs
                                       too) and types, and its precedence (`precedence.py`)
    partials(*xs, out) -> partial(s)   elementwise rules only: ordinary NumPy code pullback(b, g,
    out, args, attrs, wanted) -> {position: contribution} pushforward(b, dots, out, args, attrs) ->
    tangent   (`dots[i]` is None if inactive) batching(mapped) -> value          the operation for
    many elements at once; see `rules/batching_rules.py`

    `kind` drives lowering: "elementwise", "reduce", "scan", "contract", "view", "index",
    "update", "create", "join", "list", "query" (sizes and the like), "opaque".
    `differentiable` are the positions that carry derivatives; `singular` makes products
    with the partials strong (0 where the cotangent is 0, even if the partial is inf)."""

    name: str
    kind: str
    infer: Callable[..., Type]
    evaluate: Callable[..., Any] | None = None
    text: Callable[..., tuple[str, int]] | None = None
    partials: Callable[..., Any] | None = None
    pullback: Callable[..., dict[int, Any]] | None = None
    pushforward: Callable[..., Any] | None = None
    batching: Callable[..., Any] | None = None
    differentiable: tuple[int, ...] | None = None
    singular: bool = False
    kinks: str = ""
    doc: str = ""


@record(frozen=True)
class Accumulate:
    """A contribution to an adjoint that touches a part of it only.  A pullback may return it
    in place of a value: x_bar = update_add(x_bar or zeros_like(x), value, *operands; path).
    Positions in `path` count in the arguments of `update_add`: the first operand is 2.

    A path of one step ("list", p) is element `p` of a list: it is replaced by its sum with
    `value` (`list_set` in `list_zeros_like(x)`).  `rules.update.accumulate` does either."""

    value: Any
    path: tuple[Any, ...]
    operands: tuple[Any, ...] = ()


class NeedStatic(Exception):
    """A surface met a run-time value where it must know the value while compiling."""

    def __init__(self, sym: Any, what: str) -> None:
        self.sym, self.what = sym, what
        super().__init__(what)


RULES: dict[str, Rule] = {}
SURFACES: dict[str, Callable[..., Any]] = {}


def register(rule: Rule) -> Rule:
    assert rule.name not in RULES, rule.name
    RULES[rule.name] = rule
    return rule


def surface(*paths: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares how `numpy.sum(x, axis)` and its kind become operations.  The function takes
    the builder, then exactly the parameters of the NumPy function."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        for path in paths:
            assert path not in SURFACES, path
            SURFACES[path] = f
        return f

    return declare
