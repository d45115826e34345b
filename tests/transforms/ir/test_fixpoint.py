"""Fixpoint iterations that do not terminate are stopped, and the message names the pass."""

import pytest

from s2s.transforms.ir.fixpoint import IterationLimit, NoFixpoint, rewrites


def test_rewrites_end_with_a_warning_that_names_the_pass():
    with pytest.warns(RuntimeWarning, match="`narrow` was stopped after 3 rewrites"):
        assert list(rewrites("narrow", limit=3)) == [0, 1, 2]


def test_a_pass_that_breaks_off_is_silent(recwarn):
    for _ in rewrites("narrow", limit=3):
        break
    assert not recwarn.list


def test_iterations_end_with_an_error_that_names_the_search():
    rounds = IterationLimit("specialise", limit=2)
    rounds.count()
    rounds.count()
    with pytest.raises(NoFixpoint, match="`specialise` found no fixpoint in 2 iterations"):
        rounds.count()
