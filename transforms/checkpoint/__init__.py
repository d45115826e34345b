"""Tape planning: how the adjoint sweep gets the forward values it needs.

Start with `plan_tape.py`, which decides for each tape slot (`slot_pair.py`) between
rematerialisation, a final value, a value in scope, a dense array and a stack.

`rematerialize.py` recomputes a value under a cost model; `remat_policy.py` and `min_cut.py` choose
the values to store in a loop's body; `final_values.py` proves that array elements are not
overwritten; `tape_arrays.py` lays out dense arrays; `save_list_length.py` saves the length of a
list in place of the list; `duplicate_temporaries.py` recomputes cheap temporaries of the user's
statements.

May import `frontend/`, `rules/`, `simplify/` and `ir/`, but not `autodiff/`, `batch/` or `lower/`,
which are on the same layer.
"""
