"""`lower(module, facts)`: statements in memory form become loop-level IR, then Python text."""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field

from ..ir import nodes
from ..ir.op_registry import RULES
from ..ir.symbolic_dims import Dim, Facts
from .analysis.bounds import larger, smaller
from .analysis.dependence import backwards_at_will
from .analysis.in_bounds import Elsewhere
from .analysis.parallel_profit import Amounts, judged
from .analysis.parameters import Parameters
from .analysis.single_assignment import fixed_integers
from .build.context import HANDLERS, Context, Failures
from .build.lazy_array import buffer_value
from .build.producer_fusion import as_values
from .build.specialise_small_axes import count_few
from .build.symbolic_range import CONSTANT
from .checks.hoist import check_ahead
from .checks.in_range import stay_within
from .checks.redundant import drop_settled
from .checks.version_loop import leave_unchecked
from .loop_ir import nodes as L
from .loop_ir.conversions import cast
from .loop_ir.python_printer import write
from .loops.collapse import join_rows
from .loops.distribute_calls import take_apart
from .loops.distribute_shifted import part_shifted
from .loops.fusion import Merger
from .loops.gemm_accumulate import accumulate
from .loops.interchange import interchange
from .loops.parallelize import Splitter, Verdict
from .loops.privatize_index import keep_last_counts
from .loops.reversal import run_forwards
from .loops.reverse_from_one import count_from_stop
from .loops.reverse_scatter import mirror
from .loops.scatter_to_gather import gather
from .loops.split_interior import part_insides
from .loops.split_wraparound import cut_wrapping
from .loops.unroll_and_jam import run_abreast
from .loops.unroll_and_jam_sums import jam
from .memory.array_contraction import narrow
from .memory.canonicalize_accumulate import spell_additions
from .memory.carried_zeros import keep_zeros
from .memory.carry_registers import keep_windows
from .memory.dead_stores import drop_unread
from .memory.duplicate_layout import pair
from .memory.forward_copies import read_in_place
from .memory.forward_scaled_copies import spell_multiples
from .memory.fuse_zero_accumulate import write_over
from .memory.hoist_allocations import hoist
from .memory.hoist_fills import write_borders_once
from .memory.hoist_reserve import make_room
from .memory.layout import turn
from .memory.promote_accumulators import sum_up
from .memory.scalar_replacement import scalarise
from .memory.store_first_accumulate import touch_first
from .ops import (  # noqa: F401  (handlers)
    contraction,
    create,
    fft,
    indexing,
    linalg,
    lists,
    records,
    reduction,
    stacks,
    view,
)
from .ops.elementwise import elementwise
from .ops.lists import DONE, bind_list, set_item, stacked
from .ops.random import draw
from .ops.stacks import push_statement
from .ops.store import store
from .scalars.if_conversion import choose
from .scalars.minmax_recurrence import wait_less
from .scalars.scalar_cse import share_numbers
from .sparsity.skip_zero_updates import skip_unchosen

# Bytes of the stack that are left for what the deepest of nested calls calls, as LAPACK.
RESERVE = 128 << 10


@dataclass
class LoweredModule:
    """`text` is a Python module; `entry` the kernel's name in it.  `failures[site]` is
    (exception, parts): the message's texts, None where a run-time value goes.  `out_params`
    are the result positions that have an out-buffer, in the order of the extra parameters."""

    text: str
    entry: str
    failures: list[tuple[str, tuple[str | None, ...]]]
    out_params: list[int]
    routines: list[L.Routine] = field(default_factory=list, repr=False)


def lower(
    module: nodes.Module,
    facts: Facts | None = None,
    *,
    boundscheck: bool = True,
    parallel: bool | None = False,
    header: str = "",
    verdicts: list[Verdict] | None = None,
) -> LoweredModule:
    """`parallel` None leaves it to the sizes at hand whether loops are split: guards on sizes are
    added to the facts then.  What is found out about loops on the way goes to `verdicts`."""
    if facts is None:
        facts = module.main.notes.get("facts") or Facts()
    failures = Failures()
    routines = []
    for function in reversed(module.functions.values()):
        main = function is module.main
        known = facts if main else function.notes.get("facts")
        # Of the sizes in a function that stays a call nothing is known.
        split = parallel if main else bool(parallel)
        routines.append(lower_function(function, known, failures, boundscheck, split, verdicts))
    out_params = sorted(module.main.notes.get("out_like", {}))
    text = write(routines, header)
    return LoweredModule(text, module.entry, failures.sites, out_params, routines)


