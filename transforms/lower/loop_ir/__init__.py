"""Loop-level IR: typed scalars, element loads and stores, loops, buffers and calls.

Start with `nodes.py`: its docstring is the grammar, followed by the node classes, traversal and
rewriting functions, and constructors that fold constants.  `conversions.py` builds dtype
conversions as expressions.  `python_printer.py` prints the IR as a Python module, which Numba
compiles and CPython can run; `parser.py` reads that text back.

The lowest layer of `lower`: it imports no other folder of it, only `ir`.
"""
