"""The typed intermediate representation and its utilities.

Start with `nodes.py`: its docstring is the grammar of the IR and defines value form (SSA) and
memory form.  `symbolic_dims.py` holds symbolic sizes, guards and facts; `index_bounds.py` the
bounds of loop indices.  `op_registry.py` declares the `Rule` of an operation, `builder.py` emits
operations, `clone.py` copies blocks, `scopes.py` is the scope tree and `printer.py` prints the IR.
`complex_ops.py` lists the operations on complex numbers.

Utilities: `errors.py` (exceptions), `fixpoint.py` (iteration limits), `record.py` (dataclasses
with a low import cost), `lazy.py` (lazy values), `quote.py` and `precedence.py` (emitted text).

This is the lowest layer of the compiler: it imports no other folder of `transforms/`.
"""
