"""Argument checks of optimizers: errors and warnings for gradients that do not match variables."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from ..objects.compiler_hints import looks_only
from ..objects.variable import Variable


@looks_only
def lengths_must_match(optimizer: str, grads_and_vars: Any) -> None:
    """Raise ValueError if the sequences of a `zip` differ in length, which `zip` itself ignores."""
    lengths = zipped_lengths(grads_and_vars)
    if len(set(lengths)) > 1:
        raise ValueError(
            f"{optimizer}.apply_gradients was given {lengths[0]} gradients and {lengths[1]} "
            "variables; pass the same list of variables to tape.gradient and to zip"
        )


@looks_only
def gradients_must_fit(optimizer: str, pairs: list[Any]) -> None:
    """Check that each gradient has the shape of its variable, and that at least one is not None.
    Warn about those that are None."""
    missing = []
    for gradient, variable in pairs:
        if not isinstance(variable, Variable):
            raise TypeError(
                f"{optimizer}.apply_gradients was given a {type(variable).__name__} where it "
                "needs a Variable; pairs are (gradient, variable)"
            )
        if gradient is None:
            missing.append(variable.name)
        elif np.shape(gradient) != variable.shape:
            raise ValueError(
                f"{variable.name} has shape {variable.shape}, its gradient {np.shape(gradient)}: "
                "gradients and variables are not in the same order"
            )
    if not pairs:
        raise ValueError(
            f"{optimizer}.apply_gradients was given no variables; a model that is not built has "
            "none yet: call it on a batch of inputs first, or give its first layer input_shape="
        )
    if len(missing) == len(pairs):
        raise ValueError(
            f"every gradient is None: the target does not depend on {some(missing)}; compute it "
            "inside the tape's `with` block, from these variables"
        )
    if missing:
        warnings.warn(
            f"{optimizer}.apply_gradients leaves {some(missing)} unchanged: there is no gradient, "
            "the target does not depend on it",
            stacklevel=3,
        )


@looks_only
def variables_must_be_known(optimizer: str, known: Any, given: list[Variable]) -> None:
    """Raise ValueError for variables that the optimizer was not built with."""
    new = [v.name for v in given if not any(v is k for k in known)]
    if new:
        raise ValueError(
            f"{optimizer} has not seen {some(new)}: it was made ready for "
            f"{some([v.name for v in known])} in its first step; use another optimizer for new "
            f"variables, or call {optimizer}.build(all_variables) before the first step"
        )


def zipped_lengths(pairs: Any) -> list[int]:
    """The lengths of the sequences of a `zip` object, or [] where they cannot be determined."""
    if not isinstance(pairs, zip):
        return []
    try:
        behind: Any = pairs.__reduce__()[1]
    except TypeError:  # this version of Python does not support it
        return []
    found = [operator.length_hint(part, -1) for part in behind]
    return [] if -1 in found else found


def some(names: list[str]) -> str:
    """At most four of the names, without duplicates: layers of one kind share their name."""
    names = list(dict.fromkeys(names))
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
