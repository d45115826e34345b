"""Bufferization: value form (SSA, immutable arrays) to memory form (variables, in-place stores).

Start with `bufferize.py`, which runs the steps and destroys SSA form.  The steps are
`lower_tape_slots.py` (storage of tape slots), `copy_insertion.py` (copies that make updates safe in
place), `name_old_versions.py` (second names for versions read after a rebinding) and `coalesce.py`
(values to variables).  The analyses are `live_ranges.py` (liveness) and `alias_analysis.py` (values
that may share memory).

A missed optimisation costs a copy, never a wrong value.

May import `autodiff/`, `batch/`, `checkpoint/`, `lower/`, `frontend/`, `rules/`, `simplify/` and
`ir/`; it uses `checkpoint/` and `ir/`.
"""
