"""Lowered text to machine code.

Numba infers types, versions and lifetimes for any Python function; lowered text has them by
construction, and inferring them again is most of what compiling costs.  Here the text is read once,
and written down in LLVM's language: as an intrinsic inside an otherwise empty Numba function, which
does the rest (`inside`: arguments, errors, memory, caching), or as a module with a C calling
convention (`kernel_module`: listings, `s2s.backends.native`).  What is not in reach of this
(`Unsupported`) goes through all of Numba.
"""
