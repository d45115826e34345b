"""Log-domain differentiation of quotients by, and logarithms of, sums of exponentials.

The chain rule through `1 / (1 + exp(-x))` or `log(1 + exp(x))` computes 0 * inf or inf / inf where
the exponential overflows, although the derivative is finite, between 0 and 1.  This pass runs
before a function is differentiated, in either mode.  It recognises the values below, leaves their
computation unchanged, and marks each with an additional operation
(`rules/internal/log_domain_rules.py`) that holds the value's logarithm:

| name | value | logarithm |
|---|---|---|
| logistic | `c / (k + exp(t))`, `1 / (k + exp(-x))` | minus log_plus(t), log_logistic(x) |
| complementary logistic | `exp(t) / (k + exp(t))` | log_part(t) |
| softplus | `log(k + exp(t))`, `log1p(exp(t))` | log_plus(t) |
| softmax | `exp(t) / sum(exp(t))` | log_share(t) |
| logsumexp | `log(sum(exp(t)))`, `log(mean(exp(t)))` | log_total(t) |
| logaddexp | `log(exp(s) + exp(t))` | log_add(s, t) |
| log-cosh | `log(cosh(t))` | log_cosh(t) |
| quotient | `a / d`, `d ** n`, `log(c / d)`, where d is one of these sums | composed of theirs |

Logarithms are propagated through products, quotients, powers, casts and views.  k is a positive
constant, c any constant.  Exponentials that cannot overflow are not rewritten: those of
`x - max(x)`, and, in a sum with a constant, those of `-abs(x)`.

For example, `s = 1 / (1 + exp(t))` becomes

    e = exp(t)
    d = add(1.0, e)
    ln = log_plus(logaddexp(0.0, t), d, 1.0, e, t)
    s_1 = divide(1.0, d)
    s = exp_as(s_1, negative(ln))

After the last differentiation `erase_log_domain` erases the marks, so that no computed value
changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..ir.builder import Builder, NameSupply, Sym
from ..ir.nodes import (
    Assign,
    Block,
    Const,
    Function,
    Module,
    Op,
    Operand,
    Stmt,
    Var,
    is_complex,
    is_float,
    map_blocks,
    operands_of,
    substitute,
    walk,
)
from ..ir.record import record, replace
from ..ir.symbolic_dims import Facts
from ..rules import sign_analysis
from ..rules.internal.log_domain_rules import LOG_DOMAIN_RULES
from ..rules.numpy.reductions import reduce_keepdims, reduce_like_result
from ..simplify.dce import eliminate_dead_code
from .activity import Activity, activity

# The maximum depth of the search through definitions.
_MAX_DEPTH = 12
_EXPONENTIALS = ("exp", "cosh")
# By operation: 1 / ln(base).
_LOGARITHMS = {"log": 1.0, "log1p": 1.0, "log2": 1 / math.log(2.0), "log10": 1 / math.log(10.0)}
# The operations whose results may be marked.
_ROOTS = ("divide", "power", "sqrt", "reciprocal", "where", *_LOGARITHMS)
# By operation: the exponent.
_POWERS = {"sqrt": 0.5, "reciprocal": -1.0, "square": 2.0}
# Operations that move elements only: they apply to a logarithm as to its value.
_VIEWS = "reshape transpose expand_dims squeeze broadcast_to broadcast_like copy".split()
# Operations that preserve the property of being shifted by the maximum.
_SHIFT_PRESERVING = (*_VIEWS, "cast", "index", "stop_gradient", "same", "where")


@record(frozen=True)
class Log:
    """The logarithm of the absolute value of a value, up to an additive constant.

    `value` is None for a constant.  `has_sum`: it involves a sum of exponentials.  `positive`:
    the value is > 0.  `may_be_nan`: the value is a product or quotient of two values that may
    both overflow."""

    value: Operand | None
    has_sum: bool = False
    positive: bool = True
    may_be_nan: bool = False


def mark_log_domain(
    function: Function,
    wrt: Iterable[str],
    results: Iterable[Operand],
    facts: Facts,
    names: NameSupply,
    inner: tuple[str, ...] = (),
) -> tuple[Function, list[int]]:
    """The function with all recognised values marked, and the new index of each statement of its
    body.  `inner` are values of the body with respect to which derivatives are requested: no
    logarithm is propagated through them, since the derivative would bypass them."""
    same = list(range(len(function.body)))
    ops = {s.op.name for s in walk(function.body) if isinstance(s, Assign)}
    if ops.isdisjoint(_EXPONENTIALS) or ops.isdisjoint(_ROOTS):
        return function, same
    active = activity(function, (*wrt, *inner), tuple(results))
    rewrite = _Rewrite(function, active, facts, names, inner)
    for stmt in walk(function.body):
        if isinstance(stmt, Assign) and stmt.op.name in _ROOTS:
            rewrite.root(stmt)
    if not rewrite.marks:
        return function, same
    body: Block = []
    places: list[int] = []
    for stmt in function.body:
        places.append(len(body))
        body += rewrite.block([stmt])
    old = {s.target.name for s in walk(function.body) if isinstance(s, Assign)}
    new = {s.target.name for s in walk(body) if isinstance(s, Assign)} - old
    logarithms = new - {raw.name for raw in rewrite.raw.values()}
    notes = {**function.notes, "logarithms": logarithms | function.notes.get("logarithms", set())}
    return replace(function, body=body, notes=notes), places


class _Rewrite:
    def __init__(
        self,
        function: Function,
        active: Activity,
        facts: Facts,
        names: NameSupply,
        inner: tuple[str, ...],
    ) -> None:
        self.active = active
        self.opaque = {*inner, *function.notes.get("unrecorded", ())}
        self.b = Builder(names, facts)
        self.b.checks = False
        self.made: dict[str, Assign] = {}
        self.marked: set[str] = set()  # values that are already marked
        for stmt in walk(function.body):
            if isinstance(stmt, Assign):
                self.made[stmt.target.name] = stmt
                self.b.definitions[stmt.target.name] = stmt.op
                if stmt.op.name in LOG_DOMAIN_RULES and isinstance(stmt.op.args[0], Var):
                    self.marked.add(stmt.op.args[0].name)
        self.logs: dict[str, Log | None] = {}
        # By name of a value: the statements that compute its logarithm, the statements of its
        # mark, and the variable of the unmarked value.
        self.after: dict[str, Block] = {}
        self.marks: dict[str, Block] = {}
        self.raw: dict[str, Var] = {}

    @contextmanager
    def at(self, stmt: Stmt, block: Block) -> Iterator[None]:
        """A context that emits into a block, with the origin of a statement but marked as not
        being the user's text."""
        origin = stmt.origin and replace(stmt.origin, batched=True)
        with self.b.at(origin), self.b.into(block):
            yield

    # ---- marks

    def is_root(self, stmt: Assign) -> bool:
        return (
            stmt.op.name in _ROOTS
            and stmt.target in self.active
            and stmt.target.name not in self.marked
            and not any(is_complex(x.type) for x in (stmt.target, *stmt.op.args))
        )

    def root(self, stmt: Assign) -> None:
        """Mark a quotient, a power or a logarithm if it involves a sum of exponentials."""
        if not self.is_root(stmt):
            return
        target, op = stmt.target, stmt.op
        if op.name in _LOGARITHMS:
            self.logarithm(stmt)
            return
        log = self.log(target)
        if log is not None and log.has_sum and log.value is not None:
            name = "exp_ratio_as" if log.may_be_nan else "exp_as"
            self.mark(stmt, name, log.value, before=self.after.pop(target.name, []))
        elif op.name == "divide":
            below = self.log(op.args[1])
            if below is not None and below.has_sum and below.value is not None:
                self.mark(stmt, "quotient_as", *op.args, below.value)

    def logarithm(self, stmt: Assign) -> None:
        x, scale = stmt.op.args[0], _LOGARITHMS[stmt.op.name]
        log = self.log_of_one_more(stmt) if stmt.op.name == "log1p" else self.log(x)
        if log is None or log.value is None or not log.has_sum or not log.positive:
            return
        block: Block = []
        with self.at(stmt, block):
            value = log.value if scale == 1.0 else (self.b.sym(log.value) * scale).operand
        name = "log_ratio_as" if log.may_be_nan else "log_as"
        self.mark(stmt, name, value, before=block)

    def log_of_one_more(self, stmt: Assign) -> Log | None:
        """The logarithm of 1 + x, for `log1p(x)`, where no value 1 + x exists."""
        x = stmt.op.args[0]
        log = self.log(x)
        if log is None or log.value is None or not log.positive or self.is_below_one(x):
            return None
        assert isinstance(x, Var)
        with self.at(stmt, self.after.setdefault(x.name, [])):
            value = self.plus(self.b.sym(x) + 1.0, 1.0, x, log.value)
        return Log(value.operand, has_sum=True)

    def mark(self, stmt: Assign, name: str, *args: Operand, before: Block | None = None) -> None:
        target = stmt.target
        op = Op(name, (self.value_of(target), *args), {"own_name": True})
        self.marks[target.name] = [*(before or []), Assign(target, op, stmt.origin)]

    def value_of(self, target: Var) -> Var:
        """The variable of the unmarked value, if `target` is to be the marked one."""
        if not self.is_root(self.made[target.name]):
            return target
        if target.name not in self.raw:
            self.raw[target.name] = replace(target, name=self.b.names.fresh(target.name))
        return self.raw[target.name]

    def block(self, block: Block) -> Block:
        """A block with the marks and the computations of logarithms inserted."""
        out: Block = []
        for stmt in block:
            stmt = map_blocks(stmt, self.block)
            if not isinstance(stmt, Assign):
                out.append(stmt)
                continue
            name = stmt.target.name
            out.append(replace(stmt, target=self.raw[name]) if name in self.marks else stmt)
            out += [*self.marks.get(name, ()), *self.after.get(name, ())]
        return out

    # ---- logarithms

    def log(self, x: Operand, depth: int = _MAX_DEPTH) -> Log | None:
        """The logarithm of a value; None if it is not one of the recognised forms."""
        constant = self.constant(x)
        if constant is not None:
            return Log(None, positive=constant > 0) if constant else None
        if not isinstance(x, Var):
            return None
        if x.name not in self.logs:
            self.logs[x.name] = None
            stmt = self.made.get(x.name)
            real = is_float(x.type) and not is_complex(x.type)
            if stmt is not None and real and x.name not in self.opaque and depth > 0:
                block: Block = []
                with self.at(stmt, block):
                    self.logs[x.name] = self.log_of(stmt, depth - 1)
                self.after[x.name] = block
        return self.logs[x.name]

    def constant(self, x: Operand) -> float | None:
        """The value of a real constant of the program; otherwise None."""
        op = self.definition(x)
        if op is not None and op.name == "literal":
            x = op.args[0]
        if not isinstance(x, Const) or isinstance(x.value, bool):
            return None
        return float(x.value) if isinstance(x.value, (int, float)) else None

    def definition(self, x: Operand) -> Op | None:
        return self.made[x.name].op if isinstance(x, Var) and x.name in self.made else None

    def log_of(self, stmt: Assign, depth: int) -> Log | None:
        """The logarithm of the target of a statement."""
        op, args = stmt.op, stmt.op.args
        if op.name in ("exp_as", "exp_ratio_as"):
            return Log(args[1], has_sum=True, may_be_nan=op.name == "exp_ratio_as")
        if op.name == "exp":
            return None if self.is_shifted(args[0], depth) else Log(args[0])
        if op.name == "cosh":
            t = self.b.sym(args[0])
            value = self.b.emit("log_cosh", self.b.emit("logaddexp", t, -t), t)
            return Log(value.operand, has_sum=True)
        if op.name == "add":
            return self.log_of_sum(stmt, depth)
        if op.name == "where":
            return self.log_of_choice(op, depth)
        first = self.log(args[0], depth) if args else None
        if first is None:
            return None
        if op.name in ("sum", "mean"):
            return self.log_of_total(stmt, first)
        if op.name == "negative":
            return replace(first, positive=not first.positive)
        if op.name == "same":
            return first
        if op.name == "cast":
            return self.transformed(first, lambda ln: ln.astype(op.attrs["dtype"]))
        if op.name in _VIEWS or (op.name == "index" and _is_basic(op)):
            return self.transformed(
                first, lambda ln: self.b.emit(op.name, ln, *args[1:], **op.attrs)
            )
        if op.name in _POWERS or op.name == "power":
            n = _POWERS[op.name] if op.name in _POWERS else self.constant(args[1])
            return self.transformed(first, lambda ln: ln * n) if n and first.positive else None
        if op.name in ("multiply", "divide"):
            second = self.log(args[1], depth)
            return second and self.log_of_product(stmt, first, second)
        return None

    def transformed(self, log: Log, change: Callable[[Sym], Sym]) -> Log:
        if log.value is None:
            return log
        return replace(log, value=change(self.b.sym(log.value)).operand)

    def log_of_product(self, stmt: Assign, first: Log, second: Log) -> Log | None:
        """The logarithm of a product or quotient."""
        share = self.log_of_share(stmt) if stmt.op.name == "divide" else None
        if share is not None:
            return share
        left, right = (None if x.value is None else self.b.sym(x.value) for x in (first, second))
        if right is not None and stmt.op.name == "divide":
            logistic = self.log_of_logistic(stmt, right)
            right = -right if logistic is None else logistic
        value = left if right is None else right if left is None else left + right
        both = left is not None and right is not None
        return Log(
            None if value is None else value.operand,
            first.has_sum or second.has_sum,
            first.positive == second.positive,
            first.may_be_nan or second.may_be_nan or both,
        )

    def log_of_share(self, stmt: Assign) -> Log | None:
        """The logarithm of `exp(t) / (k + exp(t))`, and of `exp(t) / sum(exp(t))` over all axes or
        with keepdims."""
        part, total = stmt.op.args
        made, log, whole = self.definition(total), self.log(part), self.log(total)
        if made is None or log is None or whole is None or log.value is None or not whole.value:
            return None
        t, value = self.b.sym(log.value), self.b.sym(log.value) - whole.value
        if made.name == "add":
            c, other = made.args if self.constant(made.args[0]) is not None else made.args[::-1]
            if self.constant(c) is None or not self.is_same(part, other):
                return None
            value = self.b.emit("log_part", value, total, c, part, t)
        elif made.name == "sum" and self.is_same(part, made.args[0]):
            axis = made.attrs["axis"]
            if axis is not None and not made.attrs.get("keepdims"):
                return None
            value = self.b.emit("log_share", value, self.value_of(stmt.target), t, axis=axis)
        else:
            return None
        return Log(value.operand, has_sum=True, may_be_nan=True)

    def log_of_logistic(self, stmt: Assign, whole: Sym) -> Sym | None:
        """The logarithm of `1 / (k + exp(-x))` as a function of x.  Its derivative saves two
        negations and, since it reuses the value, a division."""
        made = self.b.definitions.get(getattr(whole.operand, "name", ""))
        if made is None or made.name != "log_plus" or self.constant(stmt.op.args[0]) != 1.0:
            return None
        value, _, c, part, t = made.args
        negated = self.definition(t)
        if negated is None or negated.name != "negative":
            return None
        v, x = -self.b.sym(value), negated.args[0]
        return self.b.emit("log_logistic", v, self.value_of(stmt.target), c, part, x)

    def log_of_choice(self, op: Op, depth: int) -> Log | None:
        """The logarithm of `where(p == inf, 1.0, p / d)`, which derivatives of the marked values
        consist of."""
        test = self.definition(op.args[0])
        if test is None or test.name != "equal" or self.constant(test.args[1]) != math.inf:
            return None
        if self.constant(op.args[1]) != 1.0:
            return None
        log = self.log(op.args[2], depth) if self.log(test.args[0], depth) else None
        return log and replace(log, may_be_nan=False)

    def is_same(self, x: Operand, y: Operand) -> bool:
        """True if two exponentials are the same value."""
        one, other = self.definition(x), self.definition(y)
        return x == y or (one is not None and one.name == "exp" and one == other)

    def log_of_sum(self, stmt: Assign, depth: int) -> Log | None:
        x, y = stmt.op.args
        for zero, other in ((x, y), (y, x)):
            if self.constant(zero) == 0.0:
                return self.log(other, depth)
        first, second = self.log(x, depth), self.log(y, depth)
        if first is None or second is None or not (first.positive and second.positive):
            return None
        if first.value is None:
            x, y, first, second = y, x, second, first
        if first.value is None or (second.value is None and self.is_below_one(x)):
            return None
        if second.value is None:
            value = self.plus(stmt.target, self.constant(y), x, first.value)
        else:
            value = self.add(first.value, second.value)
        return Log(value.operand, has_sum=True, may_be_nan=first.may_be_nan or second.may_be_nan)

    def add(self, x: Operand, y: Operand) -> Sym:
        b, value = self.b, self.b.emit("logaddexp", x, y)
        terms = [*self.terms(x), *self.terms(y)]
        name = {3: "log_add_three", 4: "log_add_four"}.get(len(terms))
        return b.emit("log_add", value, x, y) if name is None else b.emit(name, value, *terms)

    def terms(self, x: Operand) -> tuple[Operand, ...]:
        """The logarithms of the terms of a sum.  A sum of three or four is differentiated by its
        terms, since the logarithm of a partial sum has fewer accurate digits."""
        made = self.b.definitions.get(x.name) if isinstance(x, Var) else None
        return made.args[1:] if made is not None and made.name.startswith("log_add") else (x,)

    def plus(self, total: Any, constant: Any, part: Any, log: Operand) -> Sym:
        b = self.b
        value = b.emit("logaddexp", math.log(constant), log)
        made = b.definitions.get(log.name) if isinstance(log, Var) else None
        if made is not None and made.name == "log_total" and not made.attrs["mean"]:
            attrs = {**made.attrs, "plus": made.attrs["plus"] + constant}
            return b.emit("log_total", value, total, *made.args[2:], **attrs)
        return b.emit("log_plus", value, total, constant, part, log)

    def log_of_total(self, stmt: Assign, log: Log) -> Log | None:
        b, x, attrs = self.b, stmt.op.args[0], stmt.op.attrs
        if log.value is None or not log.positive or not log.value.type.ndim:
            return None
        ln = b.sym(log.value)
        largest = reduce_keepdims(b, "max", ln, attrs)
        largest = b.emit("where", b.emit("isfinite", largest), largest, 0.0)
        value = np.log(reduce_like_result(b, "sum", np.exp(ln - largest), attrs))
        if attrs["axis"] is not None and not attrs.get("keepdims"):
            largest = b.emit("squeeze", largest, axes=attrs["axis"])
        attrs = {**attrs, "mean": stmt.op.name == "mean", "plus": 0.0}
        value = b.emit("log_total", value + largest, stmt.target, x, ln, **attrs)
        return Log(value.operand, has_sum=True, may_be_nan=log.may_be_nan)

    # ---- exponentials that cannot overflow

    def is_shifted(self, t: Operand, depth: int) -> bool:
        """True if the maximum is subtracted from `t`, as in `x - max(x)`."""
        op = self.definition(t)
        if op is None or depth <= 0:
            return False
        if op.name in ("multiply", "divide") or op.name in _SHIFT_PRESERVING:
            return any(self.is_shifted(a, depth - 1) for a in op.args)
        if op.name != "subtract":
            return False
        base, largest = self.base(op.args[0]), self.largest(op.args[1], depth)
        return largest is not None and self.base(largest) == base

    def base(self, x: Operand) -> Operand:
        """The value of which `x` is a view, a copy or a conversion."""
        op = self.definition(x)
        while op is not None and op.name in _SHIFT_PRESERVING and op.name != "where":
            x, op = op.args[0], self.definition(op.args[0])
        return x

    def largest(self, x: Operand, depth: int) -> Operand | None:
        """The array of which `x` is the maximum; None if `x` is not a maximum."""
        op = self.definition(x)
        if op is None or depth <= 0:
            return None
        if op.name == "max":
            return op.args[0]
        if op.name not in _SHIFT_PRESERVING:
            return None
        found = (self.largest(a, depth - 1) for a in op.args)
        return next((x for x in found if x is not None), None)

    def is_below_one(self, x: Operand) -> bool:
        """True if `x` is an exponential of a provably nonpositive value."""
        op = self.definition(x)
        made = op and op.name == "exp" and self.definition(op.args[0])
        if not made:
            return False
        if made.name == "negative":
            return sign_analysis.nonnegative(self.b, made.args[0])
        if made.name != "multiply":
            return False
        signed = [(self.constant(a), b) for a, b in (made.args, made.args[::-1])]
        return any(
            c is not None and c < 0 and sign_analysis.nonnegative(self.b, b) for c, b in signed
        )


