"""Queries of a tape in plain Python (`gradient`, `jacobian`, ...) and their evaluation.

Targets and sources are objects of the program.  Those that the block read or computed are mapped to
their names in the block; the others are not connected to it.  The block, followed by the query in
terms of those names, is compiled as one function.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..call import debug_flag
from ..call.backend_choice import choose_backend
from ..errors import S2SValueError, SourceError, UnsupportedError
from ..inspect import debug_nans
from ..objects.tensor import tensor
from ..objects.variable import Variable
from ..runtime.overlap import without_repeated_arrays
from .block_function import ARRAY_AND_SCALAR_TYPES, Block, Outcome
from .snapshot import ADVICE, InputSnapshot

# Environment variable: if set to 1, the target values of the replay are compared with those of the
# original run.
CHECK_REPLAY = "S2S_CHECK_REPLAY"


@dataclass
class Query:
    """The arguments of a query: a call of one of the tape's methods."""

    method: str
    target: Any
    sources: Any
    unconnected: Any
    seeds: Any = None

    @property
    def zero(self) -> bool:
        chosen = str(getattr(self.unconnected, "value", self.unconnected)).lower()
        if chosen not in ("none", "zero"):
            raise S2SValueError(f"unconnected_gradients is 'none' or 'zero', not {chosen!r}")
        return chosen == "zero"


@dataclass
class QueryEvaluation:
    """Evaluates a query.  `line` is the current line of the block, if it is still running."""

    block: Block
    world: InputSnapshot
    made: Outcome
    line: int | None
    asked: Query
    # the sources connected to the block: (position, expression in the block)
    known: list[tuple[int, str]] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # inputs whose names were rebound since
    function: Any = None
    largest: float | None = None  # largest intermediate of the replay, if values are compared

    def value(self) -> Any:
        """The result of the query."""
        asked, zero = self.asked, self.asked.zero
        if not self.made.tape:
            raise SourceError("the tape has no name: write `with GradientTape() as tape:`")
        if self.world.refusal is not None:
            raise _with_block_advice(self.world.refusal)
        if asked.method != "gradient" and isinstance(asked.target, (list, tuple, dict)):
            raise UnsupportedError(
                "a Jacobian is taken of one number or array of floats",
                advice="call it once for each",
            )
        targets, seeds = self._targets()
        sources = list(leaves(asked.sources))
        texts = [self._text(s, source=True) for s in sources]
        self.known = [(i, t) for i, t in enumerate(texts) if t is not None]
        found: dict[int, Any] = {}
        if targets:
            again, answers = self._run(targets, seeds)
            for (_, value), new in zip(targets, again):
                _check_alike(value, new)
                if self.largest is not None:
                    _check_equal(value, new, self.largest)
            found = dict(zip((i for i, _ in self.known), without_repeated_arrays(answers)))
        batches = asked.method == "batch_jacobian"
        rows = np.shape(asked.target) if asked.method != "gradient" else ()
        for i, source in enumerate(sources):
            if found.get(i) is None and (zero or batches):
                shape = np.shape(source)[1:] if batches else np.shape(source)
                found[i] = tensor(np.zeros((*rows, *shape), np.asarray(source).dtype))
        return _filled(asked.sources, iter(found.get(i) for i in range(len(sources))))

    def _targets(self) -> tuple[list[tuple[str, Any]], list[Any]]:
        """The targets that the block computed, by name, and their seeds."""
        values = list(leaves(self.asked.target))
        seeds = [None] * len(values)
        if self.asked.seeds is not None:
            seeds = list(leaves(self.asked.seeds))
            if len(seeds) != len(values):
                raise S2SValueError("output_gradients must have the structure of the target")
        found = [(self._text(v), v, s) for v, s in zip(values, seeds)]
        kept = [(t, v, s) for t, v, s in found if t is not None]
        given = [s for _, _, s in kept] if self.asked.seeds is not None else []
        return [(t, v) for t, v, _ in kept], given

    def _run(self, targets: list[tuple[str, Any]], seeds: list[Any]) -> tuple[Any, Any]:
        """Compile and run the replay: the recomputed targets, and the derivatives."""
        asked, world = self.asked, self.world
        names = [t for t, _ in targets]
        target, sources = f"[{', '.join(names)}]", f"[{', '.join(t for _, t in self.known)}]"
        if asked.method != "gradient":
            target = names[0]
        if asked.method == "batch_jacobian" and len(self.known) == 1:
            sources = self.known[0][1]
        seeded = ", output_gradients=seeds" if seeds else ""
        call = f"{self.made.tape}.{asked.method}({target}, {sources}{seeded})"
        if asked.method == "batch_jacobian":
            call = f"[{call}]"
        result = f"return [{', '.join(names)}], {call if self.known else '[]'}"
        extra = ("variables", *(["seeds"] if seeds else []), "unconnected")
        self.function, order = self.block.query_function(
            world.names, extra, result, self.line, tuple(self.before)
        )
        args: list[Any] = [world.names[n] for n in order.given]
        args += [self.variables, seeds, "none"] if seeds else [self.variables, "none"]
        with world.restored():
            return self._run_replay(tuple(args))

    def _run_replay(self, args: tuple[Any, ...]) -> Any:
        specialiser, bound = self.function._bind("primal", args, {})
        backend = choose_backend(None)
        entry, params = specialiser.find(bound, backend)
        then = self.world.params(entry, params)
        if os.environ.get(CHECK_REPLAY, "0") not in ("", "0"):
            self.largest = self._largest(specialiser, entry, bound, then)
        if debug_flag.active:
            results = debug_nans.run(specialiser, entry, bound, backend, then, replayed=True)
        else:
            results = entry.run(backend, then)
        return tensor(entry.value(bound, results))

    def _largest(self, specialiser: Any, entry: Any, bound: Any, then: Any) -> float:
        """The largest intermediate of the block, computed by one more run."""
        from ..inspect.debug_nans_report import Rerun
        from ..inspect.kernel_inputs import KernelInputs
        from ..transforms.diagnostics.magnitude import largest_intermediate

        rerun = Rerun(
            specialiser, entry, bound, KernelInputs(entry, then, self.world.legacy is not None)
        )
        return largest_intermediate(rerun.module, rerun.args())

    # ---- names

    def _text(self, value: Any, source: bool = False) -> str | None:
        """The expression for a value at the end of the block; None if it is not connected."""
        if isinstance(value, Variable):
            if not any(v is value for v in self.variables):
                self.variables.append(value)
            return f"variables[{next(i for i, v in enumerate(self.variables) if v is value)}]"
        if not isinstance(value, ARRAY_AND_SCALAR_TYPES):
            return None
        own = [name for name, other in self.names.items() if other is value]
        if source and len(own) > 1 and type(value) is float:
            raise UnsupportedError(
                f"{' and '.join(own)} are one object: the source is ambiguous",
                advice="give Python numbers as arrays or Variables",
            )
        if own:
            return own[0]
        then = next((n for n, other in self.world.names.items() if other is value), None)
        if then is not None:
            self.before.append(then)
            return f"{then}_before"
        return next((text for text, other in self.made.parts if other is value), None)

    @property
    def names(self) -> dict[str, Any]:
        """The values of names at the end of the block."""
        return {**self.world.names, **self.made.names}

    # ---- explanation

    def explain(self) -> str:
        """The reasons for missing gradients, one line per source."""
        from ..inspect.explain_data import Inactive

        lost: dict[str, str] = {}
        positions = {i for i, _ in self.known}
        for i in range(len(list(leaves(self.asked.sources)))):
            if i not in positions:
                lost[f"source {i + 1}"] = "is no value that the block read or computed"
        if self.function is None:
            where = "the target is no value that the block computed"
            lost |= {self._user_name(t): f"is not connected: {where}" for _, t in self.known}
        else:
            with self.world.restored():
                report = self.function.explain()
            missing = [
                x for x in report.inactive if isinstance(x, Inactive) and x.gradient == "None"
            ]
            lost |= {self._user_name(x.name): x.reason for x in missing}
        if not lost:
            return "every source has a gradient"
        return "\n".join(f"{name} has no gradient: it {why}" for name, why in lost.items())

    def _user_name(self, text: str) -> str:
        """The user's name for a source of the query."""
        for i, variable in enumerate(self.variables):
            if text == f"variables[{i}]":
                own = (n for n, v in self.names.items() if v is variable)
                return next(own, variable.name)
        return text


