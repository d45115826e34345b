"""The compiler of s2s: a pure function from a Python function and argument types to source text.

Start with `pipeline.py`, the ordered list of passes, then `ir/nodes.py`, the grammar of the IR.  In
the order of the passes: `frontend/` reads the function and checks the language; `specialise/` is
partial evaluation to value form (SSA); `simplify/` has scalar optimisations; `autodiff/`, `batch/`
and `checkpoint/` are differentiation, batching and tape planning; `bufferize/` maps values to
variables; `emit/` prints NumPy-level source; `lower/` translates to loops and optimises them.
`rules/` defines the operations, `runtime/` the functions that emitted code calls, and
`diagnostics/` reports on programs.

It may import NumPy and the standard library only: no Numba, LLVM or SciPy, and nothing of `s2s`
outside this package.  docs/design/passes.md has the contracts of the passes.
"""

if __name__ != "s2s.transforms":
    # A second copy under another name would have classes and rule tables of its own.
    raise ImportError(f"import the compiler as s2s.transforms, not as {__name__}")
