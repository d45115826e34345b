"""Paths of functions of libraries."""

from __future__ import annotations

import math

import numpy as np

from s2s.transforms.specialise.surface.library_paths import library_function, path_of


def test_paths_as_users_know_them() -> None:
    assert path_of(np.ptp) == "numpy.ptp" and path_of(np.linalg.norm) == "numpy.linalg.norm"
    assert path_of(np.maximum.accumulate) == "numpy.maximum.accumulate"
    assert path_of(lambda x: x) == "" and path_of(math.hypot) == "math.hypot"


def test_programs_of_the_library() -> None:
    assert callable(library_function(np.ptp))
    assert library_function(len) is None
