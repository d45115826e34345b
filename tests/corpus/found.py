"""Programs that once went wrong, found among random ones and cut down to what mattered."""

import numpy as np

from . import N, arr, case, num


def _pair(a, b):
    return np.cos(a) * b, a - b


@case(arr(N + 2), num(), wrt=(0, 1), tags="found unpacking")
def name_bound_anew_by_an_inlined_call(x, s):
    t = np.mean(x)
    t, c = _pair(x[-1], abs(t))
    c = x[1] if x[0] < x[-1] else s
    return np.sum(x) + t + c
