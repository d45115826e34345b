"""`s2s.debug_nans()`: an error at the line that produced the first NaN or inf.

While it is on, the results of every call are checked.  If one contains a NaN or inf, the program is
run again, statement by statement (`transforms/diagnostics/nan_origin.py`), with the same arguments
and random state, and the error names the line whose value, tangent or adjoint first became
non-finite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..call.debug_flag import active
from ..transforms.frontend.pytree import Out, OutTree, Tree
from .kernel_inputs import KernelInputs

if TYPE_CHECKING:
    from ..dispatch.specialization import Specialization
    from ..dispatch.specializations import Specialiser

_INEXACT_TYPES = (float, complex, np.inexact, np.ndarray)


class debug_nans:
    """Check the results of compiled functions for NaN and inf, from now on:

        s2s.debug_nans()            # until s2s.debug_nans(False)
        with s2s.debug_nans():      # or in a block
            gradient = loss(x)

    A call whose value or gradient contains one raises a FloatingPointError that names the line
    where it first appeared.  It applies to all threads; calls inside `@njit` are not checked.
    """

    def __init__(self, on: bool = True) -> None:
        self._before = active[:]
        active[:] = [True] if on else []

    def __enter__(self) -> debug_nans:
        return self

    def __exit__(self, *error: Any) -> None:
        active[:] = self._before

    def __repr__(self) -> str:
        return f"<s2s.debug_nans: {'on' if active else 'off'}>"


def run(
    specialiser: Specialiser,
    entry: Specialization,
    bound: tuple[Any, ...],
    backend: str,
    params: tuple[Any, ...],
    given: dict[int, Any] | None = None,
    replayed: bool = False,
) -> list[Any]:
    """Run a kernel and check its results.  If it is `replayed`, the parameters are not those that
    the arguments have now."""
    if entry.checked_results is None:
        random = any(word in entry.compiled.lowered for word in ("draws", "random"))
        entry.checked_results = _checked_results(entry, specialiser), random
    checked, random = entry.checked_results
    before = KernelInputs(entry, params, random)
    results = entry.run(backend, params, given, None if replayed else bound)
    for position, what in checked:
        value = results[position]
        if not isinstance(value, _INEXACT_TYPES) or np.isfinite(value).all():
            continue
        from .debug_nans_report import report

        raise report(specialiser, entry, bound, before, (position, what, value)) from None
    return results


def _checked_results(entry: Specialization, specialiser: Specialiser) -> list[tuple[int, str]]:
    """The results to check, as pairs (position, description for the message)."""
    compiled = entry.compiled
    out = compiled.out
    if specialiser.options.has_aux and isinstance(out, Tree):
        out = out.children[0]
    value = "the value" if compiled.grads else "the result"
    found = [(i, value) for i in _positions(out)]
    for name, tree in zip(specialiser.wrt, compiled.grads):
        found += [(i, f"the gradient with respect to {name}") for i in _positions(tree)]
    return found


def _positions(tree: OutTree) -> list[int]:
    if isinstance(tree, Out):
        return [tree.index]
    return [i for child in getattr(tree, "children", ()) for i in _positions(child)]
