"""Why rows fall short, as far as it is known: by the beginning of their names."""

REASONS = {
    "mlp32": "two products of matrices are nine tenths of the step, at about 90 % of what the "
    "processor can multiply and add.",
    "gmm-d64": "what each component leaves, 51 MB in all, is written and read again.",
    "det": "by hand the rows are counted by a recurrence and each minor is summed up in a "
    "register; here signs are kept.",
    "call": "two numbers are made as objects of NumPy.",
    "nbody": "the adjoint of the masses is summed up in three parts, and the three coordinates are "
    "loops of unknown length.",
}
