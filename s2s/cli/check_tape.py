"""Check the gradient that a training step takes from a `GradientTape`, by finite differences.

A training step updates the Variables that it differentiates, so it is never run to completion.  It
runs in plain Python and is stopped at its first `tape.gradient` call on Variables.  The target of
that call is a function of the Variables.  They are perturbed along a direction, the step is rerun,
and the central difference is compared with the gradient.  All runs are in double precision:
Variables, layers and arguments are converted for their duration.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..call import tree_copy
from ..layers.base import Layer
from ..objects.variable import Variable
from ..tape.gradient_tape import GradientTape
from ..tape.query import leaves
from ..testing import Entry, Report
from .environment import setting
from .exit_codes import CommandError
from .loaded_function import Subject

# Step sizes relative to the first.  A smaller step may avoid a kink that a larger one crosses.
STEP_FACTORS = (1.0, 1 / 8, 1 / 64)


def check_tape(about: Subject, rtol: float | None, backend: str | None) -> Report:
    """Compare the first gradient that a step computes with finite differences."""
    step = _Step(about)
    with step.in_double_precision(), setting("S2S_BACKEND", backend):
        return _checked(step, about, rtol or 1e-5)


def _checked(step: _Step, about: Subject, rtol: float) -> Report:
    query = step.run(with_gradient=True)
    report = Report(about.compiled.__qualname__, judge="differences along directions")
    rng = np.random.default_rng(0)
    for k, (variable, found) in enumerate(zip(leaves(query.sources), leaves(query.gradients))):
        if not isinstance(variable, Variable):
            report.skipped.append(f"source {k}, which is no Variable")
            continue
        gradient = np.zeros(variable.shape) if found is None else np.asarray(found)
        size = rng.uniform(0.5, 1.0, variable.shape)
        # The first direction has the signs of the gradient, so that no terms cancel; the second has
        # random signs.
        along = np.where(gradient < 0, -size, size)
        across = np.where(rng.random(variable.shape) < 0.5, -size, size)
        for direction in (along, across):
            report.checked += 1
            report.entries.append(_compare(step, variable, gradient, direction, rtol))
    return report


def _compare(step: _Step, variable: Variable, gradient: Any, direction: Any, rtol: float) -> Entry:
    """Compare the directional derivative with central differences; the best step size counts."""
    before = variable.numpy()

    def at(by: float) -> float:
        variable.assign(before + by * direction)
        try:
            return step.value()
        finally:
            variable.assign(before)

    reverse = float(np.sum(gradient * direction))
    size = max(abs(reverse), float(np.sum(np.abs(gradient * direction))))
    noise = _rounding_error(at)
    h = np.cbrt(max(noise, 1e-16)) / np.sqrt(max(1, before.size))
    best = None
    for factor in STEP_FACTORS:
        by = h * factor
        numeric = (at(by) - at(-by)) / (2.0 * by)
        tolerance = rtol * max(size, abs(numeric)) + 4.0 * noise / by + 1e-12
        excess = float(abs(reverse - numeric) / tolerance)
        if best is None or excess < best.excess:
            best = Entry(f"{variable.name}, along a direction", reverse, numeric, excess)
    assert best is not None
    return best


def _rounding_error(at: Callable[[float], float]) -> float:
    """An estimate of the rounding error of the function: the size of its third differences at a
    tiny step, which vanish for a smooth function."""
    values = np.array([at(1e-9 * k) for k in range(-3, 4)])
    return float(np.max(np.abs(np.diff(values, 3)))) / np.sqrt(20.0) + 1e-16 * abs(values[3])


@dataclass
class _GradientQuery(BaseException):
    """Stops a run at a `tape.gradient` call.  Carries the arguments of the call, and its result if
    it was computed."""

    target: Any
    sources: Any
    seeds: Any
    gradients: Any = None


class _Step:
    """Runs a step up to its first `tape.gradient` call, each time from the same random state."""

    def __init__(self, about: Subject) -> None:
        self.about = about
        self.args, self.kwargs = about.args, about.kwargs
        self.states: list[tuple[np.random.Generator, Any]] = []
        self.legacy = np.random.get_state()
        self.run(with_gradient=False)  # runs lazy initialisation, such as the creation of weights
        roots = (*about.compiled._prefix, *about.args, *about.kwargs.values())
        self.reached = list(_reachable(about.written, roots))
        generators = [x for x in self.reached if isinstance(x, np.random.Generator)]
        self.states = [(g, g.bit_generator.state) for g in generators]

    def run(self, with_gradient: bool) -> _GradientQuery:
        for generator, state in self.states:
            generator.bit_generator.state = state
        np.random.set_state(self.legacy)
        args = [tree_copy.copy_leaves(a) for a in self.args]
        kwargs = {k: tree_copy.copy_leaves(v) for k, v in self.kwargs.items()}
        try:
            with _stopping_at_gradient(with_gradient):
                self.about.compiled.python(*args, **kwargs)
        except _GradientQuery as query:
            return query
        raise CommandError(
            f"{self.about.name} requests no gradient of a Variable from a tape",
            "check what it differentiates as a function of its own",
        )

    def value(self) -> float:
        """The scalar that is differentiated."""
        query = self.run(with_gradient=False)
        targets = list(leaves(query.target))
        seeds = [1.0] * len(targets) if query.seeds is None else list(leaves(query.seeds))
        return float(sum(np.sum(np.asarray(t, np.float64) * s) for t, s in zip(targets, seeds)))

    @contextlib.contextmanager
    def in_double_precision(self) -> Iterator[None]:
        arrays = [(x, x._array) for x in self.reached if isinstance(x, Variable)]
        layers = [(x, x.dtype) for x in self.reached if isinstance(x, Layer)]
        self.args = tuple(tree_copy.in_float64(a) for a in self.args)
        self.kwargs = {k: tree_copy.in_float64(v) for k, v in self.kwargs.items()}
        try:
            for variable, array in arrays:
                if array.dtype.kind == "f":
                    variable._array = array.astype(np.float64)
            for layer, _ in layers:
                layer.dtype = "float64"
            yield
        finally:
            for variable, array in arrays:
                variable._array = array
            for layer, dtype in layers:
                layer.dtype = dtype
            self.args, self.kwargs = self.about.args, self.about.kwargs


@contextlib.contextmanager
def _stopping_at_gradient(with_gradient: bool) -> Iterator[None]:
    """Patch `GradientTape.gradient` so that a call on Variables raises `_GradientQuery`."""
    original: Callable[..., Any] = GradientTape.gradient

    def gradient(tape: Any, target: Any, sources: Any, seeds: Any = None, *how: Any, **named: Any):
        if not any(isinstance(s, Variable) for s in leaves(sources)):
            return original(tape, target, sources, seeds, *how, **named)
        seeds = named.pop("output_gradients", seeds)
        gradients = original(tape, target, sources, seeds, *how, **named) if with_gradient else None
        raise _GradientQuery(target, sources, seeds, gradients)

    GradientTape.gradient = gradient  # type: ignore[method-assign]
    try:
        yield
    finally:
        GradientTape.gradient = original  # type: ignore[method-assign]


def _reachable(function: types.FunctionType, more: tuple[Any, ...]) -> Iterator[Any]:
    """The objects reachable from a function: globals that it names, closure cells, and the objects
    that these hold."""
    space, names = function.__globals__, function.__code__.co_names
    todo = [*more, *(space[n] for n in names if n in space)]
    todo += [cell.cell_contents for cell in function.__closure__ or ()]
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, (types.ModuleType, type, np.ndarray, str)):
            continue
        seen.add(id(value))
        yield value
        if isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, (list, tuple, set)):
            todo += value
        elif hasattr(value, "__dict__") and not isinstance(value, types.FunctionType):
            todo += vars(value).values()
