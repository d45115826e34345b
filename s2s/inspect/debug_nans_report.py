"""The error of `s2s.debug_nans()`: the line, the operands there, and advice."""

from __future__ import annotations

import linecache
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..call.guards import PathResolver
from ..errors import NonFiniteError
from ..transforms import pipeline
from ..transforms.diagnostics import nan_origin
from ..transforms.diagnostics.activity_report import in_library, in_user_code, span_text, text_of
from ..transforms.diagnostics.nan_hints import hint
from ..transforms.diagnostics.nan_origin import Iteration, NonFiniteOrigin, OperandValue
from ..transforms.frontend.pytree import path_text
from ..transforms.ir.nodes import Origin
from ..transforms.ir.quote import file_name
from .kernel_inputs import KernelInputs

if TYPE_CHECKING:
    from ..dispatch.specialization import Specialization
    from ..dispatch.specializations import Specialiser


def report(
    specialiser: Specialiser,
    entry: Specialization,
    bound: tuple[Any, ...],
    before: KernelInputs,
    result: tuple[int, str, Any],
) -> NonFiniteError:
    """The error for a result that contains NaN or inf."""
    position, what, value = result
    symptom = f"{what} holds {_nonfinite_counts(value)}"
    after = np.random.get_state()
    try:
        rerun = Rerun(specialiser, entry, bound, before)
        birth = rerun.birth(position)
        if birth is not None:
            return _error(rerun, birth, symptom)
        trouble = "run statement by statement, the program makes none"
        advice = "the numbers are near overflow, where the order of a sum decides"
    except Exception as error:  # report the symptom even if the search failed
        trouble = f"its origin was not found: {type(error).__name__}: {error}"
        advice = "please report this, with the function"
    finally:
        np.random.set_state(after)
    return NonFiniteError(symptom, [trouble], advice=advice)


class Rerun:
    """A repeated run of the program, with its arguments from before the call."""

    def __init__(
        self,
        specialiser: Specialiser,
        entry: Specialization,
        bound: tuple[Any, ...],
        before: KernelInputs,
    ) -> None:
        if entry.examined is None:
            specs = specialiser.describe(bound)
            request = specialiser.request(specs, specialiser.named(bound))
            entry.examined = pipeline.examine(request)
        examined = entry.examined
        self.module = examined.stages["simplify"]
        self.params = examined.spec.params
        self.reach = PathResolver(specialiser.function, specialiser.binder.names)
        self.bound, self.before, self.seed = bound, before, entry.seed

    def args(self) -> list[Any]:
        known = self.before.values()
        values = [
            known[p.path] if p.path in known else self.reach.value(self.bound, p.path)
            for p in self.params
        ]
        return values if self.seed is None else [*values, self.seed]

    def birth(self, position: int) -> NonFiniteOrigin | None:
        return nan_origin.origin_of_nonfinite(self.module, self.args(), position)

    def explained(self, birth: NonFiniteOrigin) -> NonFiniteOrigin:
        """The same birth with the primal operation and its operands, if it is in derivative
        code."""
        o = birth.origin
        if o is None or not (o.sweep or o.tangent):
            return birth
        found = nan_origin.operands_at(self.module, self.args(), o.span, birth.loops)
        if found is None:  # a user-defined derivative
            return replace(birth, origin=replace(o, sweep=0, tangent=False), whole=True)
        return replace(birth, op=found[0], operands=found[1])

    def name(self, param: int) -> str:
        return path_text(self.params[param].path)


def _error(rerun: Rerun, birth: NonFiniteOrigin, symptom: str) -> NonFiniteError:
    root = birth.root
    if root.op is None:
        return _input_error(rerun, root, symptom)
    told = rerun.explained(root)
    origin = own = told.origin
    details = []
    if own is not None and in_library(own):
        origin = in_user_code(own)
        name = own.frame[len(origin.frame)].partition(" ")[2]
        details.append(f"{name} computes {span_text(own.span)}")
    details += dict.fromkeys(_operand(seen, told) for seen in told.operands if seen.text)
    details += [_iteration(i) for i in told.loops]
    if origin is not None:
        details += [
            f"called in {file_name(span.file)}:{span.line}, {span_text(span)}"
            for span in reversed(origin.calls)
        ]
    if birth is not root and birth.origin is not None:
        details.append(f"it became {birth.kind} in {_where(birth.origin)}")
    elif root.cause is not None:
        given = root.cause
        source = "a constant" if given.param is None else rerun.name(given.param)
        details.append(f"the {given.kind} comes from {source}")
    message = _message(told)
    advice = _advice(told)
    if origin is None:
        return NonFiniteError(message, [*details, symptom], advice=advice)
    line = linecache.getline(origin.span.file, origin.span.line).rstrip("\n")
    return NonFiniteError(
        message, [*details, symptom], span=origin.span, source_line=line, advice=advice
    )