def _is_basic(op: Op) -> bool:
    return all(item[0] in ("int", "slice", "all", "new") for item in op.attrs["items"])


# ---------------------------------------------------------------- removal of the marks


def erase_log_domain(module: Module) -> Module:
    """The module with each mark replaced by its value."""
    # Unread logarithms are dropped here, before CSE: it would otherwise reuse their
    # subexpressions for equal ones in the sweep.
    return module.map(lambda f, _: eliminate_dead_code(_erase_marks(f)) if _marks(f) else f)


def erase_log_domain_in(function: Function) -> Function:
    """A differentiated function with each mark replaced by its value, and without the logarithms
    that are no longer read.  No statement of the program itself is dropped, since later
    derivatives may be requested with respect to any of its values."""
    erased, unread = _erase_marks(function), function.notes.get("logarithms", set())
    while erased is not function:
        reads = {x.name for s in walk(erased.body) for x in operands_of(s) if isinstance(x, Var)}
        reads |= {x.name for x in erased.results if isinstance(x, Var)}
        drop = unread - reads
        if not any(isinstance(s, Assign) and s.target.name in drop for s in walk(erased.body)):
            break
        erased = _without_definitions(erased, drop)
    return erased


def _without_definitions(function: Function, names: set[str]) -> Function:
    def keep(stmt: Stmt) -> Stmt | None:
        return None if isinstance(stmt, Assign) and stmt.target.name in names else stmt

    return _map_statements(function, keep, lambda x: x)


