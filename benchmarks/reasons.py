"""Known reasons why rows miss their targets, by prefix of their names."""

REASONS = {
    "mlp32": "two products of matrices are 97 % of the step, at 91 to 94 % of what the processor "
    "can multiply and add; of the first start, two fifths are LLVM's and a fifth imports.",
    "gmm-d64": "what each component leaves, 51 MB in all, is written and read again.",
    "det": "by hand the rows are counted by a recurrence; here signs are kept.",
    "call": "two numbers are made as objects of NumPy.",
    "nbody": "the adjoint of the masses is summed up in three parts.",
}