def lower_function(
    function: nodes.Function,
    facts: Facts | None = None,
    failures: Failures | None = None,
    boundscheck: bool = True,
    parallel: bool | None = False,
    verdicts: list[Verdict] | None = None,
) -> L.Routine:
    """One function as loop-level IR."""
    facts = facts or Facts()
    count_few(function, facts)
    function = as_values(function, facts)
    cx = Context(function, facts, failures or Failures(), boundscheck)
    params = [cx.python_name(p) for p in function.params]
    outs = _out_buffers(cx)
    params += list(outs.values())
    if function.notes.get("callee"):
        cx.stack = L.Name(cx.em.fresh("stack"))
        params.append(cx.stack.name)
    elif any(isinstance(s, nodes.Call) for s in nodes.walk(function.body)):
        cx.stack = cx.em.let(L.Call("rt.stack_limit", (L.lit(RESERVE),), "int64"), "stack")
    _block(cx, function.body)
    cx.line = 0
    results: list[L.Expr | L.Whole] = []
    for position, result in enumerate(function.results):
        v = _result(cx, result)
        if position not in outs:
            results.append(v)
        elif isinstance(v, L.Whole) and v.buffer != outs[position]:
            assert isinstance(result.type, nodes.Array)
            value = buffer_value(v.buffer, result.type.dtype, result.type.shape)
            cx.fill(buffer_value(outs[position], result.type.dtype, result.type.shape), value)
    cx.em.add(L.Return(tuple(results)))
    return L.Routine(function.name, params, merged(cx, params, outs, parallel, facts, verdicts))


def merged(
    cx: Context,
    params: list[str],
    outs: dict[int, str],
    parallel: bool | None,
    facts: Facts,
    verdicts: list[Verdict] | None = None,
) -> list[L.Stmt]:
    """The function's body with buffers laid out as loops run, loops merged and buffers of a single
    iteration gone; loops are split last."""
    spelt: dict[str, list[str]] = {}
    for (name, _), python in cx.names.items():
        spelt.setdefault(name, []).append(python)
    groups: dict[str, frozenset[str]] = {}
    for group in cx.usage.sharing.values():
        names = frozenset(p for name in group for p in spelt.get(name, ()))
        groups.update(dict.fromkeys(names, names))

    def shares(a: str, b: str) -> bool:
        a, b = cx.em.root(a), cx.em.root(b)
        return a == b or b in groups.get(a, ())

    visible = {cx.python_name(p) for p, _ in cx.function.effects}
    arrays, matrices = _arrays(cx, outs, visible), _whole_matrices(cx)
    sizes = (e for known in (arrays.sizes, matrices) for found in known.values() for e in found)
    keep_last_counts(cx.em.out, cx.em.fresh)
    share_numbers(cx.em.out, params, sizes)
    integers = fixed_integers(cx.em.out, params)
    body = drop_settled(cx.em.out, shares, integers)
    stay_within(body, params)
    body = check_ahead(body, visible, shares)
    mirror(body, shares)
    drop_unread(body)
    spell_multiples(body)
    gather(body, shares)
    part_insides(body, shares)
    touch_first(body)
    write_over(body, visible, shares, cx.em.fresh)
    accumulate(body, matrices, shares)
    turn(body, arrays, shares, cx.em)
    pair(body, arrays, shares, cx.em)
    interchange(body, shares)
    choose(body, params, cx.em.fresh)
    body = take_apart(body, visible, shares, cx.em.fresh)
    body = part_shifted(body, visible, shares, cx.em.fresh)
    at_will = backwards_at_will(body, shares, visible)
    integers = fixed_integers(body, params)
    body = Merger(shares, visible, at_will, integers, arrays.sizes).run(body)
    scalarise(body, params)
    keep_zeros(body, shares, cx.em.fresh)
    skip_unchosen(body, params, arrays, shares, cx.em)
    whole = {n: s for n, s in arrays.sizes.items() if cx.is_contiguous(n)}
    join_rows(body, whole, shares, cx.em.fresh)
    narrow(body, params)
    spell_additions(body, arrays.dtypes)
    places = Elsewhere(body, params, arrays.sizes)
    body = sum_up(body, arrays.dtypes, visible, shares, cx.em.fresh, places)
    cut_wrapping(body)
    # Compiled for types alone, code is not made for some sizes and not for others.
    if parallel or (parallel is None and facts.sizes is not None):
        splitter = Splitter(body, shares, visible, cx.em.fresh, parallel is not None)
        known = Amounts(body, _symbols(cx, outs), facts)
        if verdicts is not None:
            verdicts += splitter.explained(known, body)
        split, guards = True, []
        if parallel is None:
            split, guards = judged(splitter.amounts(known, body), facts, splitter.bound)
        facts.guards += guards
        body = splitter.block(body) if split else body
    run_forwards(body, shares, visible)
    count_from_stop(body, cx.far_starts, cx.em.fresh)
    jam(body, arrays.dtypes, visible, shares, cx.em.fresh)
    read_in_place(body, shares, cx.em.fresh)
    run_abreast(body, arrays.dtypes, visible, shares, cx.em.fresh)
    owned = {n: dtype for n, dtype in arrays.dtypes.items() if n in whole}
    keep_windows(body, params, owned, shares, cx.em.fresh)
    hoist(body)
    make_room(body)
    write_borders_once(body)
    wait_less(body)
    leave_unchecked(body, params)
    return body