def _marks(function: Function) -> list[Assign]:
    return [
        s for s in walk(function.body) if isinstance(s, Assign) and s.op.name in LOG_DOMAIN_RULES
    ]


def _erase_marks(function: Function) -> Function:
    marks = _marks(function)
    if not marks:
        return function
    # A value that this pass has renamed gets its original name back.
    renamed: dict[str, Var] = {}
    names: dict[str, Operand] = {}
    for stmt in marks:
        value = stmt.op.args[0]
        if isinstance(value, Var) and stmt.op.attrs.get("own_name") and value.name not in renamed:
            renamed[value.name] = stmt.target
        else:
            names[stmt.target.name] = value

    def read(x: Operand) -> Operand:
        while isinstance(x, Var) and x.name in names:
            x = names[x.name]
        return renamed.get(x.name, x) if isinstance(x, Var) else x

    def keep(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Assign):
            return stmt
        if stmt.op.name in LOG_DOMAIN_RULES:
            return None
        target = renamed.get(stmt.target.name)
        return stmt if target is None else replace(stmt, target=target)

    return _map_statements(function, keep, read)


def _map_statements(
    function: Function,
    keep: Callable[[Stmt], Stmt | None],
    read: Callable[[Operand], Operand],
) -> Function:
    """The function with `keep` applied to each statement (None drops it) and `read` to each
    operand.  The statement indices in its notes are updated."""

    def visit(block: Block) -> Block:
        out: Block = []
        for stmt in block:
            kept = keep(stmt)
            if kept is not None:
                out.append(map_blocks(kept, visit))
        return out

    before = [0]
    for stmt in function.body:
        before.append(before[-1] + (keep(stmt) is not None))
    notes = dict(function.notes)
    if "forward" in notes:
        notes["forward"] = before[notes["forward"]]
        notes["places"] = [before[k] for k in notes["places"]]
    body = substitute(visit(function.body), read)
    results = [read(r) for r in function.results]
    effects = [(p, read(v)) for p, v in function.effects]
    return replace(function, body=body, results=results, effects=effects, notes=notes)
