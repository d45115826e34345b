"""`lower(module, facts)`: lowers memory form to loop IR, optimises it, and prints Python source.

Start with `lower_function`: it lowers the statements of one function (`_stmt` dispatches on the
kind of statement, `HANDLERS` on the operation) and calls `run_loop_passes`, which lists the loop
passes in order.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import dataclass, field

from ..ir import nodes
from ..ir.op_registry import RULES
from ..ir.symbolic_dims import Dim, Facts
from .analysis.alias import MayAlias, with_bindings
from .analysis.bounds import symbolic_max, symbolic_min
from .analysis.dependence import reversible_loops
from .analysis.in_bounds import AccumulationFacts
from .analysis.parallel_profit import WorkEstimator, decide_parallel
from .analysis.parameters import Parameters
from .analysis.single_assignment import fixed_integers
from .build.context import HANDLERS, Context, Failures
from .build.lazy_array import buffer_value
from .build.producer_fusion import accumulate_to_value
from .build.specialise_small_axes import specialise_small_axes
from .build.symbolic_range import MAX_CONSTANT
from .checks.hoist import hoist_checks
from .checks.in_range import eliminate_in_range_checks
from .checks.redundant import eliminate_redundant_checks
from .checks.version_loop import version_checked_loops
from .loop_ir import nodes as L
from .loop_ir.conversions import cast
from .loop_ir.python_printer import print_module
from .loops.collapse import collapse_loops
from .loops.distribute_calls import distribute_calls
from .loops.distribute_shifted import distribute_shifted
from .loops.fusion import LoopFusion
from .loops.gemm_accumulate import fuse_gemm_accumulate
from .loops.interchange import interchange_loops
from .loops.parallelize import Parallelizer, ParallelVerdict
from .loops.privatize_index import privatize_index
from .loops.reversal import reverse_loops
from .loops.reverse_from_one import count_from_stop
from .loops.reverse_scatter import reverse_scatter_loops
from .loops.scatter_to_gather import scatter_to_gather
from .loops.split_interior import split_interior
from .loops.split_wraparound import split_wraparound
from .loops.unroll_and_jam import unroll_and_jam
from .loops.unroll_and_jam_sums import unroll_and_jam_sums
from .memory.array_contraction import contract_arrays
from .memory.canonicalize_accumulate import canonicalize_accumulate
from .memory.carried_zeros import peel_carried_zeros
from .memory.carry_registers import carry_in_registers
from .memory.dead_stores import eliminate_dead_stores
from .memory.duplicate_layout import duplicate_layout
from .memory.forward_copies import forward_copies
from .memory.forward_scaled_copies import forward_scaled_copies
from .memory.fuse_zero_accumulate import fuse_zero_accumulate
from .memory.hoist_allocations import hoist_allocations
from .memory.hoist_fills import hoist_fills
from .memory.hoist_reserve import hoist_reserve
from .memory.layout import choose_layout
from .memory.promote_accumulators import promote_accumulators
from .memory.scalar_replacement import replace_by_scalars
from .memory.store_first_accumulate import store_first_accumulate
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
from .ops.lists import (
    ALREADY_BOUND,
    bind_list,
    list_arguments,
    list_names,
    list_params,
    set_item,
    stacked,
)
from .ops.random import draw
from .ops.stacks import push_statement
from .ops.store import store
from .scalars.exact_quotients import exact_quotients
from .scalars.if_conversion import if_convert
from .scalars.minmax_recurrence import shorten_minmax_recurrence
from .scalars.scalar_cse import scalar_cse
from .sparsity.skip_zero_updates import skip_zero_updates
from .target.checks import fail_in_loops
from .target.emit import RESERVED, emit
from .target.induction import substitute_inductions
from .target.interchange import interchange_for_grids, is_grid
from .target.program import CudaProgram
from .target.row_blocks import keeps_parallelism
from .target.supported import check_supported

# Bytes of stack reserved for library routines, such as LAPACK, that the innermost call uses.
STACK_RESERVE = 128 << 10


@dataclass
class LoweredModule:
    """The result of lowering.

    `text` is the source of a Python module, `entry` the kernel's name in it.  `failures[site]` is
    (exception, parts): the constant parts of the message, None in place of a run-time value.
    `out_params` are the positions of the results that have an out-buffer, in the order of the extra
    parameters.  `routines` is the loop IR.  `cuda` describes the text of the CUDA target.
    """

    text: str
    entry: str
    failures: list[tuple[str, tuple[str | None, ...]]]
    out_params: list[int]
    routines: list[L.Routine] = field(default_factory=list, repr=False)
    cuda: CudaProgram | None = None


def lower(
    module: nodes.Module,
    facts: Facts | None = None,
    *,
    boundscheck: bool = True,
    parallel: bool | None = False,
    header: str = "",
    verdicts: list[ParallelVerdict] | None = None,
) -> LoweredModule:
    """Lower a module to Python source.

    `parallel` tells whether loops are parallelised.  None decides by a cost model on the sizes of
    the current call, and adds guards on these sizes to the facts.  The decision for each loop is
    appended to `verdicts`.
    """
    if facts is None:
        facts = module.main.notes.get("facts") or Facts()
    failures = Failures()
    routines = []
    for function in reversed(module.functions.values()):
        main = function is module.main
        known = facts if main else function.notes.get("facts")
        # No sizes are known in a function that is not inlined, so None means False there.
        split = parallel if main else bool(parallel)
        routines.append(lower_function(function, known, failures, boundscheck, split, verdicts))
    out_params = sorted(module.main.notes.get("out_like", {}))
    text = print_module(routines, header)
    return LoweredModule(text, module.entry, failures.sites, out_params, routines)


def lower_to_cuda(
    module: nodes.Module, facts: Facts | None = None, *, boundscheck: bool = True
) -> LoweredModule:
    """Lower a module to the text of CUDA kernels and a host function."""
    if facts is None:
        facts = module.main.notes.get("facts")
    failures = Failures()
    ctx, routine, outs = _translated(
        module.main,
        facts or Facts(),
        failures,
        boundscheck,
        lambda ctx, stmts: check_supported(ctx, stmts),
    )
    may_alias = _alias_query(ctx)
    routine.body = run_cuda_passes(ctx, [p.name for p in routine.params], outs, may_alias)
    text, program = emit(routine, may_alias, ctx.comment_spans, ctx.emitter.taken)
    out_params = sorted(module.main.notes.get("out_like", {}))
    return LoweredModule(text, module.entry, failures.sites, out_params, [routine], program)


def lower_function(
    function: nodes.Function,
    facts: Facts | None = None,
    failures: Failures | None = None,
    boundscheck: bool = True,
    parallel: bool | None = False,
    verdicts: list[ParallelVerdict] | None = None,
) -> L.Routine:
    """Lower one function to loop IR."""
    facts = facts or Facts()
    ctx, routine, outs = _translated(function, facts, failures or Failures(), boundscheck)
    names = [p.name for p in routine.params]
    routine.body = run_loop_passes(ctx, names, outs, parallel, facts, verdicts)
    return routine


def _translated(
    function: nodes.Function,
    facts: Facts,
    failures: Failures,
    boundscheck: bool,
    check: Callable[[Context, list[L.Stmt]], None] | None = None,
) -> tuple[Context, L.Routine, dict[int, str]]:
    """One function as loop IR before the loop passes, and its out-buffers by result.

    `check` is called with the statements that each statement of the function is lowered to.
    """
    specialise_small_axes(function, facts)
    function = accumulate_to_value(function, facts)
    ctx = Context(function, facts, failures, boundscheck, RESERVED if check else frozenset())
    ctx.check_lowered = check
    params = [param for p in function.params for param in _params(ctx, p)]
    outs = _out_buffers(ctx)
    params += [_param(name, function.results[position].type) for position, name in outs.items()]
    if function.notes.get("callee"):
        ctx.stack = L.Name(ctx.emitter.new_name("stack"))
        params.append(L.Param(ctx.stack.name, "int64"))
    elif any(isinstance(s, nodes.Call) for s in nodes.walk(function.body)):
        ctx.stack = ctx.emitter.let(
            L.Apply("rt.stack_limit", (L.lit(STACK_RESERVE),), "int64"), "stack"
        )
    _block(ctx, function.body)
    ctx.place = None
    results: list[L.Expr | L.Subview] = []
    for position, result in enumerate(function.results):
        if function.notes.get("callee") and isinstance(result.type, nodes.ListOf):
            results += list_arguments(ctx, result)
            continue
        v = _result(ctx, result)
        if position not in outs:
            results.append(v)
        elif isinstance(v, L.Subview) and v.buffer != outs[position]:
            assert isinstance(result.type, nodes.Array)
            value = buffer_value(v.buffer, result.type.dtype, result.type.shape)
            ctx.fill(buffer_value(outs[position], result.type.dtype, result.type.shape), value)
    ctx.emitter.add(L.Return(tuple(results)))
    return ctx, L.Routine(function.name, params, ctx.emitter.out), outs


def _params(ctx: Context, p: nodes.Var) -> list[L.Param]:
    """The parameters of a routine for one of a function: several for a list."""
    if isinstance(p.type, nodes.ListOf):
        return list_params(ctx, p)
    return [_param(ctx.python_name(p), p.type)]


def _param(name: str, type_: nodes.Type) -> L.Param:
    """The parameter of a routine for a variable of a type."""
    if isinstance(type_, (nodes.Array, nodes.Record)) and (type_.ndim or type_.dtype != "record"):
        return L.Param(name, type_.dtype, type_.ndim, type_.layout)
    return L.Param(name, type_.dtype)


def run_loop_passes(
    ctx: Context,
    params: list[str],
    outs: dict[int, str],
    parallel: bool | None,
    facts: Facts,
    verdicts: list[ParallelVerdict] | None = None,
) -> list[L.Stmt]:
    """The function's body after the loop passes.

    Among others, the passes choose memory layouts that match the loop order, fuse loops, and
    contract arrays that live in a single iteration to scalars.  Parallelisation follows them.
    """
    may_alias = _alias_query(ctx)
    escaping = {ctx.python_name(p) for p, _ in ctx.function.effects}
    arrays, matrices = _arrays(ctx, outs, escaping), _whole_matrices(ctx)
    sizes = (e for known in (arrays.sizes, matrices) for found in known.values() for e in found)
    privatize_index(ctx.emitter.out, ctx.emitter.new_name)
    scalar_cse(ctx.emitter.out, params, sizes)
    integers = fixed_integers(ctx.emitter.out, params)
    body = eliminate_redundant_checks(ctx.emitter.out, may_alias, integers)
    eliminate_in_range_checks(body, params)
    body = hoist_checks(body, escaping, may_alias)
    reverse_scatter_loops(body, may_alias)
    eliminate_dead_stores(body)
    forward_scaled_copies(body)
    scatter_to_gather(body, may_alias)
    split_interior(body, may_alias)
    store_first_accumulate(body)
    fuse_zero_accumulate(body, escaping, may_alias, ctx.emitter.new_name)
    fuse_gemm_accumulate(body, matrices, may_alias)
    choose_layout(body, arrays, may_alias, ctx.emitter)
    duplicate_layout(body, arrays, may_alias, ctx.emitter)
    interchange_loops(body, may_alias)
    if_convert(body, params, ctx.emitter.new_name)
    body = distribute_calls(body, escaping, may_alias, ctx.emitter.new_name)
    body = distribute_shifted(body, escaping, may_alias, ctx.emitter.new_name)
    reversible = reversible_loops(body, may_alias, escaping)
    integers = fixed_integers(body, params)
    body = LoopFusion(may_alias, escaping, reversible, integers, arrays.sizes).run(body)
    replace_by_scalars(body, params)
    peel_carried_zeros(body, may_alias, ctx.emitter.new_name)
    skip_zero_updates(body, params, arrays, may_alias, ctx.emitter)
    whole = {n: s for n, s in arrays.sizes.items() if ctx.is_contiguous(n)}
    collapse_loops(body, whole, may_alias, ctx.emitter.new_name)
    contract_arrays(body, params)
    canonicalize_accumulate(body, arrays.dtypes)
    in_bounds = AccumulationFacts(body, params, arrays.sizes)
    body = promote_accumulators(
        body, arrays.dtypes, escaping, may_alias, ctx.emitter.new_name, in_bounds
    )
    split_wraparound(body)
    # Without sizes (`facts.sizes` None: compiled for types alone) there is no cost model, so loops
    # stay sequential unless `parallel` is set.
    if parallel or (parallel is None and facts.sizes is not None):
        splitter = Parallelizer(
            body, may_alias, escaping, ctx.emitter.new_name, parallel is not None
        )
        known = WorkEstimator(body, _symbols(ctx, outs), facts)
        if verdicts is not None:
            verdicts += splitter.verdicts(known, body)
        split, guards = True, []
        if parallel is None:
            split, guards = decide_parallel(splitter.amounts(known, body), facts, splitter.min_work)
        facts.guards += guards
        body = splitter.block(body) if split else body
    reverse_loops(body, may_alias, escaping)
    count_from_stop(body, ctx.overflowing_starts, ctx.emitter.new_name)
    unroll_and_jam_sums(body, arrays.dtypes, escaping, may_alias, ctx.emitter.new_name)
    forward_copies(body, may_alias, ctx.emitter.new_name)
    unroll_and_jam(body, arrays.dtypes, escaping, may_alias, ctx.emitter.new_name)
    owned = {n: dtype for n, dtype in arrays.dtypes.items() if n in whole}
    carry_in_registers(body, params, owned, may_alias, ctx.emitter.new_name)
    hoist_allocations(body)
    hoist_reserve(body)
    hoist_fills(body)
    shorten_minmax_recurrence(body)
    version_checked_loops(body, params)
    exact_quotients(body)
    return body


def run_cuda_passes(
    ctx: Context, params: list[str], outs: dict[int, str], may_alias: MayAlias
) -> list[L.Stmt]:
    """The function's body after the loop passes of the CUDA target.

    Passes that serve vector units and caches are left out: those that choose layouts, split,
    unroll or reverse loops, carry values in registers, or skip work on zeros.  Allocations stay
    where they are, since a buffer that each iteration allocates is private to it.  An error leaves
    the contents of arguments unspecified, so that no buffer is escaping.
    """
    arrays, matrices = _arrays(ctx, outs, set()), _whole_matrices(ctx)
    sizes = (e for known in (arrays.sizes, matrices) for found in known.values() for e in found)
    privatize_index(ctx.emitter.out, ctx.emitter.new_name)
    scalar_cse(ctx.emitter.out, params, sizes)
    integers = fixed_integers(ctx.emitter.out, params)
    body = eliminate_redundant_checks(ctx.emitter.out, may_alias, integers)
    eliminate_in_range_checks(body, params)
    body = hoist_checks(body, set(), may_alias)
    eliminate_dead_stores(body)
    forward_scaled_copies(body)
    scatter_to_gather(body, may_alias)
    store_first_accumulate(body)
    fuse_zero_accumulate(body, set(), may_alias, ctx.emitter.new_name)
    fuse_gemm_accumulate(body, matrices, may_alias)
    interchange_loops(body, may_alias)
    body = distribute_calls(body, set(), may_alias, ctx.emitter.new_name)
    reversible = reversible_loops(body, may_alias, set())
    integers = fixed_integers(body, params)
    fail_in_loops(body)
    interchange_for_grids(body, with_bindings(body, may_alias), ctx.emitter.new_name)
    accepts = keeps_parallelism(with_bindings(body, may_alias))
    body = LoopFusion(may_alias, set(), reversible, integers, arrays.sizes, accepts).run(body)
    replace_by_scalars(body, params)
    contract_arrays(body, params)
    canonicalize_accumulate(body, arrays.dtypes)
    count_from_stop(body, ctx.overflowing_starts, ctx.emitter.new_name)
    forward_copies(body, may_alias, ctx.emitter.new_name)
    hoist_allocations(body, is_grid(body, with_bindings(body, may_alias)))
    hoist_reserve(body)
    hoist_fills(body)
    substitute_inductions(body)
    return body


def _alias_query(ctx: Context) -> MayAlias:
    """Which buffers of a function may share memory."""
    python_names: dict[str, list[str]] = {}
    for (name, _), python in ctx.names.items():
        python_names.setdefault(name, []).append(python)
    groups: dict[str, frozenset[str]] = {}
    for group in ctx.usage.aliases.values():
        names = frozenset(p for name in group for p in python_names.get(name, ()))
        groups.update(dict.fromkeys(names, names))

    def may_alias(a: str, b: str) -> bool:
        a, b = ctx.emitter.root(a), ctx.emitter.root(b)
        return a == b or b in groups.get(a, ())

    return may_alias


def _symbols(ctx: Context, outs: dict[int, str]) -> dict[str, str]:
    """The IR names whose symbolic sizes describe the parameters, by Python name.

    An out-buffer has the sizes of the parameter whose shape the result has.
    """
    params = {ctx.python_name(p): p.name for p in ctx.function.params}
    like = ctx.function.notes.get("out_like", {})
    return params | {name: ctx.function.params[like[p]].name for p, name in outs.items()}


def _arrays(ctx: Context, outs: dict[int, str], escaping: set[str]) -> Parameters:
    """The array parameters, out-buffers included."""
    values = {ctx.python_name(p): p.type for p in ctx.function.params}
    values |= {name: ctx.function.results[position].type for position, name in outs.items()}
    arrays = {name: t for name, t in values.items() if isinstance(t, nodes.Array)}
    dtypes = {name: t.dtype for name, t in arrays.items()}
    sizes = {name: ctx.sizes(buffer_value(name, t.dtype, t.shape)) for name, t in arrays.items()}
    return Parameters(dtypes, sizes, frozenset(outs.values()), escaping)


def _whole_matrices(ctx: Context) -> dict[str, tuple[L.Expr, ...]]:
    """The sizes of the C-contiguous float matrices among the parameters, which gemm can write."""
    values = {
        ctx.python_name(p): ctx.value(p)
        for p in ctx.function.params
        if isinstance(p.type, nodes.Array) and p.type.dtype in ("float32", "float64")
    }
    return {name: v.sizes for name, v in values.items() if v.ndim == 2 and v.is_buffer}


def _out_buffers(ctx: Context) -> dict[int, str]:
    """The out-buffer of each result that has one, by position.

    It is the result's own variable if that is bound once, at the top level, to a new array.
    Otherwise the result is copied to it at the end.
    """
    function = ctx.function
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
            and not _is_view(ctx, bound[0])
            and result.name not in ctx.param_names
        )
        if once:
            ctx.outs[result.name] = outs[position] = ctx.python_name(result)
        else:
            outs[position] = ctx.emitter.new_name(f"{result.name}_out")
    return outs


def _is_view(ctx: Context, stmt: nodes.Assign) -> bool:
    """True if `stmt` may bind its target to the memory of an operand."""
    group = ctx.usage.aliases.get(stmt.target.name, ())
    return any(isinstance(a, nodes.Var) and a.name in group for a in stmt.op.args)


def _result(ctx: Context, result: nodes.Operand) -> L.Expr | L.Subview:
    """A returned value: a scalar expression, or a buffer that is materialised if necessary."""
    if isinstance(result.type, nodes.Scalar):
        return cast(ctx.scalar(result), result.type.dtype)
    assert isinstance(result, nodes.Var), result
    if isinstance(result.type, nodes.ListOf):
        dims = (ctx.fresh_dim(), *result.type.elem.shape)
        return ctx.materialised_copy(stacked(ctx, result, dims)).as_argument()
    v = ctx.value(result)
    if v.memory is None or not v.memory.is_unpermuted:
        v = ctx.materialised_copy(v)
    return v.as_argument()


# ---------------------------------------------------------------- statements


def _block(ctx: Context, block: nodes.Block) -> None:
    """Lower the statements of a block in order."""
    for position, stmt in enumerate(block):
        ctx.origin = stmt.origin
        ctx.at = (block, position)
        ctx.emit_source_comment(stmt.origin)
        first = len(ctx.emitter.out)
        _stmt(ctx, block, position, stmt)
        if ctx.check_lowered is not None:
            ctx.check_lowered(ctx, ctx.emitter.out[first:])
        _changed(ctx, stmt)


def _nested(ctx: Context, block: nodes.Block) -> list[L.Stmt]:
    """Lower an inner block, which may execute any number of times (also zero).

    Virtual values and checks from inside it are discarded at its end.
    """
    env, place, tested = dict(ctx.env), ctx.place, dict(ctx.available_checks)
    with ctx.emitter.into([]) as out:
        _block(ctx, block)
    ctx.env, ctx.place, ctx.available_checks = env, place, tested
    return out


def _stmt(ctx: Context, block: nodes.Block, position: int, stmt: nodes.Stmt) -> None:
    """Lower one statement."""
    if isinstance(stmt, nodes.Assign):
        _assign(ctx, block, position, stmt)
    elif isinstance(stmt, nodes.Store):
        if isinstance(stmt.array.type, nodes.ListOf):
            set_item(ctx, stmt)
        else:
            store(ctx, stmt)
    elif isinstance(stmt, nodes.Push):
        push_statement(ctx, stmt)
    elif isinstance(stmt, nodes.If):
        _if(ctx, stmt)
    elif isinstance(stmt, nodes.For):
        _for(ctx, stmt)
    elif isinstance(stmt, nodes.While):
        _while(ctx, stmt)
    elif isinstance(stmt, nodes.Call):
        _call(ctx, stmt)
    elif isinstance(stmt, nodes.Draw):
        draw(ctx, stmt)
    elif isinstance(stmt, nodes.Raise):
        _raise(ctx, stmt)
    elif isinstance(stmt, nodes.Print):
        _print(ctx, stmt)
    else:
        raise ctx.unsupported(f"{type(stmt).__name__} has no place in memory form")


def _assign(ctx: Context, block: nodes.Block, position: int, stmt: nodes.Assign) -> None:
    """Lower an assignment with the handler of its operation; elementwise is the default."""
    op, target = stmt.op, stmt.target
    if isinstance(target.type, nodes.ListOf) and op.name in ("alias", "copy"):
        bind_list(ctx, stmt)
        return
    if isinstance(target.type, nodes.Record):
        _assign_record(ctx, stmt)
        return
    handler = HANDLERS.get(op.name)
    if handler is None:
        rule = RULES.get(op.name)
        if rule is not None and rule.kind != "elementwise":
            raise ctx.unsupported(f"{op.name} cannot be compiled yet")
        handler = elementwise
    v = handler(ctx, stmt)
    if v is not ALREADY_BOUND:
        ctx.assign(block, position, v)


def _assign_record(ctx: Context, stmt: nodes.Assign) -> None:
    """Bind a record, which always stays virtual."""
    v = HANDLERS[stmt.op.name](ctx, stmt)
    uses = ctx.usage.uses(*ctx.at)
    if uses is None or uses.is_clobbered_by(v.reads):
        raise ctx.unsupported("a record kept in a variable that changes", "read its fields instead")
    ctx.env[stmt.target.name] = v


def _changed(ctx: Context, stmt: nodes.Stmt) -> None:
    """Invalidate the index arrays cached for arrays that `stmt` writes or rebinds."""
    if isinstance(stmt, nodes.Store):
        ctx.invalidate_array(stmt.array.name)
    for target in nodes.targets_of(stmt):
        ctx.invalidate_array(target.name)


def _forget(ctx: Context, stmt: nodes.Stmt) -> None:
    """Invalidate what is recorded about variables that a compound statement may bind.

    Such a variable is materialised after the statement.
    """
    for inner in nodes.walk([stmt]):
        _changed(ctx, inner)
        for target in (*nodes.targets_of(inner), *nodes.inner_targets_of(inner)):
            ctx.env.pop(target.name, None)
            ctx.invalidate_variable(ctx.python_name(target))


def _if(ctx: Context, stmt: nodes.If) -> None:
    cond = cast(ctx.scalar(stmt.cond), "bool")
    then, orelse = _nested(ctx, stmt.then), _nested(ctx, stmt.orelse)
    _forget(ctx, stmt)
    if isinstance(cond, L.Lit):
        for s in then if cond.value else orelse:
            ctx.emitter.add(s)
    elif not then and orelse:
        ctx.emitter.add(L.If(L.logical_not(cond), orelse))
    else:
        ctx.emitter.add(L.If(cond, then, orelse))


def _for(ctx: Context, stmt: nodes.For) -> None:
    """Lower a counted loop.

    Where the counter could overflow, the loop runs over iteration numbers, and the index is
    computed from them in the body.
    """
    emitter = ctx.emitter
    start, stop, step = (ctx.integer(o) for o in (stmt.start, stmt.stop, stmt.step))
    count = None if stmt.count is None else ctx.integer(stmt.count)
    low, high = _index_range(ctx, stmt)
    if not isinstance(step, L.Lit):
        zero = L.compare("==", step, L.ZERO)
        emitter.check(zero, "ValueError", "range() arg 3 must not be zero" + ctx.location_suffix())
    name = counter = ctx.python_name(stmt.index)
    if _counts_safely(ctx, stmt, step):
        bounds = _bounds(ctx, stmt, start, stop, step, count)
        # The stop of the reverse loop is start - step, which may overflow.
        if (
            stmt.reverse
            and count is None
            and not ctx.ranges.is_far_from_overflow(ctx.symbolic_value(stmt.start))
        ):
            assert isinstance(step, L.Lit)
            ctx.overflowing_starts[counter] = step.value
    else:
        counter = emitter.new_name("k")
        bounds = _iteration_bounds(ctx, stmt, start, stop, step, count)
    _forget(ctx, stmt)
    # The mirror of a forward loop takes only values that the forward loop reached from `start`.
    # Any other reverse loop begins at the far end, which may be near the limits of int64.
    begin = ctx.symbolic_value(stmt.start) if stmt.mirror or not stmt.reverse else None
    with ctx.ranges.inside(ctx.symbolic_value(stmt.index), low, high, begin):
        body = _nested(ctx, stmt.body)
        _until(ctx, stmt.until, body)
    if counter != name:
        body.insert(0, L.Let(name, L.add(start, L.mul(L.Name(counter), step))))
    emitter.add(L.Loop(counter, *bounds, body))


def _counts_safely(ctx: Context, stmt: nodes.For, step: L.Expr) -> bool:
    """True if the last increment of the counter, past the end of the range, does not overflow."""
    if not isinstance(step, L.Lit) or abs(step.value) > MAX_CONSTANT:
        return False
    start, stop = (
        ctx.ranges.is_far_from_overflow(ctx.symbolic_value(o)) for o in (stmt.start, stmt.stop)
    )
    if abs(step.value) == 1 and stmt.count is None:
        return True
    return start if stmt.reverse or stmt.count is not None else stop


def _begins_safely(ctx: Context, stmt: nodes.For, step: int) -> bool:
    """True if `stop - step`, the first index of a reverse loop, does not wrap around.

    This holds if `stop` is far from the limits of int64, or if `start` is and `stop` is proven not
    to lie before `start`.
    """
    start, stop = ctx.symbolic_value(stmt.start), ctx.symbolic_value(stmt.stop)
    if ctx.ranges.is_far_from_overflow(stop):
        return True
    if start is None or stop is None or not ctx.ranges.is_far_from_overflow(start):
        return False
    return ctx.ranges.nonnegative((stop - start) * step)


def _iteration_bounds(
    ctx: Context,
    stmt: nodes.For,
    start: L.Expr,
    stop: L.Expr,
    step: L.Expr,
    count: L.Expr | None,
) -> tuple[L.Expr, L.Expr, L.Expr]:
    """The range of a loop's iteration numbers: start, stop, step."""
    if count is None:
        count = ctx.emitter.let(L.Apply("rt.trip_count", (start, stop, step), "int64"), "n")
    if stmt.reverse:
        return L.sub(count, L.ONE), L.lit(-1), L.lit(-1)
    return L.ZERO, count, L.ONE