def _symbols(cx: Context, outs: dict[int, str]) -> dict[str, str]:
    """The names in terms of which the sizes of parameters are known; a buffer for a result has
    those of the parameter whose shape it has."""
    params = {cx.python_name(p): p.name for p in cx.function.params}
    like = cx.function.notes.get("out_like", {})
    return params | {name: cx.function.params[like[p]].name for p, name in outs.items()}


def _arrays(cx: Context, outs: dict[int, str], visible: set[str]) -> Parameters:
    """The arrays among the parameters, those for results included."""
    values = {cx.python_name(p): p.type for p in cx.function.params}
    values |= {name: cx.function.results[position].type for position, name in outs.items()}
    arrays = {name: t for name, t in values.items() if isinstance(t, nodes.Array)}
    dtypes = {name: t.dtype for name, t in arrays.items()}
    sizes = {name: cx.sizes(buffer_value(name, t.dtype, t.shape)) for name, t in arrays.items()}
    return Parameters(dtypes, sizes, frozenset(outs.values()), visible)


def _whole_matrices(cx: Context) -> dict[str, tuple[L.Expr, ...]]:
    """The sizes of the matrices among the parameters that lie in memory as gemm writes them."""
    values = {
        cx.python_name(p): cx.value(p)
        for p in cx.function.params
        if isinstance(p.type, nodes.Array) and p.type.dtype in ("float32", "float64")
    }
    return {name: v.sizes for name, v in values.items() if v.ndim == 2 and v.is_buffer}


def _out_buffers(cx: Context) -> dict[int, str]:
    """The out-buffer of each result that has one.  It is the result's own variable where
    that is bound once, at the top, to a fresh array; else it is filled at the end."""
    function = cx.function
    outs: dict[int, str] = {}
    for position in sorted(function.notes.get("out_like", {})):
        result = function.results[position]
        assert isinstance(result, nodes.Var) and isinstance(result.type, nodes.Array), result
        same = [r for r in function.results if isinstance(r, nodes.Var) and r.name == result.name]
        bound = [s for s in nodes.walk(function.body) if result in list(nodes.targets_of(s))]
        once = (
            len(same) == 1
            and len(bound) == 1
            and any(bound[0] is s for s in function.body)
            and isinstance(bound[0], nodes.Assign)
            and not _is_view(cx, bound[0])
            and result.name not in cx.param_names
        )
        if once:
            cx.outs[result.name] = outs[position] = cx.python_name(result)
        else:
            outs[position] = cx.em.fresh(f"{result.name}_out")
    return outs


def _is_view(cx: Context, stmt: nodes.Assign) -> bool:
    """Whether it may bind its target to memory that has another name already."""
    group = cx.usage.sharing.get(stmt.target.name, ())
    return any(isinstance(a, nodes.Var) and a.name in group for a in stmt.op.args)


def _result(cx: Context, result: nodes.Operand) -> L.Expr | L.Whole:
    if isinstance(result.type, nodes.Scalar):
        return cast(cx.scalar(result), result.type.dtype)
    assert isinstance(result, nodes.Var), result
    if isinstance(result.type, nodes.ListOf):
        dims = (cx.fresh_dim(), *result.type.elem.shape)
        return cx.copied(stacked(cx, result, dims)).whole()
    v = cx.value(result)
    if v.memory is None or not v.memory.straight:
        v = cx.copied(v)
    return v.whole()


