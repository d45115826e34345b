"""Core syntax: the small syntax tree that the front end hands to the partial evaluator.

`core.py` has the grammar and the nodes: start there.  `traverse.py` walks and rewrites trees,
`names.py` says which names a tree binds and reads, `printer.py` prints trees as Python, and
`verifier.py` checks that a tree is well formed.

The parser is in `frontend/`: `cst_to_core.py` translates libcst's trees to core syntax.  This
folder does not depend on libcst and imports only `ir` (for its records).
"""
