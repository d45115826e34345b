"""The pass pipeline of the compiler: from a request to the source of a kernel.

`compile_request` runs all passes.  `_value_form_passes` is the sequence of the passes in value
form.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from .autodiff import log_domain
from .autodiff.custom_derivative import erase_custom_derivatives
from .autodiff.reverse import reverse
from .bufferize.bufferize import bufferize
from .checkpoint.canonicalize_slots import canonicalize_slots
from .checkpoint.plan_tape import plan_tape
from .frontend.check_subset import checked
from .frontend.desugar.jumps import show_desugared
from .frontend.kernel_interface import Build, Interface, ObjectGuard, Param, Readable, Written
from .frontend.pytree import (
    Fixed,
    Out,
    OutTree,
    Path,
    Spec,
    Step,
    Tree,
    TreeSpec,
    child_step,
    path_text,
)
from .ir.errors import S2STypeError
from .ir.fixpoint import IterationLimit
from .ir.nodes import (
    Array,
    Assign,
    Draw,
    Function,
    Module,
    Op,
    Scalar,
    Type,
    Var,
    is_complex,
    is_float,
    operands_of,
    walk,
)
from .ir.printer import print_ir
from .ir.record import field, record, replace
from .ir.symbolic_dims import Facts, Guard
from .lower.loops.parallelize import ParallelVerdict
from .lower.lower import lower, lower_to_cuda
from .lower.target.program import CudaProgram
from .simplify import simplify
from .simplify.code_sinking import sink
from .simplify.cse import eliminate_common_subexpressions
from .simplify.inline_calls import inline_calls
from .simplify.lists_to_slots import lists_to_slots
from .simplify.reuse_powers import reuse_powers
from .specialise import NeedStaticArgument, Specialised, specialise
from .specialise.shared import last_return


@record
class Request:
    """A compilation request.  `args` are the specs of the bound arguments, in order of the
    function's parameters (defaults filled in; `*args` a tuple, `**kwargs` a dict).  `values` are
    the arguments themselves, from which the compiler takes objects and sizes; None if only the
    types are available (inside `@njit`)."""

    function: Callable[..., Any]
    args: dict[str, Spec]
    values: dict[str, Any] | None = None
    mode: str = "primal"  # or "vjp"
    wrt: tuple[str, ...] = ()
    has_aux: bool = False
    static: tuple[Path, ...] = ()
    # integers reached through objects that changed in an earlier call: parameters, not constants
    lifted_ints: frozenset[Path] = frozenset()
    boundscheck: bool = True
    parallel: bool | None = False  # None: where it is profitable
    # calls of functions: inlined while specialising ("inline"), kept where they can be ("keep"),
    # or kept until the last differentiation and inlined then ("keep+inline")
    calls: str = "inline"
    # the function's name refers to its gradient, as under a decorator
    decorated: bool = False
    target: str = "cpu"  # or "cuda"


@record
class Compiled(Readable):
    """The result of a compilation: the source texts and the calling convention of the kernel.

    The arguments of the kernel are the value of each of `params`, then the seed `out_bar` in vjp
    mode, then one output buffer per entry of `out_like` (position of a result -> position in
    `params` of the parameter with the same shape and dtype), in order of position.  It returns a
    tuple of the remaining results in order.  `out` rebuilds the user's result, and `grads` one
    gradient per `wrt`, from the kernel's results; result positions include the buffers."""

    name: str
    params: list[Param]
    out: OutTree
    grads: list[OutTree]
    guards: list[Guard]
    object_guards: list[ObjectGuard]
    lowered: str
    entry: str
    write: Callable[[], Written]
    out_like: dict[int, int] = field(default_factory=dict)
    result_types: list[Type] = field(default_factory=list)
    written: list[int] = field(default_factory=list)  # params the function writes into
    failures: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)  # by base name: files that errors may name
    # the side effects to apply after the call (the path of the holder, the step from there, the
    # value), and the paths of the objects and containers from outside, including the holders
    changes: list[tuple[Path, Step, OutTree]] = field(default_factory=list)
    holders: list[Path] = field(default_factory=list)
    # what another process needs to reproduce the compilation: the objects completed during it,
    # the files of all functions that were read, and whether it depends on facts that no path
    # describes
    builds: list[Build] = field(default_factory=list)
    inlined: list[str] = field(default_factory=list)
    loose: bool = False
    passes: Callable[[], Iterator[tuple[str, str]]] = field(default=lambda: iter(()))
    seconds: dict[str, float] = field(default_factory=dict)  # by pass: its run time
    cuda: CudaProgram | None = None  # what `lowered` consists of, for the target "cuda"