# ---------------------------------------------------------------- statements


def _block(cx: Context, block: nodes.Block) -> None:
    for position, stmt in enumerate(block):
        cx.origin = stmt.origin
        cx.at = (block, position)
        cx.remark(stmt.origin)
        _stmt(cx, block, position, stmt)
        _changed(cx, stmt)


def _nested(cx: Context, block: nodes.Block) -> list[L.Stmt]:
    """A block that may run any number of times: its bindings do not outlast it."""
    env, line, tested = dict(cx.env), cx.line, dict(cx.tested)
    with cx.em.into([]) as out:
        _block(cx, block)
    cx.env, cx.line, cx.tested = env, line, tested
    return out


def _stmt(cx: Context, block: nodes.Block, position: int, stmt: nodes.Stmt) -> None:
    if isinstance(stmt, nodes.Assign):
        _assign(cx, block, position, stmt)
    elif isinstance(stmt, nodes.Store):
        if isinstance(stmt.array.type, nodes.ListOf):
            set_item(cx, stmt)
        else:
            store(cx, stmt)
    elif isinstance(stmt, nodes.Push):
        push_statement(cx, stmt)
    elif isinstance(stmt, nodes.If):
        _if(cx, stmt)
    elif isinstance(stmt, nodes.For):
        _for(cx, stmt)
    elif isinstance(stmt, nodes.While):
        _while(cx, stmt)
    elif isinstance(stmt, nodes.Call):
        _call(cx, stmt)
    elif isinstance(stmt, nodes.Draw):
        draw(cx, stmt)
    elif isinstance(stmt, nodes.Raise):
        _raise(cx, stmt)
    elif isinstance(stmt, nodes.Print):
        _print(cx, stmt)
    else:
        raise cx.refuse(f"{type(stmt).__name__} has no place in memory form")


def _assign(cx: Context, block: nodes.Block, position: int, stmt: nodes.Assign) -> None:
    op, target = stmt.op, stmt.target
    if isinstance(target.type, nodes.ListOf) and op.name in ("alias", "copy"):
        bind_list(cx, stmt)
        return
    if isinstance(target.type, nodes.Record):
        _assign_record(cx, stmt)
        return
    handler = HANDLERS.get(op.name)
    if handler is None:
        rule = RULES.get(op.name)
        if rule is not None and rule.kind != "elementwise":
            raise cx.refuse(f"{op.name} cannot be compiled yet")
        handler = elementwise
    v = handler(cx, stmt)
    if v is not DONE:
        cx.assign(block, position, v)


def _assign_record(cx: Context, stmt: nodes.Assign) -> None:
    v = HANDLERS[stmt.op.name](cx, stmt)
    uses = cx.usage.uses(*cx.at)
    if uses is None or uses.disturbed_by(v.reads):
        raise cx.refuse("a record kept in a variable that changes", "read its fields instead")
    cx.env[stmt.target.name] = v


def _changed(cx: Context, stmt: nodes.Stmt) -> None:
    if isinstance(stmt, nodes.Store):
        cx.changes(stmt.array.name)
    for target in nodes.targets_of(stmt):
        cx.changes(target.name)


def _forget(cx: Context, stmt: nodes.Stmt) -> None:
    """What a compound statement may have bound is a variable afterwards."""
    for inner in nodes.walk([stmt]):
        _changed(cx, inner)
        for target in (*nodes.targets_of(inner), *nodes.inner_targets_of(inner)):
            cx.env.pop(target.name, None)
            cx.forget(cx.python_name(target))


def _if(cx: Context, stmt: nodes.If) -> None:
    cond = cast(cx.scalar(stmt.cond), "bool")
    then, orelse = _nested(cx, stmt.then), _nested(cx, stmt.orelse)
    _forget(cx, stmt)
    if isinstance(cond, L.Lit):
        for s in then if cond.value else orelse:
            cx.em.add(s)
    elif not then and orelse:
        cx.em.add(L.Branch(L.negated(cond), orelse))
    else:
        cx.em.add(L.Branch(cond, then, orelse))


