"""What called functions take and return, for the readable text.

The adjoint of a call is a pair of functions (`autodiff/callee_pairs.py`).  In the text `f_rev`
takes the adjoints of results first, then what it reads.  What it can compute as easily as read is
not saved by `f_fwd`: sizes, views, a sum or product of what it has.  What is not read is not
passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir.builder import NameSupply
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Call,
    Const,
    Function,
    Module,
    Op,
    Operand,
    Scalar,
    Var,
    map_blocks,
    operands_of,
    substitute,
    walk,
)
from ..ir.op_registry import RULES
from ..ir.record import replace
from ..ir.scopes import names_of
from ..simplify.dce import eliminate_dead_code

# Operations on one or two values that the text computes again, where the result has no name.
_CHEAP = ("add", "subtract", "multiply", "negative", "square", "absolute", "cast", "copy")
_MAX_ITERATIONS = 10


def adjoints_first(module: Module) -> Module:
    """The module whose sweeps take adjoints of results first, and compute what is easy."""
    before = module.map(lambda f, _: _with_seed_names(f))
    module = before.map(lambda f, _: _Recompute(f, before).run() if is_rev(f) else f)
    return _adjoints_first(prune_calls(module))


def prune_calls(module: Module) -> Module:
    """The module whose calls pass what is read."""
    for _ in range(_MAX_ITERATIONS):
        module, changed = _without_dead(module.map(lambda f, _: eliminate_dead_code(f)))
        if not changed:
            break
    return module


def is_rev(f: Function) -> bool:
    """Whether a function is the second half of the adjoint of a call."""
    return "forward_half" in f.notes and "pair" in f.notes


def _with_seed_names(f: Function) -> Function:
    count = f.notes.get("seeds", 0) if f.notes.keys() & {"pair", "product"} else 0
    names = frozenset(p.name for p in f.params[len(f.params) - count :])
    return replace(f, notes={**f.notes, "seed_names": names}) if names else f


class _Recompute:
    """Computes parameters of `f_rev` from others, by their definitions in `f_fwd`."""

    def __init__(self, rev: Function, module: Module) -> None:
        self.rev = rev
        self.names = NameSupply(names_of(rev))
        fwd = module.functions[rev.notes["forward_half"]]
        _, pair = rev.notes["pair"]
        saved = fwd.results[len(fwd.results) - len(pair.saved) :]
        given = [fwd.params[i] for i in pair.args]
        values: list[Operand] = [*given, *(fwd.results[i] for i in pair.results), *saved]
        self.definitions = {s.target.name: s for s in fwd.body if isinstance(s, Assign)}
        # By name of a value of `f_fwd`: what it is in `f_rev`.
        self.known: dict[str, Operand] = {}
        self.replaced: dict[str, Operand] = {}
        self.block: Block = []
        self.saved: list[tuple[Var, Var]] = []
        self.returned: list[tuple[Var, Var]] = []
        for p, value in zip(rev.params, values):
            if isinstance(value, Const):
                self.replaced[p.name] = value
            elif value.name in self.known:
                self.replaced[p.name] = self.known[value.name]
            else:
                self.known[value.name] = p
                if value in saved:
                    self.saved.append((p, value))
                elif value not in given:
                    self.returned.append((p, value))

    def run(self) -> Function:
        for _, value in self.saved:
            if self.is_easy(value, own=True):
                del self.known[value.name]
        for p, value in self.saved:
            if value.name not in self.known:
                self.value(value, p)
        rev = self.rev

        def new(x: Operand) -> Operand:
            return self.replaced.get(x.name, x) if isinstance(x, Var) else x

        body = substitute([*self.block, *rev.body], new)
        saved_as = {p.name: value.name for p, value in [*self.saved, *self.returned]}
        return replace(
            rev, body=body, results=[new(r) for r in rev.results],
            notes={**rev.notes, "saved_as": saved_as},
        )  # fmt: skip

    def is_easy(self, x: Operand, own: bool = False) -> bool:
        """Whether `f_rev` can compute a value of `f_fwd` from what it has."""
        if isinstance(x, Const) or (not own and x.name in self.known):
            return True
        stmt = self.definitions.get(x.name)
        if stmt is None:
            return False
        op = stmt.op
        if not _is_free(op, stmt.target) and (not own or x.user or op.name not in _CHEAP):
            return False
        return all(self.is_easy(a) for a in op.args)

    def value(self, x: Operand, target: Var | None = None) -> Operand:
        """A value of `f_fwd`, computed in `f_rev`."""
        if isinstance(x, Const):
            return x
        if x.name in self.known:
            return self.known[x.name]
        stmt = self.definitions[x.name]
        args = tuple(self.value(a) for a in stmt.op.args)
        type_ = stmt.target.type if target is None else target.type
        new = Var(self.names.fresh(x.name), type_)
        origin = self.rev.body[0].origin if self.rev.body else stmt.origin
        self.block.append(Assign(new, replace(stmt.op, args=args), origin))
        self.known[x.name] = new
        if target is not None:
            self.replaced[target.name] = new
        return new


def _is_free(op: Op, target: Var) -> bool:
    """Whether an operation costs nothing: sizes, integers, views."""
    if op.name in ("shape", "size"):
        return True
    if isinstance(target.type, Scalar) and target.type.dtype == "int64":
        divided = op.name == "floor_divide" and isinstance(op.args[1], Const) and op.args[1].value
        return bool(divided) or op.name in (
            "add", "subtract", "multiply", "maximum", "minimum", "cast",
        )  # fmt: skip
    if not isinstance(target.type, Array):
        return False
    if op.name == "index":
        return all(item[0] not in ("array", "mask") for item in op.attrs["items"])
    return op.name in ("transpose", "reshape", "expand_dims", "squeeze") or (
        op.name in RULES and RULES[op.name].kind == "view" and len(op.args) == 1
    )


# ---------------------------------------------------------------- what is passed


def _without_dead(module: Module) -> tuple[Module, bool]:
    """The module without parameters of sweeps and saved values that are not read."""
    read_results: dict[str, set[int]] = {}
    for f in module.functions.values():
        reads = _reads(f)
        for s in walk(f.body):
            if isinstance(s, Call):
                used = {i for i, v in enumerate(s.targets) if v.name in reads}
                read_results.setdefault(s.function, set()).update(used)
    params: dict[str, list[int]] = {}
    results: dict[str, list[int]] = {}
    for name, f in module.functions.items():
        if name == module.entry:
            continue
        reads = _reads(f)
        if f.notes.keys() & {"pair", "product"}:
            kept = [i for i, p in enumerate(f.params) if p.name in reads]
            if len(kept) < len(f.params):
                params[name] = kept
        used = read_results.get(name, set())
        if is_rev(f) and used:
            always = 0
        else:
            always = f.notes.get("returned", len(f.results))
        kept = [i for i in range(len(f.results)) if i < always or i in used]
        if len(kept) < len(f.results):
            results[name] = kept
    return with_interfaces(module, params, results), bool(params or results)


def _reads(f: Function) -> set[str]:
    operands = [x for s in walk(f.body) for x in operands_of(s)]
    operands += [*f.results, *(v for _, v in f.effects)]
    return {x.name for x in operands if isinstance(x, Var)}


def _adjoints_first(module: Module) -> Module:
    """The module whose sweeps take the adjoints of results before all else."""
    params: dict[str, list[int]] = {}
    for name, f in module.functions.items():
        if name != module.entry and f.notes.keys() & {"pair", "product"}:
            seeds = f.notes.get("seed_names", ())
            order = [i for i, p in enumerate(f.params) if p.name in seeds]
            params[name] = [*order, *(i for i in range(len(f.params)) if i not in order)]
    return with_interfaces(module, params, {})


def with_interfaces(
    module: Module, params: dict[str, list[int]], results: dict[str, list[int]]
) -> Module:
    """The module whose functions take and return only what stands at the given positions, in that
    order."""

    def call(s: Any) -> Any:
        s = map_blocks(s, lambda block: [call(inner) for inner in block])
        if not isinstance(s, Call):
            return s
        if s.function in params:
            s = replace(s, args=_at(s.args, params[s.function]), depends=None)
        if s.function in results:
            s = replace(s, targets=[*_at(s.targets, results[s.function])], depends=None)
        return s

    functions: dict[str, Function] = {}
    for name, f in module.functions.items():
        f = replace(f, body=[call(s) for s in f.body])
        if name in params:
            f = replace(f, params=[*_at(f.params, params[name])])
        if name in results:
            f = replace(f, results=[*_at(f.results, results[name])])
        functions[name] = f
    return Module(functions, module.entry)


def _at(values: Sequence[Any], positions: list[int]) -> tuple[Any, ...]:
    return tuple(values[i] for i in positions)