def _input_error(rerun: Rerun, birth: NonFiniteOrigin, symptom: str) -> NonFiniteError:
    """The error for a NaN or inf that is an input or a constant of the program."""
    if birth.param is None or birth.param >= len(rerun.params):
        return NonFiniteError(f"the program holds the constant {birth.kind}", [symptom])
    name = rerun.name(birth.param)
    where = f"{name}[{', '.join(map(str, birth.at))}]" if birth.at else name
    counted = f" ({_nonfinite_counts(birth.value)})" if birth.at else ""
    return NonFiniteError(
        f"{where} is {birth.kind} before the call{counted}",
        [symptom],
        advice=f"look where {name} comes from; the program itself made no NaN or inf",
    )


# ---------------------------------------------------------------- message texts


def _message(birth: NonFiniteOrigin) -> str:
    o = birth.origin
    became = f"became {birth.kind}" + ("" if o is not None and in_library(o) else _at(birth))
    if o is None:
        return f"a value {became}"
    text = text_of(o)
    if not (o.sweep or o.tangent):
        inner = not birth.whole and not in_library(o)
        return f"a value inside {text} {became}" if inner else f"{text} {became}"
    which = "a derivative" if o.sweep > 1 else "the derivative"
    return f"the {'tangent' if o.tangent else 'adjoint'} {became}, in {which} of {text}"


def _at(birth: NonFiniteOrigin) -> str:
    if not birth.at:
        return ""
    bad = int(np.size(birth.value) - np.isfinite(birth.value).sum())
    more = (
        f" and in {bad - 1} other entries" if bad > 2 else " and in one other" if bad == 2 else ""
    )
    return f" at [{', '.join(map(str, birth.at))}]{more}"


def _operand(seen: OperandValue, birth: NonFiniteOrigin) -> str:
    text, value = " ".join(seen.text.split()), seen.value
    if np.ndim(value) == 0:
        return f"{text} = {value!s}"
    line = f"{text} is {value.dtype}[{', '.join(map(str, value.shape))}]"
    finite = value[np.isfinite(value)]
    if finite.size and value.dtype.kind == "f":
        line += f" from {finite.min():.6g} to {finite.max():.6g}"
    at = _matching_index(value, birth)
    if at is not None:
        place = f"[{', '.join(map(str, at))}]"
        line += f"; {text + place if text.isidentifier() else 'at ' + place} = {value[at]!s}"
    return line


def _matching_index(value: Any, birth: NonFiniteOrigin) -> tuple[int, ...] | None:
    """The index in an operand that corresponds to the non-finite entry, by broadcasting; or
    None."""
    shape, at = np.shape(value), birth.at
    whole = np.shape(birth.value)
    fits = len(shape) <= len(whole) and all(
        n in (1, m) for n, m in zip(shape, whole[len(whole) - len(shape) :])
    )
    if not at or not fits:
        return None
    return tuple(0 if n == 1 else i for n, i in zip(shape, at[len(at) - len(shape) :]))


def _iteration(i: Iteration) -> str:
    if i.origin is None or in_library(i.origin):
        return f"in iteration {i.number + 1} of a loop"
    loop = " ".join(linecache.getline(i.origin.stmt.file, i.origin.stmt.line).split()).rstrip(":")
    index = f", {i.index} = {i.value}" if i.index else ""
    return f"in iteration {i.number + 1} of `{loop}` (L{i.origin.stmt.line}{index})"


def _where(origin: Origin) -> str:
    text = text_of(origin)
    origin = in_user_code(origin)
    kind = "the derivative of " if origin.sweep or origin.tangent else ""
    return f"{kind}{text} ({file_name(origin.span.file)}:{origin.span.line})"


def _nonfinite_counts(value: Any) -> str:
    """`2 NaN and 1 inf in 10 entries`; for a scalar, its kind."""
    if np.ndim(value) == 0:
        return nan_origin.kind_of(value)
    counts = {"NaN": int(np.isnan(value).sum()), "inf": int(np.isinf(value).sum())}
    parts = " and ".join(f"{n} {kind}" for kind, n in counts.items() if n)
    size = int(np.size(value))
    return f"{parts} in {size} {'entry' if size == 1 else 'entries'}"


def _advice(birth: NonFiniteOrigin) -> str:
    assert birth.op is not None
    values: list[float | None] = []
    for seen in birth.operands:
        at = () if np.ndim(seen.value) == 0 else _matching_index(seen.value, birth)
        known = at is not None and not np.iscomplexobj(seen.value)
        values.append(float(np.asarray(seen.value)[at]) if known else None)
    o = birth.origin
    derivative = o is not None and bool(o.sweep or o.tangent)
    dtype = str(np.asarray(birth.value).dtype)
    text = hint(birth.op.name, birth.kind, derivative, values, dtype)
    # The user cannot change a library function: keep only the first clause of the advice.
    return text.partition(";")[0] if o is not None and in_library(o) else text
