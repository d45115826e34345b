"""Replace the syntax that means the same as other syntax: chains of comparisons, `match`,
`nonlocal`, `with`, `try`.

`jumps.py` runs later, on each function that is evaluated.
"""

from __future__ import annotations

from ...syntax import core as c
from ...syntax.traverse import walk
from .chains import expand_chains
from .effect_statements import expand_effects
from .match import expand_match
from .neutral_with import expand_neutral_with
from .nonlocals import box_nonlocals
from .try_blocks import expand_try


def expand(func: c.Func) -> c.Func:
    nodes = list(walk(func))
    kinds = {type(node) for node in nodes}
    if any(isinstance(n, c.Compare) and len(n.ops) > 1 for n in nodes):
        func = expand_chains(func)
    if any(isinstance(n, c.Eval) and isinstance(n.value, (c.Bool, c.Choose)) for n in nodes):
        func = expand_effects(func)
    if c.With in kinds:
        func = expand_neutral_with(func)
    if c.Match in kinds:
        func = expand_match(func)
    if c.Try in kinds or c.With in kinds:  # `suppress` is a `try`
        func = expand_try(func)
    if c.Nonlocal in kinds:
        func = box_nonlocals(func)
    return func
