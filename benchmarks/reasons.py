"""Why rows fall short, as far as it is known: by the beginning of their names."""

REASONS = {
    "syrk": "one column of A is added at a time, as the program says; JAX and the hand-written "
    "adjoint multiply matrices.",
    "cnn": "windows are copied into a matrix and multiplied; PyTorch convolves in place (oneDNN).",
    "mlp32": "the products of matrices take nearly all of it.",
    "gmm-d64": "what each component leaves, 51 MB in all, is written and read again; the products "
    "take most of the rest.",
    "jacobi-1d": "the adjoint of a row that is overwritten is set to zero in a loop of its own.",
    "ode": "adjoints are set to zero after they are read, although nobody reads them again.",
    "kmeans": "the centres that were not chosen are multiplied by zero; by hand they are skipped.",
    "det": "the index and sign of every term are kept, and elements are checked to be in range.",
    "nbody": "a matrix of strengths is kept for each step.",
    "linear": "what is left is Python's: the call itself, and one look at the objects.",
    "call": "what is left is Python's: the call itself.",
}
