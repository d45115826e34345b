"""The front end: Python source and arguments, before specialisation.

Start with `source.py`, which finds the lines of a function and parses them with libcst;
`positions.py` records places and comments, `cst_to_core.py` translates to core syntax (`syntax/`),
and `parse_cache.py` is where parsed functions are kept.  `desugar/` rewrites core syntax: `match`,
`nonlocal` and some `with` before `check_subset.py` marks what is unsupported where it stands,
`break`, `continue`, early `return` and loop `else` after it.

`pytree.py` describes arguments and results as trees with hashable specs; `kernel_interface.py`
holds the parameters of a kernel and the object guards; `derivative_spec.py` and `axis_spec.py`
describe derived functions and `vmap` axes; `replacements.py` registers user-supplied programs for
functions of other libraries.

May import `syntax/` and `ir/`; `rules/` and `simplify/` are on the same layer.
"""
