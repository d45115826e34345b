"""Rewrites of core syntax to core syntax, one per file.

`expand.py` runs those that change what a name or a statement of a whole function stands for, before
`check_subset`; `jumps.py` removes jumps of each function that is evaluated.
"""
