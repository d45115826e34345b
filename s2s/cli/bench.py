"""`s2s bench`: measure the run time and the compile time of a function and its gradient."""

from __future__ import annotations

import argparse
import copy
import dataclasses
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..api import functions
from ..call.backend_choice import BACKENDS, DEVICE_TARGETS, choose_backend
from ..transforms.ir.quote import printable_lines
from .environment import cold_cache
from .exit_codes import OK, USER_ERROR, CommandError
from .json_output import as_json
from .loaded_function import Subject, add_arguments, add_mode, add_target, subject
from .timing import Timing, duration, measure


def add(parser: argparse.ArgumentParser) -> None:
    add_arguments(parser)
    add_mode(parser)
    add_target(parser)
    parser.add_argument(
        "--seconds", type=float, default=1.0, metavar="S", help="time for each measurement (1)"
    )
    parser.add_argument("--backend", choices=BACKENDS, help="the back end that runs the gradient")
    parser.add_argument("--no-python", action="store_true", help="do not time the plain function")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(run=run)


@dataclass
class Times:
    """The measurements.  `compiling` has the seconds of each pass and of code generation."""

    gradient: Timing
    primal: Timing | None = None
    python: Timing | None = None
    compiling: dict[str, float] = field(default_factory=dict)
    backend: str = "numba"

    @property
    def ratio(self) -> float | None:
        """The time of the gradient divided by that of the primal."""
        return None if self.primal is None else self.gradient.best / self.primal.best


def run(options: argparse.Namespace) -> int:
    about = subject(options)
    times = timed(about, options.seconds, options.backend, not options.no_python)
    if options.json:
        print(as_json(as_data(about, times)))
    else:
        print(printable_lines(table(about, times)))
    return OK


def timed(about: Subject, seconds: float, backend: str | None, python: bool = True) -> Times:
    """Measure a compilation with an empty cache, then calls."""
    options = about.compiled._shared.options
    if options.target == "cpu":
        chosen = choose_backend(backend or options.backend)
        compiled = with_backend(about.compiled, chosen)
    elif backend is None:
        chosen, compiled = options.target, about.compiled
    else:
        raise CommandError(
            f"--backend {backend} is a way to run on the CPU, and the target is {options.target}",
            "leave one of them out",
        )
    compiling, writes = compile_times(about, chosen)

    def measured(function: Any) -> Timing:
        call, restore = about.call(function)
        return measure(call, seconds, restore if writes else None)

    try:
        with np.errstate(all="ignore"):
            times = Times(measured(compiled), compiling=compiling, backend=chosen)
            if isinstance(compiled, functions.Gradient):
                times.primal = measured(primal_of(compiled))
            if python and compiled._s2s_mode in ("grad", "value_and_grad", "function"):
                times.python = measured(compiled.python)
    except Exception as error:
        if hasattr(error, "advice"):
            raise
        raise CommandError(
            f"{about.name}: {type(error).__name__}: {error}", code=USER_ERROR
        ) from error
    return times


def primal_of(compiled: functions.Function) -> functions.Function:
    """The primal function, compiled with the options of its gradient."""
    options = compiled._shared.options
    return functions.function(
        compiled.python, static_argnames=options.static, boundscheck=options.boundscheck,
        backend=options.backend, parallel=options.parallel, target=options.target,
    )  # fmt: skip


def with_backend(compiled: functions.Function, backend: str) -> functions.Function:
    """A view of the compiled function that runs on another backend."""
    if compiled._shared.options.backend == backend:
        return compiled
    view = compiled._with(compiled._prefix, compiled._fixed)
    view._shared = copy.copy(compiled._shared)
    view._shared.options = dataclasses.replace(compiled._shared.options, backend=backend)
    view._shared.calls = ()
    return view


def compile_times(about: Subject, backend: str) -> tuple[dict[str, float], bool]:
    """The seconds of each pass and of code generation with an empty cache, and whether the code
    writes into its arguments.  A first small compilation excludes the time to load the compiler."""
    with cold_cache():
        on_device = backend in DEVICE_TARGETS
        chosen: Any = {"target": backend} if on_device else {"backend": backend}
        functions.grad(_square, **chosen)(2.0)
    specialiser, bound = about.compiled._bind(about.compiled._mode, about.args, about.kwargs)
    specs = specialiser.describe(bound)
    compiled = specialiser.translate(specs, specialiser.named(bound))
    seconds = dict(compiled.seconds)
    entry = specialiser._entry(compiled, specs, bound)
    params = entry.enter(bound)
    if params is not None:
        start = time.perf_counter()
        with cold_cache():
            entry.kernel(backend, params)
            if on_device:  # kernels are compiled when they are launched first
                entry.run(backend, params)
        seconds["reading" if backend in ("loops", "python") else "machine code"] = (
            time.perf_counter() - start
        )
    return seconds, bool(compiled.written)


def _square(x):
    return x * x


def table(about: Subject, times: Times) -> str:
    what = (
        "gradient" if isinstance(about.compiled, functions.Gradient) else about.compiled._s2s_mode
    )
    rows = [(what, times.gradient, "")]
    if times.primal is not None:
        rows.insert(0, ("function", times.primal, ""))
        rows[1] = (what, times.gradient, f"{times.ratio:.2f} × the function")
    if times.python is not None:
        best = (times.primal or times.gradient).best
        rows.insert(0, ("plain Python", times.python, f"{times.python.best / best:.3g} × compiled"))
    given = ", ".join(f"{k}: {v}" for k, v in about.given().items())
    lines = [f"{about.name}({given}), backend {times.backend}"]
    for name, timing, note in rows:
        text = f"  {name:14} {timing!s:>10}   median {duration(timing.median):>8}   {note}"
        lines.append(text.rstrip())
    whole = sum(times.compiling.values())
    parts = ", ".join(f"{k} {duration(v)}" for k, v in times.compiling.items())
    return "\n".join([*lines, f"  {'compiling':14} {duration(whole):>10}   {parts}"])


def as_data(about: Subject, times: Times) -> dict[str, Any]:
    def timing(t: Timing | None) -> dict[str, Any] | None:
        return None if t is None else {"best": t.best, "median": t.median, "calls": t.calls}

    return {
        "function": about.name,
        "wrt": list(about.wrt),
        "arguments": about.given(),
        "backend": times.backend,
        "gradient": timing(times.gradient),
        "primal": timing(times.primal),
        "python": timing(times.python),
        "ratio": times.ratio,
        "compiling": times.compiling,
    }
