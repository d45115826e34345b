"""Why rows fall short, as far as it is known: by the beginning of their names."""

REASONS = {
    "syrk": "in the sweep one column of A is added at a time, as the program says; JAX and the "
    "hand-written adjoint multiply matrices.",
    "mlp32": "two products of matrices take 157 of 167 µs with SGD, at 90 % of what the processor can "
    "multiply and add (82 of 91.5 GFLOP/s); at all of it 1.9× would be the limit. Adam's square roots and "
    "quotients take most of the rest.",
    "gmm-d64": "what each component leaves, 51 MB in all, is written and read again.",
    "jacobi-1d": "one of two rows is set to zero in one round and added to in the next.",
    "kmeans": "all distances are kept and compared again; by hand the nearest centre is known.",
    "det": "by hand the rows are counted by a recurrence; here signs are kept, and elements are "
    "checked to be in range.",
    "nbody": "a matrix of strengths is kept for each step.",
    "linear": "what is left is one look at the objects.",
    "call": "two numbers are made as objects of NumPy.",
}