def _bounds(
    ctx: Context,
    stmt: nodes.For,
    start: L.Expr,
    stop: L.Expr,
    step: L.Expr,
    count: L.Expr | None,
) -> tuple[L.Expr, L.Expr, L.Expr]:
    """The range of the loop index: start, stop, step."""
    if not stmt.reverse:
        if count is not None:
            stop = L.add(start, L.mul(count, step))
        return start, stop, step
    if count is None and isinstance(step, L.Lit) and abs(step.value) == 1:
        # The first index of an empty range must not wrap around.
        if not _begins_safely(ctx, stmt, step.value):
            end = symbolic_max if step.value == 1 else symbolic_min
            stop = end(stop, start)
        return L.sub(stop, step), L.sub(start, step), L.lit(-step.value)
    if count is None:
        count = ctx.emitter.let(L.Apply("rt.trip_count", (start, stop, step), "int64"), "n")
    last = L.add(start, L.mul(L.sub(count, L.ONE), step))
    assert isinstance(step, L.Lit)
    return last, L.sub(start, step), L.lit(-step.value)


def _index_range(ctx: Context, stmt: nodes.For) -> tuple[Dim | None, Dim | None]:
    """Symbolic minimum and maximum of the index in the body; None where unknown."""
    start, stop, step = (ctx.symbolic_value(o) for o in (stmt.start, stmt.stop, stmt.step))
    if step is None or not step.is_const or start is None:
        return None, None
    if stmt.count is not None:
        count = ctx.symbolic_value(stmt.count)
        if count is None:
            return None, None
        far = start + (count - 1) * step.const
        return (start, far) if step.const > 0 else (far, start)
    if stop is None:
        return None, None
    return (start, stop - 1) if step.const > 0 else (stop + 1, start)