def compile_request(request: Request) -> Compiled:
    """Run all passes.  Raises `S2SError` if the program cannot be compiled."""
    times = [time.perf_counter()]
    spec = _specialise(request)
    stages: list[tuple[str, Module]] = []
    for stage in _value_form_passes(spec, request):
        stages.append(stage)
        times.append(time.perf_counter())
    module, facts = stages[-1][1], spec.facts
    interface = _interface(spec, request)
    memory_form = bufferize(module, for_lowering=True)
    if request.target == "cuda":
        lowered = lower_to_cuda(memory_form, facts, boundscheck=request.boundscheck)
    else:
        lowered = lower(
            memory_form, facts, boundscheck=request.boundscheck, parallel=request.parallel
        )
    times.append(time.perf_counter())
    names = [*(name for name, _ in stages), "lower"]
    without_values = replace(request, values=None)

    def text() -> Module:
        return module if spec.text is None else _module_of_functions(spec, without_values)

    compiled = Compiled(
        name=module.entry,
        params=spec.params,
        out=spec.out,
        grads=interface.grads,
        guards=facts.guards,
        object_guards=spec.object_guards,
        lowered=lowered.text,
        entry=lowered.entry,
        write=lambda: _written(text(), interface),
        out_like=module.main.notes.get("out_like", {}),
        result_types=[r.type for r in module.main.results],
        written=spec.written,
        failures=lowered.failures,
        files=spec.files,
        changes=spec.changes,
        holders=spec.holders if spec.changes else [],
        builds=spec.builds,
        inlined=spec.inlined,
        loose=spec.loose,
        seconds={n: end - start for n, start, end in zip(names, times, times[1:])},
        cuda=lowered.cuda,
    )
    compiled.passes = lambda: _passes(stages, compiled)
    return compiled


def write(request: Request) -> Written:
    """The readable source of a program that is already compiled, and the places of its lines."""
    spec = _specialise(request)
    *_, (_, module) = _value_form_passes(spec, request)
    if spec.text is not None:
        module = _module_of_functions(spec, request)
    return _written(module, _interface(spec, request))


def _interface(spec: Specialised, request: Request) -> Interface:
    grads = _gradient_trees(spec, request)
    wrt = request.wrt if request.mode == "vjp" else ()
    return Interface(tuple(request.args), spec.params, spec.out, wrt, grads, spec.changes)


def _written(module: Module, interface: Interface) -> Written:
    from .emit.readable import readable_source  # and libcst, which a first call may not need

    return readable_source(module, interface)


@record
class ReadAnalysis(Compiled):
    """The inputs that a program reads.  `used` are the positions of the parameters that a
    statement reads; `legacy` is true if it draws from NumPy's legacy generator."""

    used: frozenset[int] = frozenset()
    legacy: bool = False


def analyse_reads(request: Request) -> ReadAnalysis:
    """Determine the inputs that a program reads, without generating code."""
    spec = _specialise(request)
    functions = spec.module.functions.values()
    stmts = [s for f in functions for s in walk(f.body)]
    values = {x.name for s in stmts for x in operands_of(s) if isinstance(x, Var)}
    return ReadAnalysis(
        name=spec.module.entry, params=spec.params, out=spec.out, grads=[],
        guards=spec.facts.guards, object_guards=spec.object_guards, lowered="", entry="",
        write=lambda: Written("", {}, []),
        used=frozenset(i for i, p in enumerate(spec.params) if p.name in values),
        legacy=any(isinstance(s, Draw) and s.rng is None for s in stmts),
    )  # fmt: skip


