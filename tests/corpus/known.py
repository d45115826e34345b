"""Known failures of cases, with reasons.  Each is a strict xfail: when a case begins to work, the
test fails, and its line must be removed.

A key is a case's name, or "name[float32]", "name[layout]", "name[jax]" or "name[numba]" where
only that fails."""

KNOWN: dict[str, str] = {
    "inserted_beyond_the_ends[float32]": "a list of Python floats and float32 gives float64 sums",
    "inserted_beyond_the_ends[compiled float32]": "likewise",
    "alias_survives_rebinding": "refused: a name rebound in a loop while another keeps its array",
    "ravel_of_slice_is_a_copy": "refused: whether reshape copies is not followed",
}