def _until(ctx: Context, until: nodes.Operand | None, body: list[L.Stmt]) -> None:
    """Append the exit of a loop that ends early when `until` is true."""
    if until is not None:
        with ctx.emitter.into(body):
            ctx.emitter.add(L.If(cast(ctx.scalar(until), "bool"), [L.Break()]))


def _while(ctx: Context, stmt: nodes.While) -> None:
    """Lower a while loop to an infinite loop with a break after the test block."""
    _forget(ctx, stmt)
    env, tested = dict(ctx.env), dict(ctx.available_checks)
    with ctx.emitter.into([]) as body:
        _block(ctx, stmt.test)
        cond = cast(ctx.scalar(stmt.cond), "bool")
        if not L.is_lit(cond, True):
            ctx.emitter.add(L.If(L.logical_not(cond), [L.Break()]))
        _block(ctx, stmt.body)
        _until(ctx, stmt.until, body)
    ctx.env, ctx.available_checks = env, tested
    _forget(ctx, stmt)
    ctx.emitter.add(L.While(body))


def _call(ctx: Context, stmt: nodes.Call) -> None:
    """Lower a call of another function of the module.

    Array arguments and results are contiguous, so a function has one compiled version.  A list is
    passed and returned as its variables, and the caller's variables are rebound.  The last argument
    is the stack limit, checked before the call: native code has no recursion limit, and a
    stack overflow would end the process.
    """
    args: list[L.Expr | L.Subview] = []
    overwritten = dict(stmt.inout).values()
    owned: list[int] = []
    for position, a in enumerate(stmt.args):
        if isinstance(a.type, nodes.ListOf):
            parts = list_arguments(ctx, a)
            if position in overwritten:
                buffers = (i for i, part in enumerate(parts) if isinstance(part, L.Subview))
                owned += [len(args) + i for i in buffers]
            args += parts
        elif isinstance(a.type, nodes.Scalar):
            args.append(cast(ctx.scalar(a), a.type.dtype))
        elif isinstance(a.type, nodes.Record):
            args.append(ctx.value(a).as_argument() if a.type.ndim else ctx.scalar(a))
        else:
            args.append(ctx.materialise(ctx.value(a)).as_argument())
    too_deep = L.Apply("rt.stack_is_low", (ctx.stack,), "bool")
    ctx.emitter.check(
        too_deep, "RecursionError", "maximum recursion depth exceeded" + ctx.location_suffix()
    )
    args.append(ctx.stack)
    names: list[str] = []
    for t in stmt.targets:
        is_list = isinstance(t.type, nodes.ListOf)
        names += list_names(ctx, t) if is_list else [ctx.python_name(t)]
    ctx.emitter.add(L.CallRoutine(tuple(names), stmt.function, tuple(args), tuple(owned)))
    for t in stmt.targets:
        ctx.env.pop(t.name, None)
        ctx.invalidate_variable(ctx.python_name(t))


