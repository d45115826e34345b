"""A function beside its emitted code: the mapping between lines."""

from __future__ import annotations

import linecache

import numpy as np

import s2s
from s2s.inspect.side_by_side import sides
from tests.s2s.inspect.sides_program import energy, loss


def sides_of(f, *args):
    gradient = s2s.grad(f, backend="python")
    return sides(f, gradient._entry_for(args, {}).compiled)


def line_of(both, text):
    (found,) = (e for e in both.emitted if e.text.strip() == text)
    return found


def user_text(place):
    return linecache.getline(*place).strip()


def test_lines_of_both_sweeps_know_their_line():
    both = sides_of(energy, np.ones(3))
    forward = line_of(both, "s += x[i] * x[i] * x[i]")
    backward = next(e for e in both.emitted if e.text.strip().startswith("x_bar[i] +="))
    assert (
        user_text(forward.origins[0]) == user_text(backward.origins[0]) == "s += x[i] * x[i] * x[i]"
    )
    assert (forward.sweep, backward.sweep) == (0, 1)
    numbers = both.counterparts[forward.origins[0]]
    assert {forward.number, backward.number} <= set(numbers)


def test_loops_branches_and_comments():
    both = sides_of(energy, np.ones(3))
    for text in ("if x[i] > 0:", "else:", "s -= x[i]", "for i in range(x.shape[0]):"):
        places = {e.origins[0] for e in both.emitted if e.text.strip() == text and e.origins}
        assert {user_text(p) for p in places} == {text}
    comment = line_of(both, "# L12: s += x[i] * x[i] * x[i]")
    assert user_text(comment.origins[0]) == "s += x[i] * x[i] * x[i]"
    assert not line_of(both, "# ---- adjoint sweep ----").origins
    assert not both.emitted[-1].origins  # the return of the gradient has no counterpart


def test_helpers_are_listed_and_linked_to_their_calls():
    both = sides_of(loss, np.ones(3))
    assert [listing.title.partition(" ")[2] for listing in both.listings] == ["", "square"]
    (inside,) = {e.origins for e in both.emitted if len(e.origins) == 2 and e.sweep}
    assert [user_text(p) for p in inside] == ["return z * z", "return np.sum(square(x))"]
    line = next(e for e in both.emitted if e.origins == inside)
    assert both.own(line) == inside[1][1]


def test_every_line_of_an_adjoint_sweep_has_an_origin():
    for f in (energy, loss):
        both = sides_of(f, np.ones(3))
        start = next(i for i, e in enumerate(both.emitted) if "adjoint sweep ----" in e.text)
        assert all(e.origins for e in both.emitted[start + 1 : -1])
