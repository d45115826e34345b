"""Status codes of exported functions: 0, an invalid call, or an error that the program raised."""

from __future__ import annotations

OK, NULL, SIZES, ALIGNMENT, OVERLAP, WORKSPACE, STATE, FAILED = range(8)

# The first status code of errors that the program raises.
FIRST_PROGRAM_ERROR = 16

NAMES = {
    OK: "OK", NULL: "NULL_POINTER", SIZES: "SIZES", ALIGNMENT: "ALIGNMENT", OVERLAP: "OVERLAP",
    WORKSPACE: "WORKSPACE", STATE: "FOREIGN_STATE", FAILED: "FAILED",
}  # fmt: skip

MESSAGES = {
    OK: "no error",
    NULL: "a pointer is null",
    SIZES: "a size is negative or too large, or the sizes do not fit together",
    ALIGNMENT: "a pointer is not aligned (workspace and state: 64 bytes; arrays: an element)",
    OVERLAP: "an array that is written overlaps with another",
    WORKSPACE: "the workspace is too small; its first eight bytes hold the size needed so far",
    STATE: "the state is not one of this library's, or of another version of it",
    FAILED: "a function that was called failed",
}