def _raise(ctx: Context, stmt: nodes.Raise) -> None:
    """Lower a raise: a constant message is embedded, one with run-time values gets a site."""
    # The source location is the last part of the message, where the caller expects it.  The caller
    # strips it from messages that the user wrote.
    message = (*stmt.message, ctx.location_suffix(quoted=stmt.check))
    if all(isinstance(p, str) for p in message) and hasattr(builtins, stmt.exception):
        ctx.emitter.add(L.Fail(stmt.exception, "".join(message)))
        return
    parts, values = [], []
    for p in message:
        p, spec = p if isinstance(p, tuple) else (p, None)
        if isinstance(p, str):
            parts.append(p)
            continue
        if p.type.ndim:
            raise ctx.unsupported("an array in an error message", "put a number there, as x.max()")
        parts.append(None if spec is None else (spec,))
        values.append(ctx.emitter.let(ctx.scalar(p)))
    site = ctx.failures.site(stmt.exception, tuple(parts))
    ctx.emitter.add(L.Fail(stmt.exception, "", site, tuple(values)))


def _print(ctx: Context, stmt: nodes.Print) -> None:
    """Lower a print to one call with a str.format template and its values."""
    texts: list[str] = []
    values: list[L.Expr | L.Subview] = []
    for part in stmt.parts:
        text = ""
        for p in part if isinstance(part, tuple) else (part,):
            p, spec = p if isinstance(p, tuple) else (p, "")
            if not isinstance(p, (nodes.Var, nodes.Const)):
                text += str(p).replace("{", "{{").replace("}", "}}")
                continue
            text += f"{{:{spec}}}" if spec else "{}"
            values.append(_printed(ctx, p))
        texts.append(text)
    sep, end = (s.replace("{", "{{").replace("}", "}}") for s in (stmt.sep, stmt.end))
    ctx.emitter.add(L.Print(sep.join(texts) + end, tuple(values)))


def _printed(ctx: Context, operand: nodes.Operand) -> L.Expr | L.Subview:
    """A printed value: a scalar expression, or a buffer."""
    if isinstance(operand.type, nodes.ListOf):
        assert isinstance(operand, nodes.Var)
        dims = (ctx.fresh_dim(), *operand.type.elem.shape)
        return ctx.materialised_copy(stacked(ctx, operand, dims)).as_argument()
    if operand.type.ndim:
        return ctx.materialise(ctx.value(operand)).as_argument()
    return ctx.emitter.let(ctx.scalar(operand))