def _with_block_advice(error: Exception) -> Exception:
    """The error met when reading the block, with advice for tapes."""
    if type(error) is not UnsupportedError:
        return error
    advice = "move this line out of the tape's block" + (
        f"; {error.advice}" if error.advice else ""
    )
    return UnsupportedError(
        error.message, span=error.span, source_line=error.source_line, advice=advice
    )


def leaves(value: Any) -> Iterator[Any]:
    """The leaves of a structure of lists, tuples and dicts."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        yield value
        return
    for part in value:
        yield from leaves(part)


def _filled(structure: Any, parts: Iterator[Any]) -> Any:
    if isinstance(structure, dict):
        return {k: _filled(v, parts) for k, v in structure.items()}
    if isinstance(structure, (list, tuple)):
        made = [_filled(v, parts) for v in structure]
        return type(structure)(*made) if hasattr(structure, "_fields") else type(structure)(made)
    return next(parts)


def _check_alike(target: Any, again: Any) -> None:
    """Check that the replay on the saved inputs gives an array of the same shape and dtype.

    Values are not compared: they differ by rounding, and a loss near 0 may consist of rounding
    errors only.  `InputSnapshot` ensures that the replay reads what the block read."""
    target, again = np.asarray(target), np.asarray(again)
    if target.shape != again.shape or target.dtype != again.dtype:
        raise _replay_mismatch(
            f"an array of shape {again.shape} and dtype {again.dtype} instead of "
            f"{target.shape} and {target.dtype}"
        )


def _check_equal(target: Any, again: Any, largest: float) -> None:
    """Check that the values agree up to rounding of intermediates as large as `largest`."""
    target, again = np.asarray(target), np.asarray(again)
    rtol = 1e-3 if target.dtype.itemsize < 8 else 1e-6
    if not np.allclose(again, target, rtol=rtol, atol=rtol * largest, equal_nan=True):
        raise _replay_mismatch("another value")


def _replay_mismatch(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"the block of this tape gives {what} when it is computed again: one of its inputs "
        "has changed in a way that s2s does not detect",
        advice=ADVICE,
    )
