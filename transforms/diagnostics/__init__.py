"""Diagnostics: a reference interpreter of the IR, and reports on programs in the user's terms.

Start with `interpreter.py`, which executes value form with NumPy and defines its semantics.
`nan_origin.py` traces NaNs and infs to the operation that produced them, and `nan_hints.py` gives
advice; `magnitude.py` measures the largest intermediate value.  `activity_report.py` lists the
active variables and the reasons why parameters are inactive; `tape_report.py` lists the stored and
recomputed values.  The output of the reports is formatted in `s2s/inspect` and `s2s/cli`.

No pass depends on this folder for code generation.  May import all lower layers (`bufferize/`,
`autodiff/`, `checkpoint/`, `rules/`, `ir/`, …), but not `emit/`, which is on the same layer.
"""
