"""The operation registry: one `Rule` per operation.

A rule serves type inference, reverse and forward mode, batching, lowering, the writer and the
generated documentation.  The modules of `rules/` fill `RULES` and `SURFACES` when imported.  A
*surface* is a function of the user's API (`numpy.sum`, `ndarray.sum`, `math.exp`); its
implementation here builds operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .nodes import Type
from .record import record


@record
class Rule:
    """The semantics of one operation.

    infer(b, types, attrs, operands) -> Type
        The type of the result; None is an error of the rule.  `b` is the Builder, for dims and
        checks.
    evaluate(*values, **attrs)
        A reference implementation in NumPy, for tests and constant folding.
    text(args, attrs, types) -> (str, int)
        Readable Python and its precedence (`precedence.py`), from the operands' texts (also
        pairs) and types.
    partials(*xs, out) -> partial(s)
        Elementwise rules only: the partial derivatives, as ordinary NumPy code.
    pullback(b, g, out, args, attrs, wanted) -> {position: contribution}
        Reverse mode.
    pushforward(b, dots, out, args, attrs) -> tangent
        Forward mode.  `dots[i]` is None if operand i is inactive.
    batching(mapped) -> value
        The operation for many elements at once; see `rules/batching_rules.py`.

    `kind` selects the lowering: "elementwise", "reduce", "scan", "contract", "view", "index",
    "update", "create", "join", "list", "query" (sizes and the like), "opaque".
    `differentiable` are the operand positions that carry derivatives (None: all).  `singular`
    selects `strong_mul` for products with the partials: 0 where the cotangent is 0, even if the
    partial is inf."""

    name: str
    kind: str
    infer: Callable[..., Type | None]
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
    """A contribution to a part of an adjoint (a scatter-add).  A pullback may return it in place
    of a value: x_bar = update_add(x_bar or zeros_like(x), value, *operands; path).
    Positions in `path` index the arguments of `update_add`: the first operand is 2.

    A path of one step ("list", p) is element `p` of a list: it is replaced by its sum with
    `value` (`list_set` in `list_zeros_like(x)`).  `add_contribution` in `rules/internal/update.py`
    emits either."""

    value: Any
    path: tuple[Any, ...]
    operands: tuple[Any, ...] = ()


class NeedStatic(Exception):
    """A surface function got a run-time value where it needs a compile-time constant."""

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
    """Register a function that translates calls of `paths`, such as `numpy.sum(x, axis)`, into
    operations.  It takes the builder, then exactly the parameters of the NumPy function."""

    def declare(f: Callable[..., Any]) -> Callable[..., Any]:
        for path in paths:
            assert path not in SURFACES, path
            SURFACES[path] = f
        return f

    return declare
