"""The corpus with `target="cuda-emulated"`: values, gradients and arguments afterwards.

Each case runs with blocks of 2 threads and shadow memory, with blocks of 64, and with those of the
emitted text, whose threads run from the last to the first.  What the target refuses has a line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

import s2s
from s2s.cuda import devices
from s2s.cuda.shadow_memory import ShadowMemory
from tests.corpus import Case, load
from tests.corpus.known import KNOWN
from tests.judge import judge

CASES = [case for name, case in load().items() if name not in KNOWN]


def transform(case: Case) -> Any:
    options: dict[str, Any] = {"target": "cuda-emulated"}
    if case.static:
        options["static_argnames"] = case.static
    if not case.gradient:
        return s2s.function(case.function, **options)
    wrt = case.wrt[0] if case.single else case.wrt
    return s2s.value_and_grad(case.function, wrt=wrt, has_aux=case.has_aux, **options)


def check(case: Case, dtype: type, trips: tuple[int, ...], label: str, **settings: Any) -> None:
    """Run a case; a refusal is as good as a result, if it has a line."""
    device = devices.device("cuda-emulated")
    f = transform(case)
    for n in trips:
        try:
            with device.settings(**settings):
                judge(case, f, n, dtype, label=f"emulated, {label}")
        except s2s.UnsupportedError as error:
            assert error.span is not None, error
            pytest.skip(f"refused: {error.message}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_corpus(case: Case) -> None:
    ends = tuple(dict.fromkeys((case.trips[0], case.trips[-1])))
    check(case, np.float64, ends, "blocks of 2", block=2, shadow=ShadowMemory())
    check(case, np.float64, ends[-1:], "blocks of 64", block=64)
    if f"{case.name}[float32]" not in KNOWN:
        check(case, np.float32, ends[-1:], "reversed", reversed=True)
