"""Status codes: each has a name and a message, and those of programs come after."""

from __future__ import annotations

from s2s.aot import status_codes
from tests.s2s.aot.programs import c_function, needs_compiler


def test_each_status_has_a_name_and_a_message() -> None:
    assert set(status_codes.NAMES) == set(status_codes.MESSAGES) == set(range(8))
    assert len(set(status_codes.NAMES.values())) == 8
    assert status_codes.OK == 0 and status_codes.FIRST_PROGRAM_ERROR > max(status_codes.NAMES)


@needs_compiler
def test_they_are_those_of_a_library() -> None:
    import ctypes

    message = c_function("parts_message", ctypes.c_int32, result=ctypes.c_char_p)
    for status, text in status_codes.MESSAGES.items():
        assert message(status).decode() == text
    for status in (-1, 8, 15, 2**31 - 1, -(2**31)):
        assert message(status) == b"no status of this library"
    assert message(status_codes.FIRST_PROGRAM_ERROR).startswith(b"IndexError: ")
