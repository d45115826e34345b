"""Loop-level IR: typed scalars, element loads and stores, loops, buffers and calls.

Start with `nodes.py`: its docstring is the grammar, followed by the node classes, traversal and
rewriting functions, and constructors that fold constants.  `operations.py` is the table of what
calls do: the access of each argument, results, errors, effects and costs.  `conversions.py` builds
dtype conversions as expressions.  `python_printer.py` prints the IR as a Python module, which Numba
compiles and CPython can run.

The lowest layer of `lower`: it imports no other folder of it, only `ir`.
"""
