"""Names of temporaries in readable text, by what they contain instead of by number.

`tanh_c` is `np.tanh(c)`; `t_bar` is the adjoint of a subexpression that has no name in the text.
The adjoint of `guess - y` is that of `guess` if nothing else is computed with `guess`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from ..ir.nodes import (
    Array,
    Assign,
    Call,
    Function,
    Op,
    Save,
    Scalar,
    Stmt,
    Var,
    operands_of,
    targets_of,
    walk,
)
from ..ir.op_registry import RULES

_NAMES = {
    "absolute": "abs", "add": "total", "subtract": "difference", "multiply": "product",
    "matmul": "product", "divide": "ratio", "true_divide": "ratio", "negative": "negated",
    "sum": "total", "transpose": "transposed", "reshape": "reshaped", "where": "chosen",
    "concatenate": "joined", "stack": "stacked", "shape": "size", "size": "size", "copy": "copied",
    "broadcast_like": "spread", "broadcast_to": "spread", "einsum": "contracted",
    "zeros": "zeros", "ones": "ones", "full_like": "filled", "expand_dims": "expanded",
}  # fmt: skip
_NO_VALUES = ("undef", "restore", "literal", "alias", "list_new", "update", "update_add", "empty")
_TESTS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and",
          "logical_or", "logical_not", "isnan", "isfinite")  # fmt: skip
# A name without information: one that ends in a number, or `t`.
_NUMBERED = re.compile(r"(.+)_(\d+)|t")
_DERIVED = re.compile(r"(.+)_(bar|dot)(_\d+)?")


def temporary_names(
    function: Function, printed: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Two maps from the names of values in value form: new names for variables; and for values that
    are saved or restored, the one that is saved.  `printed` maps the values whose variables are in
    the text to the present names of these."""
    made: dict[str, tuple[Var, Stmt]] = {
        v.name: (v, s) for s in walk(function.body) for v in targets_of(s)
    }
    primal = [s for s in walk(function.body) if s.origin is None or not s.origin.sweep]
    reads = Counter(
        x.name
        for s in primal
        if not (isinstance(s, Assign) and s.op.name in ("shape", "size"))
        for x in operands_of(s)
        if isinstance(x, Var)
    )
    printed = {**printed, **{p.name: p.name for p in function.params}}
    names: dict[str, str] = {}
    for name, (v, stmt) in made.items():
        if v.user or name not in printed or _DERIVED.fullmatch(name):
            continue
        found = name_of_operation(stmt) if _NUMBERED.fullmatch(printed[name]) else None
        if found is not None:
            names[name] = found
    for name, (v, _) in made.items():
        derived = _DERIVED.fullmatch(name)
        if v.user or derived is None or name not in printed:
            continue
        base, kind = derived[1], derived[2]
        whole = _same_adjoint(base, made, reads) if kind == "bar" else None
        if whole is not None and f"{whole}_bar" not in made:
            names[name] = f"{whole}_bar"
        elif base in names:
            names[name] = f"{names[base]}_{kind}"
        elif base not in printed:
            names[name] = f"t_{kind}"
    saved = {s.slot.name: s.value for s in walk(function.body) if isinstance(s, Save)}
    restored: dict[str, str] = {}
    for name, (v, stmt) in made.items():
        if not isinstance(stmt, Assign) or stmt.op.name != "restore" or v.user:
            continue
        if name not in printed:
            continue
        value = saved.get(stmt.op.attrs["slot"].name)
        if isinstance(value, Var) and value.name in names:
            names[name] = names[value.name]
            restored[name] = restored[value.name] = value.name
        else:
            names.pop(name, None)
    return names, restored


def _same_adjoint(base: str, made: dict[str, tuple[Var, Stmt]], reads: Counter[str]) -> str | None:
    """The user's variable whose adjoint is that of a subexpression: a sum or difference that is
    all that is computed with it."""
    _, stmt = made.get(base, (None, None))
    if not isinstance(stmt, Assign) or stmt.op.name not in ("add", "subtract"):
        return None
    positions = (0, 1) if stmt.op.name == "add" else (0,)
    for k in positions:
        x = stmt.op.args[k]
        if isinstance(x, Var) and x.user and x.type == stmt.target.type and reads[x.name] == 1:
            return x.user
    return None


def name_of_operation(stmt: Stmt) -> str | None:
    """A name for the value that a statement computes; None if there is none."""
    if isinstance(stmt, Call):
        return _of_call(stmt.function)
    if not isinstance(stmt, Assign):
        return None
    op, type_ = stmt.op, stmt.target.type
    if op.name in _NO_VALUES:
        return None
    if op.name == "call":
        return _of_call(op.attrs["function"])
    if op.name in _TESTS or type_.dtype == "bool":
        return "test"
    if op.name in ("index", "list_get", "pop"):
        return "element" if isinstance(type_, Scalar) else "part"
    if type_.dtype == "int64" and isinstance(type_, Scalar):
        return "size" if op.name in ("shape", "size", "maximum") else "index"
    return _of_operation(op) if isinstance(type_, (Array, Scalar)) else None


def _of_call(function: str) -> str:
    """`dense_out` for what `dense_fwd` returns first."""
    base = re.sub(r"(_\d+)+$", "", function)
    return f"{base.removesuffix('_fwd')}_out" if base.endswith("_fwd") else base


def _of_operation(op: Op) -> str | None:
    rule = RULES.get(op.name)
    if op.name in _NAMES and op.name != "absolute":
        return _NAMES[op.name]
    short = _NAMES.get(op.name, op.name)
    if not short.isidentifier():
        return None
    first = op.args[0] if op.args else None
    elementwise = rule is not None and rule.kind == "elementwise" and len(op.args) == 1
    if elementwise and isinstance(first, Var) and first.user:
        return f"{short}_{first.user}"
    return short