def _for(cx: Context, stmt: nodes.For) -> None:
    em = cx.em
    start, stop, step = (cx.integer(o) for o in (stmt.start, stmt.stop, stmt.step))
    count = None if stmt.count is None else cx.integer(stmt.count)
    low, high = _index_range(cx, stmt)
    if not isinstance(step, L.Lit):
        zero = L.compare("==", step, L.ZERO)
        em.check(zero, "ValueError", "range() arg 3 must not be zero" + cx.where())
    name = counter = cx.python_name(stmt.index)
    if _counts_safely(cx, stmt, step):
        bounds = _bounds(cx, stmt, start, stop, step, count)
        # The reverse loop ends at start - step.
        if stmt.reverse and count is None and not cx.ranges.moderate(cx.known(stmt.start)):
            assert isinstance(step, L.Lit)
            cx.far_starts[counter] = step.value
    else:
        counter = em.fresh("k")
        bounds = _rounds(cx, stmt, start, stop, step, count)
    _forget(cx, stmt)
    # A sweep begins where the program has come to.
    begin = cx.known(stmt.start) if stmt.mirror or not stmt.reverse else None
    with cx.ranges.inside(cx.known(stmt.index), low, high, begin):
        body = _nested(cx, stmt.body)
        _until(cx, stmt.until, body)
    if counter != name:
        body.insert(0, L.Let(name, L.add(start, L.mul(L.Name(counter), step))))
    em.add(L.Loop(counter, *bounds, body))


def _counts_safely(cx: Context, stmt: nodes.For, step: L.Expr) -> bool:
    """Whether the counter does not overflow where it is added to past the end of the range."""
    if not isinstance(step, L.Lit) or abs(step.value) > CONSTANT:
        return False
    start, stop = (cx.ranges.moderate(cx.known(o)) for o in (stmt.start, stmt.stop))
    if abs(step.value) == 1 and stmt.count is None:
        return True
    return start if stmt.reverse or stmt.count is not None else stop


def _begins_safely(cx: Context, stmt: nodes.For, step: int) -> bool:
    """Whether `stop - step`, where a reverse loop begins, does not wrap: `stop` is far from the
    ends of 64 bits, or the range is not empty unless `start` is."""
    start, stop = cx.known(stmt.start), cx.known(stmt.stop)
    if cx.ranges.moderate(stop):
        return True
    if start is None or stop is None or not cx.ranges.moderate(start):
        return False
    return cx.ranges.nonnegative((stop - start) * step)


def _rounds(
    cx: Context,
    stmt: nodes.For,
    start: L.Expr,
    stop: L.Expr,
    step: L.Expr,
    count: L.Expr | None,
) -> tuple[L.Expr, L.Expr, L.Expr]:
    """The range of the numbers of a loop's rounds."""
    if count is None:
        count = cx.em.let(L.Call("rt.trip_count", (start, stop, step), "int64"), "n")
    if stmt.reverse:
        return L.sub(count, L.ONE), L.lit(-1), L.lit(-1)
    return L.ZERO, count, L.ONE


def _bounds(
    cx: Context,
    stmt: nodes.For,
    start: L.Expr,
    stop: L.Expr,
    step: L.Expr,
    count: L.Expr | None,
) -> tuple[L.Expr, L.Expr, L.Expr]:
    """The range that the loop runs over."""
    if not stmt.reverse:
        if count is not None:
            stop = L.add(start, L.mul(count, step))
        return start, stop, step
    if count is None and isinstance(step, L.Lit) and abs(step.value) == 1:
        # The first index of an empty range must not wrap.
        if not _begins_safely(cx, stmt, step.value):
            end = larger if step.value == 1 else smaller
            stop = end(stop, start)
        return L.sub(stop, step), L.sub(start, step), L.lit(-step.value)
    if count is None:
        count = cx.em.let(L.Call("rt.trip_count", (start, stop, step), "int64"), "n")
    last = L.add(start, L.mul(L.sub(count, L.ONE), step))
    assert isinstance(step, L.Lit)
    return last, L.sub(start, step), L.lit(-step.value)


def _index_range(cx: Context, stmt: nodes.For) -> tuple[Dim | None, Dim | None]:
    """Bounds of the index while the body runs."""
    start, stop, step = (cx.known(o) for o in (stmt.start, stmt.stop, stmt.step))
    if step is None or not step.is_const or start is None:
        return None, None
    if stmt.count is not None:
        count = cx.known(stmt.count)
        if count is None:
            return None, None
        far = start + (count - 1) * step.const
        return (start, far) if step.const > 0 else (far, start)
    if stop is None:
        return None, None
    return (start, stop - 1) if step.const > 0 else (stop + 1, start)


