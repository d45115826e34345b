"""One random program, with the compiled forms that its oracles use."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import s2s
import s2s.aot

from .judges import ALWAYS, JUDGES, ON_REQUEST, Skipped, Wrong
from .plain import WRT, Run, Watched, copied, load, plain_run

TRIPS = range(4)
NESTED = """

import s2s

df = s2s.grad(f, wrt=("x", "m", "y", "d", "s"))


def g(x, m, y, d, s, n, idx, vx, vm, vy, vd, vs):
    gx, gm, gy, gd, gs = df(x, m, y, d, s, n, idx)
    return np.sum(gx * vx) + np.sum(gm * vm) + np.sum(gy * vy) + np.sum(gd * vd) + gs * vs
"""
TAPED = """

import s2s


def g(x, m, y, d, s, n, idx, again):
    with s2s.GradientTape() as tape:
        tape.watch([x, m, y, d, s])
        out = f(x, m, y, d, s, n, idx)
    gx, gm, gy, gd, gs = tape.gradient(out, [x, m, y, d, s], unconnected_gradients="zero")
    if again:
        gx, gm, gy, gd, gs = tape.gradient(out, [x, m, y, d, s], unconnected_gradients="zero")
    return gx, gm, gy, gd, gs


def plain(x, m, y, d, s, n, idx):
    with s2s.GradientTape() as tape:
        tape.watch([x, m, y, d, s])
        out = f(x, m, y, d, s, n, idx)
    for v in (x, m, y):
        v[...] = -99.0
    return tape.gradient(out, [x, m, y, d, s], unconnected_gradients="zero")
"""


@dataclass
class Verdict:
    """`kind` is "ok", "discarded" (not comparable), "refused" (the gradient is) or "failed"."""

    kind: str
    reason: str = ""
    where: tuple[str, int] | None = None  # oracle and trip count
    judged: Counter[str] = field(default_factory=Counter)  # the number of checks by oracle


@dataclass
class Trial:
    """A program with the data that its oracles share: the function, compiled forms, gradients."""

    source: str
    folder: Path
    gradients: dict[int, Any] = field(default_factory=dict)  # by trip count
    compiled: dict[tuple[str, str], Any] = field(default_factory=dict)
    writes: bool = False  # into its arguments

    @property
    def reading(self) -> str:
        """The program without writes to its arguments, which some modes do not support."""
        if not self.writes:
            return self.source
        before, header, body = self.source.partition("def f(x, m, y, d, s, n, idx):\n")
        copies = "".join(f"    {name} = {name}.copy()\n" for name in "xmyd")
        return before + header + copies + body

    @cached_property
    def function(self) -> Callable[..., Any]:
        return load(self.source, self.folder)

    def gradient(self, backend: str, variant: str = "", parallel: bool | None = False) -> Any:
        """The gradient, compiled once per variant of the compiler and shared by backends."""
        key = backend, variant
        if key not in self.compiled:
            others = (g for (_, v), g in self.compiled.items() if v == variant)
            known = next(others, None)
            f = (
                known.python
                if known
                else load(self.source, self.folder)
                if variant
                else self.function
            )
            self.compiled[key] = s2s.value_and_grad(f, wrt=WRT, backend=backend, parallel=parallel)
        return self.compiled[key]

    def known(self, run: Run) -> Any:
        """The gradients on the loops backend."""
        if run.n not in self.gradients:
            self.gradients[run.n] = self.gradient("loops")(*copied(run.args))[1]
        return self.gradients[run.n]

    def derived(self, kind: str, backend: str, wrt: Any = WRT) -> Any:
        """`jvp`, `hvp`, `hessian` or `grad` of the program."""
        key = backend, kind
        if key not in self.compiled:
            self.compiled[key] = getattr(s2s, kind)(self.quiet, wrt=wrt, backend=backend)
        return self.compiled[key]

    @cached_property
    def quiet(self) -> Callable[..., Any]:
        """The program as a function that does not write into its arguments."""
        return load(self.reading, self.folder) if self.writes else self.function

    @cached_property
    def watched(self) -> Watched:
        return Watched(self.source)

    def mapped(self, axes: tuple[Any, ...]) -> Any:
        """Its gradient for many arguments at once."""
        key = "loops", "vmap"
        if key not in self.compiled:
            gradient = s2s.grad(self.quiet, wrt=WRT, backend="loops")
            self.compiled[key] = s2s.vmap(gradient, in_axes=axes, backend="loops")
        return self.compiled[key]

    def library(self, run: Run) -> Any:
        """A library with its gradient, built for the argument types of a run."""
        if ("aot", "") not in self.compiled:
            out = tempfile.mkdtemp(dir=self.folder)
            gradient = {"f": (self.gradient("loops"), tuple(copied(run.args)))}
            self.compiled["aot", ""] = s2s.aot.build(gradient, out=f"{out}/f").load()
        return self.compiled["aot", ""]

    def taped(self) -> tuple[Any, Any]:
        """Its gradient by a tape, compiled and in plain Python."""
        if ("loops", "tapes") not in self.compiled:
            g, plain = (load(self.reading + TAPED, self.folder, name) for name in ("g", "plain"))
            self.compiled["loops", "tapes"] = s2s.function(g, backend="loops"), plain
        return self.compiled["loops", "tapes"]

    def nested(self) -> Any:
        """The gradient of the product of gradient and direction; the direction is passed as further
        arguments."""
        if ("loops", "nested") not in self.compiled:
            g = load(self.reading + NESTED, self.folder, "g")
            self.compiled["loops", "nested"] = s2s.value_and_grad(g, wrt=WRT, backend="loops")
        return self.compiled["loops", "nested"]


def judge(
    source: str, folder: Path, judges: Iterable[str], trips: Iterable[int] = TRIPS
) -> Verdict:
    trial = Trial(source, folder)
    judged: Counter[str] = Counter()
    tried = [plain_run(trial.function, trial.watched, n) for n in trips]
    runs = [run for run in tried if run is not None]
    trial.writes = any(run.writes for run in runs)
    for name in judges:
        for run in runs:
            try:
                JUDGES[name](trial, run)
            except Skipped:
                continue
            except s2s.UnsupportedError as error:
                if name in (*ALWAYS, *ON_REQUEST):
                    return Verdict("refused", error.message, (name, run.n), judged)
                judged[f"{name} refused"] += 1
                break
            except Exception as error:  # noqa: BLE001
                kind = "" if isinstance(error, Wrong) else f"{type(error).__name__}: "
                reason = f"n={run.n}, {name}: {kind}{error}"
                return Verdict("failed", reason, (name, run.n), judged)
            judged[name] += 1
    compared = any(run.slope is not None for run in runs)
    return Verdict("ok" if compared else "discarded", judged=judged)
