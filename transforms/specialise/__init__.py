"""Partial evaluation: core syntax, argument types and the objects it reaches to value-form IR.

Start with `driver.py` (`specialise`): what is known (attributes, containers, calls of helpers) is
computed, what is not becomes IR.  `values.py` has the values that it computes with;
`interpreter/` evaluates syntax, `calls/` calls, `operations/` operators and iteration; `control/`
merges the paths of branches and loops; `heap/` has arrays and containers, `outside/` what comes
from outside; `derivatives/` and `tapes/` differentiate.

These are parts: classes whose fields are the parts below them and what they own.  `session.py` has
what all parts work on, and undoes what a failed attempt has changed; `evaluator.py` has what parts
take from the whole; docs/design/evaluator.md describes them.

May import `frontend/`, `syntax/`, `rules/`, `autodiff/`, `batch/`, `ir/`.
"""

from .driver import Specialised, specialise
from .shared import NeedStaticArgument

__all__ = ["NeedStaticArgument", "Specialised", "specialise"]
