"""The data of a report, as `s2s report` collects them."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from s2s.cli import report
from s2s.cli.loaded_function import subject
from tests.s2s.cli.files import LOSS


@pytest.fixture
def told(model: str, run: Any) -> Any:
    def make(*words: str) -> Any:
        parser = argparse.ArgumentParser()
        report.add(parser)
        options = parser.parse_args(
            [f"{model}:loss", "--args", LOSS, "--backend", "python", *words]
        )
        return report.collect(subject(options), options)

    return make


def test_without_a_run(told: Any) -> None:
    data = told("--no-run")
    assert data.times is None and data.memory is None and data.workspace is not None
    assert data.about.name == "model.py:loss" and data.explained.wrt == ("W", "b")
    assert [name for name, _ in data.passes][0] == "desugar"
    assert data.both.emitted[-1].text in data.compiled.source
    assert report.as_data(data, report.Path("page.html"))["peak_bytes"] is None


def test_with_a_run(told: Any) -> None:
    data = told("--seconds", "0.001")
    assert data.times.gradient.best > 0.0 and data.times.backend == "python"
    figures = report.as_data(data, report.Path("page.html"))
    assert data.memory.peak > 0 and figures["peak_bytes"] == data.memory.peak
    assert figures["wrt"] == ["W", "b"] and figures["page"] == "page.html"