@record
class Examined:
    """The modules in value form after each pass, by name of the pass; no code is generated."""

    spec: Specialised
    stages: dict[str, Module]


def examine(request: Request) -> Examined:
    """Run only the passes in value form, for inspection."""
    spec = _specialise(request)
    return Examined(spec, dict(_value_form_passes(spec, request)))


def parallel_verdicts(request: Request, seen: Examined) -> list[ParallelVerdict]:
    """The parallelisation verdicts on the loops of an examined program."""
    found: list[ParallelVerdict] = []
    lower(
        bufferize(seen.stages["save"], for_lowering=True), seen.spec.facts,
        boundscheck=request.boundscheck, parallel=request.parallel, verdicts=found,
    )  # fmt: skip
    return found


def _specialise(request: Request) -> Specialised:
    """Specialise the function.  Integer arguments on which the structure of the program depends
    become compile-time constants: specialisation restarts when it encounters one."""
    static = set(request.static)
    rounds = IterationLimit("specialise: static arguments")
    while True:
        rounds.count()
        try:
            return specialise(
                request.function,
                request.args,
                request.values,
                frozenset(static),
                request.lifted_ints,
                request.calls != "inline",
            )
        except NeedStaticArgument as need:
            if need.path in static:
                raise
            static.add(need.path)


def _value_form_passes(spec: Specialised, request: Request) -> Iterator[tuple[str, Module]]:
    """The passes in value form: the name of each and its output."""
    facts = spec.facts
    module = eliminate_common_subexpressions(spec.module)
    yield "specialise", module
    if request.mode == "vjp":
        wrt = _wrt_leaves(spec, request)
        _check_value(spec, request)
        _unpack_value(spec)
        module = reverse(module, tuple(p.name for _, p in wrt), 0, facts)
        first = module.main.notes["primal_results"] = len(spec.module.main.results)
        module.main.notes["out_like"] = {
            first + k: position for k, (position, p) in enumerate(wrt) if isinstance(p.type, Array)
        }
        module.main.notes["wrt"] = request.wrt
        yield "reverse", module
    module = log_domain.erase_log_domain(erase_custom_derivatives(module))
    if request.calls != "inline" and _has_text(module):
        spec.text = module, facts.copy()
    if request.calls == "keep+inline":
        module = inline_calls(module, facts).map(_with_slots, facts)
        yield "inline", module
    _note_parameters(module, spec, request)
    module = simplify(module, facts)
    yield "simplify", module
    module = plan_tape(reuse_powers(module), facts)
    module = sink(simplify(module, facts))
    yield "save", module


def _has_text(module: Module) -> bool:
    """Whether the text is written from the module before inlining: the lists that some pairs of
    functions take and return have no text of their own yet."""
    functions = module.functions.values()
    return len(functions) > 1 and not any(f.notes.get("inout") for f in functions)


def _note_parameters(module: Module, spec: Specialised, request: Request) -> None:
    notes = module.main.notes
    notes["user_params"] = list(request.args)
    # of the kernel's parameters: the user's own, not parts of one or reached through an object
    own = [p.name for p in spec.params if p.path == (("arg", p.name),)]
    notes["own_params"] = [] if "title" in notes else own


def _module_of_functions(spec: Specialised, request: Request) -> Module:
    """The module before inlining, with the tape of each function planned, for the text."""
    from .emit.callee_interfaces import adjoints_first, prune_calls
    from .emit.saved_tuples import pack_saved_values

    assert spec.text is not None
    module, facts = spec.text
    module = inline_calls(module, facts, lambda f: bool(f.notes.get("library")))
    module.main.notes["has_functions"] = True
    _note_parameters(module, spec, request)
    module = simplify(adjoints_first(simplify(module, facts)), facts)
    module = pack_saved_values(prune_calls(module))
    module = plan_tape(reuse_powers(module), facts)
    return sink(simplify(module, facts))


def _with_slots(function: Function, facts: Facts | None) -> Function:
    """An inlined function with the slots that inlining at once gives it."""
    return canonicalize_slots(lists_to_slots(function, facts or Facts()))


