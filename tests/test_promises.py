"""What README.md and the metadata of the package say is what the tables and the code say."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

import s2s

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef]

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def rows() -> dict[str, list[tuple[str, float, float]]]:
    """By section of docs/benchmarks.md: a row's name, the best peer over s2s, the time of s2s."""
    found: dict[str, list[tuple[str, float, float]]] = {}
    section, column = "", 0
    for line in (ROOT / "docs" / "benchmarks.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            section = line[3:]
        elif cells[:2] == ["row", "best peer / s2s"]:
            column = cells.index("s2s") if "s2s" in cells else 0
        elif column and (ratio := re.match(r"([\d.]+) \(", cells[1] if cells[1:] else "")):
            number, unit = cells[column].split()
            found.setdefault(section, []).append(
                (cells[0], float(ratio[1]), float(number) * UNITS[unit])
            )
    return found


def test_the_sentence_about_speed() -> None:
    """Its figures are those of the tables, rounded."""
    table = rows()
    every = [row for section in table.values() for row in section]
    ratios = [ratio for _, ratio, _ in every]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    ranges = {s: (min(t for *_, t in r), max(t for *_, t in r)) for s, r in table.items()}
    steps, loops = ranges["Training steps"], ranges["Gradients of loop programs"]
    second = ranges["Second order"]
    threads = re.search(
        r"^(\d+) thread\(s\)", (ROOT / "docs/benchmarks.md").read_text("utf-8"), re.M
    )
    assert threads and threads[1] == "1" and min(ratios) > 1.0
    (text,) = re.findall(r"^- Speed: (.*?)\n\n", README, re.M | re.S)
    said = " ".join(text.split())
    for part in (
        f"on each of the {len(every)} rows",
        "one thread for every library",
        f"{min(ratios):.1f} to {max(ratios):.0f} times the best of them, {mean:.1f} times in the",
        f"training steps of {steps[0] * 1e6:.1f} µs to {steps[1] * 1e3:.0f} ms",
        f"loop programs of {loops[0] * 1e6:.0f} µs to {loops[1] * 1e3:.0f} ms",
        f"second-order steps of {second[0] * 1e6:.0f} to {second[1] * 1e6:.0f} µs",
    ):
        assert part in said, part
    for start, factor in (("MLP 784-512-10", "1.3"), ("transformer, 12 layers, batch 8×32", "2")):
        found = {ratio for name, ratio, _ in every if name.startswith(start)}
        assert found and {f"{ratio:.{len(factor) // 2}f}" for ratio in found} == {factor}
        assert re.search(rf"\b{factor} times for an? {start.split(',')[0]}\b", said)
    assert {t < 1e-6 for _, ratio, t in every if ratio > 30} == {True}


# ---------------------------------------------------------------- metadata


def citation() -> dict[str, Any]:
    """The fields of CITATION.cff, which is simple YAML: scalars, and lists of scalars."""
    found: dict[str, Any] = {}
    key = ""
    for line in (ROOT / "CITATION.cff").read_text("utf-8").splitlines():
        if item := re.match(r"\s+- (?:name: )?(.*)", line):
            found.setdefault(key, []).append(item[1].strip('"'))
        else:
            key, _, value = line.partition(":")
            if value.strip():
                found[key] = value.strip().strip('"')
    return found


def test_the_citation_agrees_with_the_package() -> None:
    cited = citation()
    assert cited["version"] == s2s.__version__
    assert cited["license"] == PROJECT["license"]
    assert cited["authors"] == [author["name"] for author in PROJECT["authors"]]
    assert cited["keywords"] == PROJECT["keywords"]


def test_the_package_names_no_foreign_host() -> None:
    assert "urls" not in PROJECT and "repository-code" not in citation()


# ---------------------------------------------------------------- the name of the distribution

# The package index has an `s2s` of somebody else: nobody may be told to install it.
FOREIGN = re.compile(
    r"\b(?:pip3?|uv|pipx|conda|mamba|poetry|pdm)\b[^\n`#;&|]*?\b(?:install|add)\b[^\n`#;&|]*?"
    r"(?<![\w./-])s2s(?![\w./-])|(?<![\w.`/-])s2s\[\w"
)


@pytest.mark.parametrize(
    "text, foreign",
    [
        ("pip install s2s", True),
        ("python -m pip install -U 's2s'", True),
        ('pip install "s2s[cli]"', True),
        ("uv add s2s", True),
        ("s2s[training] has tqdm", True),
        ("pip install s2s-autodiff", False),
        ("pip install '.[cli]'", False),
        ("pip install ./s2s", False),
        ("pip install -e .", False),
        ("`pip install .`, then `s2s doctor`", False),
        ("pip install . && s2s doctor", False),
    ],
)
def test_what_counts_as_foreign(text: str, foreign: bool) -> None:
    assert bool(FOREIGN.search(text)) is foreign


def test_nobody_is_told_to_install_the_foreign_distribution() -> None:
    """In pages, messages of the code, and metadata."""
    assert PROJECT["name"] == "s2s-autodiff"
    folders = ("s2s", "transforms", "docs", "examples", "benchmarks", "tests")
    files = {file.resolve() for folder in folders for file in (ROOT / folder).rglob("*.*")}
    files |= {file for file in ROOT.iterdir() if file.is_file()}
    kinds = (".py", ".md", ".toml", ".cff", ".yml", ".txt", "")
    files = {f for f in files if f.suffix in kinds and f.is_file() and f.name != ".git"}
    files -= {Path(__file__).resolve()}
    assert {ROOT / "README.md", ROOT / "s2s" / "cli" / "doctor.py"} <= files
    assert {f.name for f in files if FOREIGN.search(f.read_text("utf-8"))} == set()
