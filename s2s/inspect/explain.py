"""`f.explain()`: a report on activity, memory, threads and recompilation of a function.

The report is data, lists of small dataclasses; `print` formats them.  All of it is computed from
the IR after each pass, for which the function is translated again.  So compilation has no extra
cost, and code loaded from disk can be explained as well.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..call.guards import PathResolver
from ..dispatch import recompile_reason
from ..dispatch.recompile_reason import spec_text
from ..transforms import pipeline
from ..transforms.autodiff.activity import activity
from ..transforms.diagnostics import tape_report as memory
from ..transforms.diagnostics.activity_report import (
    ActiveVariable,
    DependenceGraph,
    SourceLocation,
    active_variables,
    location_of,
)
from ..transforms.frontend.derivative_spec import DIRECTED, Derived
from ..transforms.frontend.pytree import (
    Fixed,
    Path,
    ScalarSpec,
    Spec,
    TreeSpec,
    child_step,
    path_text,
)
from ..transforms.ir.nodes import is_float, targets_of, walk
from . import explain_device, explain_text
from .explain_data import Inactive, OnThreads, Recompilation, ReportData

if TYPE_CHECKING:
    from ..dispatch.specializations import Specialiser
    from ..transforms.pipeline import Examined


class Report(ReportData):
    """The report of `f.explain()`; printing it shows it as text."""

    def __str__(self) -> str:
        return explain_text.text(self)

    __repr__ = __str__


def explain(function: Any, specialiser: Specialiser, args: tuple[Any, ...] | None) -> Report:
    """The report for bound arguments, or for the latest specialisation."""
    latest = specialiser.latest
    if args is None:
        assert latest is not None
        specs, values = dict(latest.specs), latest.example
    else:
        specs, values = specialiser.describe(args), args
    named = dict(zip(specs, values))
    examined = pipeline.examine(specialiser.request(specs, named))
    code = specialiser.function.__code__
    report = Report(_title(function), code.co_filename, code.co_firstlineno, True)
    _Activity(specialiser, specs, named, examined).fill(report)
    _fill_memory(report, specialiser, examined, values)
    if specialiser.options.target == "cpu":
        _fill_threads(report, specialiser, specs, named, examined)
    else:
        report.device = explain_device.on_device(specialiser, specs, named)
    report.recompiled = _recompilation(specialiser, args, specs)
    return report


def _title(function: Any) -> str:
    return repr(function).removeprefix("<").removesuffix(">")


def _recompilation(
    specialiser: Specialiser, args: tuple[Any, ...] | None, specs: dict[str, Spec]
) -> Recompilation:
    reasons = specialiser.reasons
    reason = reasons[-1] if len(reasons) > 1 else ""
    again = ""
    if args is not None and reasons:
        known = specialiser.entries.get(specialiser._key(args), [])
        if not any(entry.enter(args) is not None for entry in known):
            before = specialiser.latest.specs if specialiser.latest is not None else {}
            again = recompile_reason.type_change(before, specs) if not known else ""
            again = again or (f"what changed is {known[0].broken_guard(args)}" if known else "new")
    return Recompilation(len(reasons), reason, again)


# ---------------------------------------------------------------- activity


_EXPLAINED_KINDS = {"grad", "value_and_grad", "jacobian", "hessian", *DIRECTED}


class _Activity:
    """The innermost primal function, and the activity analysis of it."""

    def __init__(
        self,
        specialiser: Specialiser,
        specs: dict[str, Spec],
        values: dict[str, Any],
        examined: Examined,
    ) -> None:
        self.specialiser = specialiser
        self.examined = examined
        self.specs, self.values = dict(specs), dict(values)
        self.wrt = specialiser.wrt
        self.kinds = ["grad"] if specialiser.mode == "vjp" else []
        function: Any = specialiser.function
        while isinstance(function, Derived):
            if function.kind in DIRECTED:
                direction = list(inspect.signature(function).parameters)[function.skipped + 1]
                del self.specs[direction], self.values[direction]
            self.wrt = function.wrt or self.wrt
            self.kinds.append(function.kind)
            function = function.function
        self.function = function

    def fill(self, report: Report) -> None:
        report.derivative = bool(self.wrt) or self._derived_lines() != set()
        report.inactive += self._unconnected()
        if not self.wrt or not set(self.kinds) <= _EXPLAINED_KINDS:
            report.active = self._by_lines()
            return
        report.wrt = self.wrt
        spec = self._plain()
        main = spec.module.main
        scalar = not {"jvp", "vjp", "jacobian"} & set(self.kinds)
        results = main.results[:1] if scalar else main.results
        own = [p for p in spec.params if p.path[0][0] == "arg" and p.path[0][1] in self.wrt]
        wrt = [p.name for p in own if is_float(p.type)]
        report.active = active_variables(main, wrt, results)
        flow = DependenceGraph(main, results)
        self.vars = {p.path: v for p, v in zip(spec.params, main.params)}
        self.active = {p: self._is_active(main, v.name, results) for p, v in self.vars.items()}
        for name, argument in self.specs.items():
            if name in self.wrt:
                self._leaves(report, flow, argument, (("arg", name),))
            else:
                report.inactive.append(Inactive(name, self._reason_not_wrt(argument)))
        for p in spec.params:
            inside = p.path[0][0] == "arg" and isinstance(self.specs[p.path[0][1]], Fixed)
            if inside and is_float(p.type):
                report.inactive.append(Inactive(path_text(p.path), "is not in wrt"))
            elif p.path[0][0] != "arg" and is_float(p.type):
                kind = {"closure": "of an enclosing function"}.get(p.path[0][0], "a global")
                report.inactive.append(
                    Inactive(_outer_path_text(p.path), f"{kind}: a constant here")
                )

    def _plain(self) -> Any:
        """The specialised primal function, not differentiated."""
        if self.function is self.specialiser.function:
            return self.examined.spec
        request = self.specialiser.request(self.specs, self.values)
        request = replace(request, function=self.function, mode="primal", wrt=())
        return pipeline.examine(request).spec

    def _is_active(self, main: Any, name: str, results: Any) -> bool:
        return name in activity(main, [name], results).values

    def _leaves(self, report: Report, flow: Any, spec: Spec, path: Path) -> None:
        """Report for each scalar, array and object in an argument whether it is active."""
        if isinstance(spec, TreeSpec):
            whole = all(self.active.get(p, False) for p in _paths(spec, path)) and spec.children
            if whole:
                report.arguments.append(path_text(path))
                return
            for key, child in zip(spec.keys, spec.children):
                self._leaves(report, flow, child, (*path, child_step(spec.kind, key)))
            return
        name = path_text(path)
        if isinstance(spec, Fixed):
            report.inactive.append(Inactive(name, _no_derivative_type(spec), "None"))
        elif self.active.get(path, False):
            report.arguments.append(name)
        else:
            why = flow.why_inactive(self.vars[path]) if path in self.vars else "is never read"
            report.inactive.append(Inactive(name, why, "0"))

    def _reason_not_wrt(self, spec: Spec) -> str:
        if isinstance(spec, Fixed):
            return _no_derivative_type(spec)
        dtype = getattr(spec, "dtype", "")
        if isinstance(spec, ScalarSpec) and not dtype.startswith("float"):
            return f"is {spec_text(spec)}"
        if dtype and not dtype.startswith("float"):
            return f"is an array of {dtype}"
        return "is not in wrt"

    # ---- derivatives inside the program

    def _unconnected(self) -> list[Inactive]:
        """The sources of tape queries that have no gradient."""
        found = []
        for lost in self.examined.spec.module.main.notes.get("unconnected", ()):
            why = lost.why
            if not why:
                why = DependenceGraph(lost.function, lost.function.results).why_inactive(
                    lost.source
                )
            found.append(Inactive(lost.text, why, "None", location_of(lost.origin)))
        return found

    def _derived_lines(self) -> set[Any]:
        module = self.examined.stages["simplify"]
        origins = [s.origin for f in module.functions.values() for s in walk(f.body)]
        return {o.stmt for o in origins if o is not None and (o.sweep or o.tangent)}

    def _by_lines(self) -> list[ActiveVariable]:
        """The variables assigned in lines for which derivative code was generated."""
        lines = self._derived_lines()
        found: dict[tuple[str, str], dict[SourceLocation, None]] = {}
        for stmt in walk(self.examined.stages["simplify"].main.body):
            o = stmt.origin
            if o is None or o.sweep or o.tangent or o.stmt not in lines:
                continue
            for v in targets_of(stmt):
                place = location_of(o)
                if v.user and is_float(v.type) and place is not None:
                    found.setdefault((place.inside, v.user), {})[place] = None
        return [ActiveVariable(name, tuple(p), inside) for (inside, name), p in found.items()]


def _no_derivative_type(spec: Fixed) -> str:
    if spec.value is None:
        return "is None"
    return f"is no number or array ({type(spec.value).__name__})"


def _outer_path_text(path: Path) -> str:
    """The path of a value outside the arguments; a global of another module by its name there."""
    own = [i for i, step in enumerate(path) if step == (".", "__globals__")]
    return path_text((("global", path[own[-1] + 1][1]), *path[own[-1] + 2 :]) if own else path)


def _paths(spec: Spec, path: Path) -> list[Path]:
    if not isinstance(spec, TreeSpec):
        return [path]
    return [
        p
        for key, child in zip(spec.keys, spec.children)
        for p in _paths(child, (*path, child_step(spec.kind, key)))
    ]


# ---------------------------------------------------------------- memory


def _fill_memory(
    report: Report, specialiser: Specialiser, examined: Examined, args: tuple[Any, ...]
) -> None:
    spec, module = examined.spec, examined.stages["save"]
    reach = PathResolver(specialiser.function, specialiser.binder.names)
    numbers: dict[str, int] = {}
    for p in spec.params:
        value = reach.value(args, p.path)
        numbers |= {f"{p.name}.{axis}": n for axis, n in enumerate(np.shape(value))}
        if isinstance(value, (int, np.integer)):
            numbers[p.name] = int(value)
    names = {p.name: path_text(p.path) for p in spec.params}
    sizes = memory.Sizes(module.main, spec.facts, names, numbers)
    report.saved = memory.saved(module.main, sizes) + memory.copies(module, sizes)
    report.saved += memory.snapshots(examined.stages["specialise"].main, sizes)
    report.kept = memory.kept(module.main, sizes)
    report.recomputed = memory.recomputed(module, examined.stages["specialise"])


# ---------------------------------------------------------------- threads


def _fill_threads(
    report: Report,
    specialiser: Specialiser,
    specs: dict[str, Spec],
    values: dict[str, Any],
    examined: Examined,
) -> None:
    request = specialiser.request(specs, values)
    if request.parallel is False:
        explicit = specialiser.options.parallel is False
        report.no_threads = "parallel=False" if explicit else "this process has one core"
        request = replace(request, parallel=None)
    # The analysis adds size facts, which must not affect the report.
    facts = examined.spec.facts
    before = facts.snapshot()
    found = pipeline.parallel_verdicts(request, examined)
    facts.restore(before)
    known = {**(facts.sizes or {}), **facts.ints}
    rows = [
        OnThreads(v.line, v.why_not)
        for v in found
        if v.work is None or sum(k * _product(m, known) for m, k in v.work.items()) >= v.min_work
    ]
    report.threads = list(dict.fromkeys(rows))


def _product(symbols: tuple[str, ...], known: dict[str, int]) -> int:
    return math.prod(known[s] for s in symbols)
