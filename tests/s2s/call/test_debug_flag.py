"""The flag of `debug_nans` is one list, changed in place: C code holds a reference to it."""

from __future__ import annotations

import s2s
from s2s.call import call_stub, debug_flag
from s2s.inspect import debug_nans


def test_the_list_is_never_rebound() -> None:
    flag = debug_flag.active
    assert flag == []
    with s2s.debug_nans():
        assert debug_flag.active is flag and flag
        with s2s.debug_nans(False):
            assert not flag
        assert flag
    assert debug_flag.active is flag and not flag


def test_all_readers_have_the_same_list() -> None:
    assert debug_nans.active is debug_flag.active is call_stub.debug_flag.active
