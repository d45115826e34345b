"""Code emission: memory form to readable NumPy-level Python (`f.source`, `backend="python"`).

Start with `numpy_writer.py`.  A source statement whose text still has the effect of its IR is
printed unchanged (`reprint_statements.py`, with the criteria in `user_text.py` and
`definite_assignment.py`).  All other statements are printed from IR: `format_ops.py` formats
operations, `inline_temporaries.py` substitutes temporaries into the expressions that read them,
and `line_printer.py` writes lines, indentation and comments.

The kernel that is compiled does not come from here but from `lower/`.

May import `bufferize/` and the layers below (`rules/`, `frontend/`, `ir/`, …), but not
`diagnostics/`, which is on the same layer.
"""
