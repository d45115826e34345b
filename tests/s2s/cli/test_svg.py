"""The plot of memory over a step."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from s2s.cli.svg import _ticks, memory_plot


def test_a_plot_is_well_formed_and_within_its_box():
    plot = memory_plot(
        [0, 800, 800, 0], [800, 900, 1600, 800], [7, 8, 9, 10], [False] * 2 + [True] * 2, 4
    )
    root = ET.fromstring(plot)
    assert "at most 1.6 kB" in root.attrib["aria-label"]
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for e in root.iter("circle"):
        assert 0 < float(e.attrib["cx"]) < width and 0 < float(e.attrib["cy"]) < height
    texts = ["".join(e.itertext()) for e in root.iter("text")]
    assert "1.6 kB, line 9" in texts and "adjoint sweep" in texts and "4 lines run" in texts


def test_nothing_at_all():
    assert memory_plot([], [], [], [], 0) == ""
    assert ET.fromstring(memory_plot([0], [0], [1], [False], 1)) is not None


def test_ticks_are_round():
    assert _ticks(1600) == [0, 500, 1000, 1500, 2000]
    assert _ticks(1) == [0, 1]
    assert _ticks(7_300_000)[1] == 2_000_000