def _unpack_value(spec: Specialised) -> None:
    """Replace a result that is a 0-d array by its scalar element, for differentiation."""
    main = spec.module.main
    value = main.results[0]
    if isinstance(value.type, Array):
        scalar = Var(f"{value.name}_item", Scalar(value.type.dtype))  # type: ignore[union-attr]
        main.body.append(Assign(scalar, Op("index", (value,), {"items": ()})))
        main.results[0] = scalar


def _passes(stages: list[tuple[str, Module]], compiled: Compiled) -> Iterator[tuple[str, str]]:
    """The text of the program after each pass."""
    yield "desugar", show_desugared(checked(stages[0][1].main.source))
    for name, module in stages:
        yield name, print_ir(module)
    yield "storage", print_ir(bufferize(stages[-1][1]))
    yield "write", compiled.source
    yield "lower", compiled.lowered


def _wrt_leaves(spec: Specialised, request: Request) -> list[tuple[int, Param]]:
    """The parameters to differentiate with respect to: the float leaves of each `wrt` argument."""
    leaves: list[tuple[int, Param]] = []
    for name in request.wrt:
        own = [(i, p) for i, p in enumerate(spec.params) if p.path[0] == ("arg", name)]
        for _, p in own:
            if not is_float(p.type):
                what, kind = path_text(p.path), p.type.dtype.rstrip("0123456789")
                raise S2STypeError(
                    f"{what} is {kind}: there is no gradient with respect to it",
                    advice=f"{what} is {kind}; pass 3.0, not 3, or use x.astype(float)",
                )
        if not own:
            raise S2STypeError(
                f"{name} holds no float number or array to differentiate by",
                advice="choose another argument with wrt=",
            )
        leaves += own
    return leaves


def _gradient_trees(spec: Specialised, request: Request) -> list[OutTree]:
    """One gradient tree per `wrt` argument, with the structure of the argument."""
    if request.mode != "vjp":
        return []
    position = len(spec.module.main.results)
    index: dict[Path, int] = {}
    for _, p in _wrt_leaves(spec, request):
        index[p.path] = position
        position += 1

    def tree(s: Spec, path: Path) -> OutTree:
        if isinstance(s, TreeSpec):
            children = tuple(
                tree(c, (*path, child_step(s.kind, k))) for k, c in zip(s.keys, s.children)
            )
            return Tree(s.kind, s.cls, s.keys, children)
        return Out(index[path]) if path in index else Fixed(None)

    return [tree(request.args[name], (("arg", name),)) for name in request.wrt]


def _check_value(spec: Specialised, request: Request) -> None:
    """Raise an error unless the function returns one float to differentiate."""
    main = spec.module.main
    out = spec.out
    line = last_return(main.source.node)
    span = main.source.span(getattr(line, "value", None) or line)
    location = {"span": span, "source_line": main.source.line(span.line)}
    if request.has_aux:
        if not (isinstance(out, Tree) and out.kind == "tuple" and len(out.children) == 2):
            raise S2STypeError(
                "has_aux=True needs a function that returns (value, aux)",
                advice="return the pair, or leave has_aux out", **location,
            )  # fmt: skip
        out = out.children[0]
    if not isinstance(out, Out):
        raise S2STypeError(
            "a gradient needs one scalar, and this function returns "
            + (repr(out.value) if isinstance(out, Fixed) else "a container"),
            advice="return the number to differentiate; with has_aux=True, return (value, aux)",
            **location,
        )
    type_ = main.results[out.index].type
    if type_.ndim > 0:
        raise S2STypeError(
            f"a gradient needs one scalar, and this function returns an array of {type_.ndim} "
            "dimension" + ("s" if type_.ndim > 1 else ""),
            advice="return a number, for example result.sum(); or use s2s.vjp or s2s.jacobian",
            **location,
        )
    if is_complex(type_):
        raise S2STypeError(
            "a gradient needs a real result, and this function returns a complex number",
            advice="return its real part, its imaginary part or its absolute value", **location,
        )  # fmt: skip
    if not is_float(type_):
        raise S2STypeError(
            f"a gradient needs a float result, and this function returns {type_.dtype}",
            advice="convert with float(...)", **location,
        )  # fmt: skip