def _until(cx: Context, until: nodes.Operand | None, body: list[L.Stmt]) -> None:
    if until is not None:
        with cx.em.into(body):
            cx.em.add(L.Branch(cast(cx.scalar(until), "bool"), [L.Break()]))


def _while(cx: Context, stmt: nodes.While) -> None:
    _forget(cx, stmt)
    env, tested = dict(cx.env), dict(cx.tested)
    with cx.em.into([]) as body:
        _block(cx, stmt.test)
        cond = cast(cx.scalar(stmt.cond), "bool")
        if not L.is_lit(cond, True):
            cx.em.add(L.Branch(L.negated(cond), [L.Break()]))
        _block(cx, stmt.body)
        _until(cx, stmt.until, body)
    cx.env, cx.tested = env, tested
    _forget(cx, stmt)
    cx.em.add(L.Forever(body))


def _call(cx: Context, stmt: nodes.Call) -> None:
    """Arrays go in and come out contiguous, so that a function has one compiled form.  The
    last argument says how far the stack reaches: machine code has no limit of its own, and the
    process would end."""
    args: list[L.Expr | L.Whole] = []
    for a in stmt.args:
        if isinstance(a.type, nodes.Scalar):
            args.append(cast(cx.scalar(a), a.type.dtype))
        elif isinstance(a.type, nodes.Record):
            args.append(cx.value(a).whole() if a.type.ndim else cx.scalar(a))
        else:
            args.append(cx.materialise(cx.value(a)).whole())
    too_deep = L.Call("rt.stack_is_low", (cx.stack,), "bool")
    cx.em.check(too_deep, "RecursionError", "maximum recursion depth exceeded" + cx.where())
    args.append(cx.stack)
    names = tuple(cx.python_name(t) for t in stmt.targets)
    cx.em.add(L.Invoke(names, stmt.function, tuple(args)))
    for t in stmt.targets:
        cx.env.pop(t.name, None)
        cx.forget(cx.python_name(t))


def _raise(cx: Context, stmt: nodes.Raise) -> None:
    # The place goes at the end, where the caller finds it; the user's own message is
    # given back without it.
    message = (*stmt.message, cx.where(quoted=stmt.check))
    if all(isinstance(p, str) for p in message) and hasattr(builtins, stmt.exception):
        cx.em.add(L.Fail(stmt.exception, "".join(message)))
        return
    parts, values = [], []
    for p in message:
        p, spec = p if isinstance(p, tuple) else (p, None)
        if isinstance(p, str):
            parts.append(p)
            continue
        if p.type.ndim:
            raise cx.refuse("an array in an error message", "put a number there, as x.max()")
        parts.append(None if spec is None else (spec,))
        values.append(cx.em.let(cx.scalar(p)))
    site = cx.failures.site(stmt.exception, tuple(parts))
    cx.em.add(L.Fail(stmt.exception, "", site, tuple(values)))


def _print(cx: Context, stmt: nodes.Print) -> None:
    """One call with a template, as of str.format, and the values that go in."""
    texts: list[str] = []
    values: list[L.Expr | L.Whole] = []
    for part in stmt.parts:
        text = ""
        for p in part if isinstance(part, tuple) else (part,):
            p, spec = p if isinstance(p, tuple) else (p, "")
            if not isinstance(p, (nodes.Var, nodes.Const)):
                text += str(p).replace("{", "{{").replace("}", "}}")
                continue
            text += f"{{:{spec}}}" if spec else "{}"
            values.append(_printed(cx, p))
        texts.append(text)
    sep, end = (s.replace("{", "{{").replace("}", "}}") for s in (stmt.sep, stmt.end))
    cx.em.add(L.Show(sep.join(texts) + end, tuple(values)))


def _printed(cx: Context, operand: nodes.Operand) -> L.Expr | L.Whole:
    if isinstance(operand.type, nodes.ListOf):
        assert isinstance(operand, nodes.Var)
        dims = (cx.fresh_dim(), *operand.type.elem.shape)
        return cx.copied(stacked(cx, operand, dims)).whole()
    if operand.type.ndim:
        return cx.materialise(cx.value(operand)).whole()
    return cx.em.let(cx.scalar(operand))
