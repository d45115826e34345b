"""Code emission: memory form to readable NumPy-level Python (`f.source`, `backend="python"`).

Start with `readable.py`.  The text forks off after the last pass in value form; passes of its own
give values the user's names (`given_names.py`), simplify the formulas of sweeps
(`sweep_algebra.py`), compute cheap subexpressions again (`recompute.py`), and after storage merge
second names (`merge_names.py`).  `temporary_names.py` names what is left, `outside_values.py` says
how the text reads the user's objects and builds results.

`numpy_writer.py` writes the statements.  A source statement whose text still has the effect of its
IR is printed unchanged (`reprint_statements.py`, with the criteria in `user_text.py` and
`definite_assignment.py`).  All other statements are printed from IR: `format_ops.py` formats
operations, and `inline_temporaries.py` substitutes temporaries into the expressions that read them.

Statements are collected on a page (`page.py`): texts of ours, and libcst nodes of the user's
(`user_nodes.py`).  `build_page.py` makes one `libcst.Module` of it, and `parameter_list.py` writes
the signature.

The kernel that is compiled does not come from here but from `lower/`.

May import `bufferize/` and the layers below (`rules/`, `frontend/`, `ir/`, …), but not
`diagnostics/`, which is on the same layer.
"""
