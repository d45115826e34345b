"""Partial evaluation: core syntax, argument types and the objects it reaches to value-form IR.

Start with `specialiser.py` (`specialise`), which makes the parts and evaluates a function as a
whole: what is known (attributes, containers, calls of helpers) is computed, what is not becomes IR.
`values.py` has the values that it computes with; `statements.py`, `expressions.py`, `loops.py` and
`calls.py` evaluate syntax; `joins.py` and `loop_joins.py` merge the paths of branches and loops;
`objects.py` and `effects.py` deal with objects from outside; `derived.py` and `tape.py` call for
derivatives.

Each of these files is a part: one class, whose fields are the parts below it and what it owns.
`session.py` has what all parts work on, and undoes what a failed attempt has changed.

May import `frontend/`, `syntax/`, `rules/`, `autodiff/`, `batch/`, `ir/`.
"""

from .driver import Specialised, specialise
from .shared import NeedStaticArgument

__all__ = ["NeedStaticArgument", "Specialised", "specialise"]
