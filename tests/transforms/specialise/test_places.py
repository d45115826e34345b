"""Where a program is while it is specialised, and errors with their place."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.transforms.frontend.check_subset import checked
from s2s.transforms.frontend.source import read
from s2s.transforms.specialise.places import Frame, NeedUnroll, Places, located
from s2s.transforms.specialise.session import Session
from s2s.transforms.specialise.shared import Shared
from s2s.transforms.syntax.names import local_names


def program(x):
    y = x * 2.0
    return y


def places() -> Places:
    shared = Shared(program)
    made = Places(Session(shared, False, frozenset(), frozenset()), None)
    source = read(program)
    node = checked(source)
    made.stack.append(
        Frame(source, program, (), node, local_names(node), None, 0, (), None, program)
    )
    made.stmt = node.body[0]
    return made


def test_a_refusal_shows_the_statement() -> None:
    here = places()
    error = here.refusal(None, "no", "do this")
    assert error.source_line.strip() == "y = x * 2.0"
    assert error.advice == "do this"


def test_need_unroll_has_the_refusal_for_when_there_is_no_help() -> None:
    here = places()
    with pytest.raises(NeedUnroll) as caught:
        here.need_unroll(here.stmt, "why", "advice", peel=True)
    assert caught.value.peel and caught.value.refusal.message == "why"


def test_python_errors_get_the_line() -> None:
    here = places()
    assert here.stmt is not None
    with pytest.raises(ZeroDivisionError, match=r"y = x \* 2.0"):
        with here.python_errors(here.stmt):
            raise ZeroDivisionError("division by zero")
    source = here.frame.source
    error = located(KeyError("k"), source, source.span(here.stmt))
    assert isinstance(error, KeyError) and error.args == ("k",)
    error = located(np.linalg.LinAlgError("singular"), source, source.span(here.stmt))
    assert isinstance(error, np.linalg.LinAlgError) and "singular" in str(error)


def test_a_fresh_name_is_no_local_of_the_function() -> None:
    assert places().fresh_name("y") == "y_"
    assert places().fresh_name("k") == "k"


def test_a_mark_restores_the_frames() -> None:
    here = places()
    mark, first = here.mark(), here.stmt
    here.frame.result, here.stmt = 1, None
    here.stack.append(here.frame)
    here.undo(mark)
    assert here.frame.result is None and here.stmt is first and len(here.stack) == 1
