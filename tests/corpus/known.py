"""Known failures of cases, with reasons.  Each is a strict xfail: when a case begins to work, the
test fails, and its line must be removed.

A key is a case's name, or "name[float32]", "name[layout]", "name[jax]" or "name[numba]" where
only that fails."""

KNOWN: dict[str, str] = {
    "azimint_naive[compiled float32]": "x * 3 / 3 is one unit above x, as quotients by what a loop "
    "does not change are products with the reciprocal, and x < x * 3 / 3 holds",
    "alias_survives_rebinding": "refused: a name rebound in a loop while another keeps its array",
    "ravel_of_slice_is_a_copy": "refused: whether reshape copies is not followed",
}
