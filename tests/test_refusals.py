"""Every refusal has the line, a caret at the faulty expression, and advice."""

from __future__ import annotations

import inspect
import linecache
from typing import Any

import pytest

import s2s
from tests import oracle
from tests.refusals import REFUSALS, Refusal, marker

# Known deficiencies, as strict xfails.
KNOWN: dict[str, str] = {}

CASES = [
    pytest.param(
        refusal,
        id=name,
        marks=[pytest.mark.xfail(strict=True, reason=KNOWN[name])] if name in KNOWN else [],
    )
    for name, refusal in REFUSALS.items()
]


def run(refusal: Refusal) -> Any:
    f = refusal.function
    if not isinstance(f, s2s.api.functions.Function):
        options = {"backend": refusal.backend, **refusal.options}
        f = getattr(s2s, refusal.how)(f, **options)
    return f(*oracle.copy_tree(refusal.args))


@pytest.mark.parametrize("refusal", CASES)
def test_refusal(refusal: Refusal) -> None:
    with pytest.raises(refusal.error) as caught:
        run(refusal)
    error = caught.value
    text = str(error)
    assert refusal.says.lower() in text.lower(), text
    assert not isinstance(error, s2s.errors.InternalCompilerError), text
    if refusal.advice:
        assert refusal.advice.lower() in getattr(error, "advice", "").lower(), text
    place = expected_place(refusal)
    if place is not None:
        check_place(error, *place)


def expected_place(refusal: Refusal) -> tuple[str, int, str] | None:
    """File, line and caret text, from the marker in the function or in its helper."""
    f = getattr(refusal.function, "python", refusal.function)
    try:
        lines, first = inspect.getsourcelines(f)
        file = inspect.getsourcefile(f)
    except (OSError, TypeError):
        return None
    found = marker("".join(lines))
    if found is None or file is None:
        return None
    return file, first + found[0], found[1].strip()


def check_place(error: Any, file: str, line: int, caret: str) -> None:
    text = str(error)
    assert getattr(error, "line", None) == line, f"line {getattr(error, 'line', None)}: {text}"
    assert error.file == file
    if not isinstance(error, s2s.errors.S2SError):
        return  # a run-time error of the program: only the line is checked
    source_line = linecache.getline(file, line).rstrip()
    assert error.source_line.rstrip() == source_line
    assert source_line[error.column :].startswith(caret), text
    shown = text.splitlines()
    at = next(i for i, t in enumerate(shown) if t.strip() == source_line.strip())
    assert shown[at + 1].strip().strip("^") == "", text
    indent = len(source_line) - len(source_line.lstrip())
    assert shown[at + 1].index("^") == shown[at].index(source_line.strip()) - indent + error.column


def test_there_are_enough() -> None:
    assert len(REFUSALS) >= 60
    assert set(KNOWN) <= set(REFUSALS)
