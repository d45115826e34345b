"""A seeded sample of the random programs; `make fuzz` runs thousands."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.generate import generate
from tests.fuzz.judges import EXTRAS, JUDGES, ON_REQUEST, Wrong, compared
from tests.fuzz.plain import Watched, arguments, load, plain_run
from tests.fuzz.run import judges_of, run, signature, valid
from tests.fuzz.shrink import shrink
from tests.fuzz.trial import Trial, judge
from tests.switches import SWITCHES

PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part: int, request: pytest.FixtureRequest) -> None:
    count = (request.config.getoption("--fuzz-programs") or 80) // PARTS
    report = run(count, seed=1, first=part * count, most=3)
    assert not report.failures, report.text()


def test_a_judge_that_is_not_installed_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JAX is an optional dependency."""
    monkeypatch.setitem(sys.modules, "jax", None)
    source = "import numpy as np\n\ndef f(x, m, y, d, s, n, idx):\n    return s * s\n"
    verdict = judge(source, tmp_path, ("loops", "jax"))
    assert verdict.kind == "ok" and not verdict.judged["jax"] and verdict.judged["loops"]


def test_programs_are_valid_and_reproducible(tmp_path: Path) -> None:
    for number in range(60):
        source = generate(3, number)
        assert source == generate(3, number)
        f = load(source, tmp_path)
        for n in range(4):
            float(f(*arguments(n)))


def test_every_judge_has_its_turn() -> None:
    asked = {name for number in range(3 * len(EXTRAS)) for name in judges_of(number, False)}
    assert asked == set(judges_of(0, True))


def test_shrinking_keeps_the_culprit(tmp_path: Path) -> None:
    def fails(source: str) -> bool:
        return "damp(" in source[source.index("def f(") :] and valid(source, tmp_path)

    source = next(p for p in (generate(5, k) for k in range(300)) if fails(p))
    small = shrink(source, fails)
    assert fails(small)
    assert len(small.splitlines()) <= 12, small


def test_ties_and_overflow_are_discarded(tmp_path: Path) -> None:
    header = "import numpy as np\n\ndef f(x, m, y, d, s, n, idx):\n    "
    near = header + "return s if s > s + 1e-12 else 2.0 * s\n"
    much = header + "return np.sum(np.exp(1e3 + x) * 0.0) + s\n"
    for source in (near, much):
        assert plain_run(load(source, tmp_path), Watched(source), 2) is None


def test_failures_of_one_cause_have_one_signature() -> None:
    first = "n=1, loops: derivative 0.25, expected -1.5e-3"
    assert signature(first) == signature("n=3, loops: derivative -3.125, expected 2.0")
    assert signature(first) != signature("n=3, python: derivative -3.125, expected 2.0")


def lowered(gradient: Any) -> str:
    """Each copy of a program has its own file, whose name occurs in its errors."""
    return re.sub(r"fuzzed_\d+", "fuzzed", gradient.lowered)


@pytest.mark.parametrize("name", ON_REQUEST)
def test_judges_of_machine_code(name: str, tmp_path: Path) -> None:
    """They accept a right program, and find a value that is wrong."""
    source = (
        "import numpy as np\n\ndef f(x, m, y, d, s, n, idx):\n    return s * np.sum(x) + y[-1]\n"
    )
    trial, run_ = Trial(source, tmp_path), plain_run(load(source, tmp_path), Watched(source), 2)
    assert run_ is not None
    JUDGES[name](trial, run_)
    with pytest.raises(Wrong, match="expected"):
        JUDGES[name](trial, replace(run_, value=run_.value + 1.0))


def test_switches_change_the_code(tmp_path: Path) -> None:
    source = """
import numpy as np


def f(x, m, y, d, s, n, idx):
    t = 0.0
    for i in range(n):
        s = np.sin(s * x[i])
        t += s * s * x[i + 1]
    z = np.exp(x * t)
    for i in range(n):
        y = z[2:] - 2.0 * z[1:-1] + z[:-2]
        z[1:-1] = np.sin(y) * x[n]
    w = np.zeros_like(x)
    for i in range(n):
        k = np.sin(x + w)
        w = w + k + np.sin(w + t * k)
    w[:n] += t * np.flip(w[:n])
    for i in range(n):
        v = np.zeros_like(x)
        v[0] = x[0]
        for j in range(1, len(x)):
            v[j] = x[j] * w[j - 1]
        w = t * v
    u = 0.0
    for i in range(n):
        q = 0.0
        for j in range(len(x)):
            q += x[i] * x[j]
        u += np.exp(-q * q)
    for i in range(n):
        u += np.sin(x[i]) * x[0]
    return u + np.sum(z * z + x) + np.sum(z) + np.sum(w * w) * x[0] * np.cos(x[0])
"""
    trial, run_ = Trial(source, tmp_path), plain_run(load(source, tmp_path), Watched(source), 2)
    assert run_ is not None
    texts = {}
    for switch in SWITCHES:
        JUDGES[f"without {switch}"](trial, run_)
        texts[switch] = lowered(trial.gradient("loops", switch))
    compared(trial, run_, trial.gradient("loops"))
    usual = lowered(trial.gradient("loops"))
    # These passes change nothing in this program.
    idle = [
        "reuse_powers",
        "cse",
        "specialise_small_axes",
        "choose_layout",
        "duplicate_layout",
        "interchange_loops",
        "if_convert",
        "distribute_shifted",
        "reversible_loops",
        "forward_scaled_copies",
        "peel_carried_zeros",
        "store_first_accumulate",
        "skip_zero_updates",
        "shortened_sweeps",
        "save_argminmax",
        "fuse_gemm_accumulate",
        "collapse_loops",
        "contract_arrays",
        "split_wraparound",
        "unroll_and_jam_sums",
        "hoist_reserve",
        "eliminate_in_range_checks",
        "version_checked_loops",
        "shorten_minmax_recurrence",
    ]
    assert [switch for switch, text in texts.items() if text == usual] == idle
