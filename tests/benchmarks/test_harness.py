"""The harness on rows of plain Python; no test depends on time."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import __main__ as main
from benchmarks import harness, judge, report, rows
from benchmarks import row as r
from benchmarks.row import Row, Runner


def gives(*arrays):
    return lambda: Runner(lambda: arrays, lambda: [np.array(a) for a in arrays])


def missing():
    raise ModuleNotFoundError("No module named 'torch'")


def refuses():
    raise ValueError("no such thing")


def measured(**makers):
    row = Row("row", "loops", "a row", makers)
    return row, harness.measure(row, rounds=2, budget=0.01, only=None)


def found(ours=1.0, **peers):
    """The report of the harness for the given seconds."""
    seconds = {r.OURS: ours, **peers}
    return {"peers": {peer: {"seconds": s} for peer, s in seconds.items()}, "start": {}}


def test_results_are_compared_before_they_are_timed():
    makers = {r.OURS: gives([1.0, 2.0]), r.JAX: gives([1.0, 2.0]), r.TORCH: gives([1.0, 2.1])}
    _, report = measured(**makers)
    assert report["reference"] == r.JAX
    assert "seconds" in report["peers"][r.OURS]
    assert "seconds" not in report["peers"][r.TORCH]
    assert "differ from JAX's" in report["peers"][r.TORCH]["error"]


@pytest.mark.parametrize("wrong", [[np.nan, 2.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]])
def test_nan_and_other_shapes_are_not_equal(wrong):
    _, report = measured(**{r.OURS: gives(wrong), r.JAX: gives([1.0, 2.0])})
    assert "seconds" not in report["peers"][r.OURS]


def test_missing_peer_is_a_dash_and_a_failing_one_is_named():
    row, result = measured(**{r.OURS: gives(1.0), r.TORCH: missing, r.AUTOGRAD: refuses})
    judged = judge.judge(row, result)
    assert judged.best == "" and not judged.shortfalls
    text = report.page([judged], [], "")
    assert "torch" not in text
    assert "a row, autograd: ValueError: no such thing" in text


def test_ours_missing_is_a_shortfall():
    row, result = measured(**{r.OURS: refuses, r.JAX: gives(1.0)})
    assert judge.judge(row, result).shortfalls == ["s2s: ValueError: no such thing"]


def test_shortfalls_name_the_target():
    row = Row("row", "loops", "a row", {}, ahead_of_best=1.8)
    judged = judge.judge(row, found(**{r.JAX: 1.5, r.TORCH: 3.0, r.HAND: 0.5, r.PRIMAL: 0.2}))
    assert judged.best == r.JAX
    assert judged.shortfalls == [
        "1.50× JAX, wanted 1.8×",
        "2.00 of the hand-written time, wanted 1.15",
        "5.0 times its primal, wanted 4",
    ]
    ahead = judge.judge(row, found(**{r.JAX: 2.0, r.HAND: 0.95, r.PRIMAL: 0.5}))
    assert not ahead.shortfalls


def test_jax_target_is_one_of_its_own():
    row = Row("row", "training", "a row", {}, ahead_of_jax=10.0)
    slow = judge.judge(row, found(**{r.JAX: 4.0}))
    assert slow.shortfalls == ["4.00× JAX, wanted 10×"]
    assert not judge.judge(row, found(**{r.JAX: 11.0})).shortfalls


def test_rows_that_fall_short_come_first():
    good = judge.judge(Row("a", "loops", "good", {}), found(**{r.JAX: 3.0}))
    bad = judge.judge(Row("b", "loops", "bad", {}), found(**{r.JAX: 0.5}))
    text = report.page([good, bad], [], "")
    first = text.index("## Rows that fall short")
    assert first < text.index("| bad |") < text.index("## Gradients of loop programs")
    assert text.index("| good |") > text.index("## Gradients of loop programs")
    assert "faster than every peer on 1 of 2 rows" in text


def test_every_row_has_a_name_of_its_own_and_a_peer():
    everything = rows.all_rows()
    names = [row.name for row in everything]
    assert len(set(names)) == len(names)
    for row in everything:
        assert r.OURS in row.makers and r.JAX in row.makers, row.name


def test_rows_are_chosen_by_the_beginning_of_their_names():
    assert {row.name for row in rows.chosen("mlp32,gmm")} == {
        "mlp32-sgd",
        "mlp32-adam",
        "gmm-d10-k25",
        "gmm-d64-k100",
    }
    with pytest.raises(SystemExit, match="begins with 'nothing'"):
        rows.chosen("mlp,nothing")


def test_a_page_of_rows_that_were_measured_in_parts():
    def machine(date, **versions):
        return {
            "processor": "a CPU", "cores": 2, "threads": 1, "python": "3.11", "quick": False,
            "versions": versions, "date": date,
        }  # fmt: skip

    one, other = machine("2026-01-01", numpy="2.0"), machine("2026-01-02", numpy="2.0")
    assert "between 2026-01-01 and 2026-01-02" in report.conditions([one, other])
    assert "other versions" not in report.conditions([one, other])
    assert "between" not in report.conditions([one, one])
    assert "other versions" in report.conditions([one, machine("2026-01-01", numpy="2.1")])


def test_rows_that_are_stored_are_left_out(tmp_path, monkeypatch):
    row = Row("row", "loops", "a row", {r.OURS: gives(1.0)})
    monkeypatch.setattr(main, "KEPT", tmp_path)
    assert not main.is_stored(row)
    for complete in (False, True):
        main.kept_in(row).write_text(json.dumps({"complete": complete}))
        assert main.is_stored(row) is complete
