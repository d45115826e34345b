"""The front end: Python source and arguments, before specialisation.

Start with `source.py`, which reads a function's syntax tree, spans and comments.
`desugar/` rewrites syntax: `match`, `nonlocal` and some `with` before `check_subset.py` rejects
what is outside the supported subset, `break`, `continue`, early `return` and loop `else` after it.

`pytree.py` describes arguments and results as trees with hashable specs; `kernel_interface.py`
holds the parameters of a kernel and the object guards; `derivative_spec.py` and `axis_spec.py`
describe derived functions and `vmap` axes; `replacements.py` registers user-supplied programs for
functions of other libraries.

May import `ir/` only; `rules/` and `simplify/` are on the same layer.
"""
