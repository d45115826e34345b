"""Inspection: reports on compiled functions, the search for NaN, and output for notebooks.

- `explain.py`: `f.explain()`; its data in `explain_data.py`, its text in `explain_text.py`, its
  part about a device in `explain_device.py`.
- `debug_nans.py`: `s2s.debug_nans()`; the error in `debug_nans_report.py`, and the inputs
  of a kernel before its call in `kernel_inputs.py`.
- `side_by_side.py`: a function beside its emitted code; as HTML in `side_by_side_html.py`.
- `notebook.py`, `highlight.py`, `code_string.py`: highlighted code in IPython and Jupyter.

Start with `explain.py` or `debug_nans.py`.  The analyses themselves are passes of the compiler
(`transforms/diagnostics`).

This folder may import `dispatch`, `backends`, `call`, `codegen`, `runtime`, `cache`, `objects`,
`errors` and the compiler (`transforms`).
"""
