"""The corpus with calls that stay calls, and with calls that are inlined after differentiation."""

from __future__ import annotations

import numpy as np
import pytest

from tests.corpus import Case
from tests.judge import judge, transform
from tests.test_corpus import one_per_case

MODES = ("keep", "keep+inline")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", one_per_case("float64"))
def test_same_results(case: Case, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_CALLS", mode)
    f = transform(case, None)
    for backend in ("loops", "python"):
        monkeypatch.setenv("S2S_BACKEND", backend)
        judge(case, f, case.trips[-1], np.float64, label=f"{mode}, {backend}")
