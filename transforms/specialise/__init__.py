"""Partial evaluation: core syntax, argument types and the objects it reaches to value-form IR.

Start with `specialiser.py` (`specialise`), which evaluates a function as a whole: what is known
(attributes, containers, calls of helpers) is computed, what is not becomes IR.  `values.py` has the
values that it computes with; `statements.py`, `expressions.py`, `loops.py` and `calls.py` evaluate
syntax; `joins.py` and `loop_joins.py` merge the paths of branches and loops; `objects.py` and
`effects.py` deal with objects from outside; `derived.py` and `tape.py` call for derivatives.

The files are mixins of one class, `Specialiser`, and see each other's methods.

May import `frontend/`, `syntax/`, `rules/`, `autodiff/`, `batch/`, `ir/`.
"""

from .specialiser import NeedStaticArgument, Specialised, specialise

__all__ = ["NeedStaticArgument", "Specialised", "specialise"]
