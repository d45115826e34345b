"""Versions of CPython, llvmlite and Numba that s2s is not tested with are refused."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import s2s
from s2s.runtime import versions

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef]

ROOT = Path(__file__).resolve().parents[3]


def test_ranges_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    ranges = {}
    for text in project["dependencies"]:
        name, *limits = re.split(r"(?=[<>=])", text, maxsplit=1)
        limits = ",".join(sorted(limits[0].split(","), reverse=True)) if limits else ""
        ranges[name] = limits
    for name in ("numba", "llvmlite"):
        assert versions.SUPPORTED[name] == ranges[name]
    listed = [c.rpartition(" :: ")[2] for c in project["classifiers"] if "Python :: 3." in c]
    low, high = listed[0], int(listed[-1].partition(".")[2])
    assert versions.SUPPORTED["python"] == f">={low},<3.{high + 1}"
    assert project["requires-python"] == f">={low}"
    floor = dict(re.findall(r"^(\w+)==([\d.]+)$", (ROOT / "tests/floor.txt").read_text(), re.M))
    for name, oldest in floor.items():
        assert versions.is_supported(oldest, versions.SUPPORTED[name])
        assert versions.SUPPORTED[name].startswith(f">={oldest.removesuffix('.0')},")


@pytest.mark.parametrize(
    "version, fits",
    [
        ("0.66.0", True), ("0.66", True), ("0.67.1", True), ("0.68.99", True),
        ("0.65.1", False), ("0.61.0", False), ("0.69.0", False), ("1.67.0", False), ("1.0", False),
        ("0.9.1", False), ("0.660.0", False),
        # Pre-releases of the lowest version precede it; those of the first one above are of that.
        ("0.66.0rc1", False), ("0.66.0dev0", False), ("0.66.0.dev3+g12ab", False),
        ("0.66.1rc1", True), ("0.67.0rc1", True), ("0.67.0dev0+12.gabcdef", True),
        ("0.69.0rc1", False), ("0.69.0dev0+1.g12", False), ("0.66.0+local", True),
        ("0.66.0.post1", True), ("0+unknown", False), ("0+untagged.1.gabc", False), ("", False),
    ],
)  # fmt: skip
def test_ranges(version: str, fits: bool) -> None:
    assert versions.is_supported(version, ">=0.66,<0.69") is fits


@pytest.mark.parametrize("version, fits", [("3.10.0", True), ("3.14.2", True), ("3.9.1", False),
                                           ("3.15.0a1", False), ("3.14.0rc2", True)])  # fmt: skip
def test_pythons(version: str, fits: bool) -> None:
    assert versions.is_supported(version, versions.SUPPORTED["python"]) is fits


def test_the_installed_versions_are_supported() -> None:
    assert [versions.problem(name) for name in versions.SUPPORTED] == [None] * 3


@pytest.fixture
def old_numba(monkeypatch: pytest.MonkeyPatch):
    """As if another Numba had been imported, in a process that has compiled nothing."""
    monkeypatch.setattr(numba, "__version__", "0.61.2")
    monkeypatch.setattr(versions.require_numba, "kept", {})
    monkeypatch.setattr(versions.require_llvm, "kept", {})


def square(x):
    return np.sum(x * x)


@pytest.mark.parametrize("backend", ["numba", "njit"])
def test_refused(old_numba, backend: str) -> None:
    for _ in range(2):  # the refusal is not forgotten
        with pytest.raises(s2s.VersionError) as caught:
            s2s.grad(square, backend=backend)(np.ones(2))
        text = str(caught.value)
        assert "numba 0.61.2 is not supported" in text and ">=0.66,<0.69" in text
        assert "pip install" in text and "S2S_UNTESTED_VERSIONS=1" in text


def test_refused_ahead_of_time(old_numba, tmp_path: Path) -> None:
    with pytest.raises(s2s.VersionError, match="numba 0.61.2"):
        s2s.aot.build(s2s.grad(square), "float64[n]", out=tmp_path / "square")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("backend", ["python", "loops"])
def test_what_needs_no_numba_runs(old_numba, backend: str) -> None:
    x = np.arange(3.0)
    np.testing.assert_array_equal(s2s.grad(square, backend=backend)(x), 2.0 * x)


@pytest.mark.parametrize("value, refused", [("1", False), ("0", True), ("", True)])
def test_at_your_own_risk(old_numba, monkeypatch, value: str, refused: bool) -> None:
    monkeypatch.setenv("S2S_UNTESTED_VERSIONS", value)
    if refused:
        with pytest.raises(s2s.VersionError):
            versions.require_numba()
    else:
        versions.require_numba()


def test_other_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions.platform, "python_version", lambda: "3.15.0a4")
    monkeypatch.setattr(versions.require_llvm, "kept", {})
    with pytest.raises(s2s.VersionError, match=r"CPython 3.15.0a4 .* >=3.10,<3.15"):
        versions.require_llvm()
    monkeypatch.setattr(sys.implementation, "name", "pypy")
    with pytest.raises(s2s.VersionError, match="is not supported: .* CPython >=3.10,<3.15"):
        versions.require_llvm()


# ---------------------------------------------------------------- in processes of their own

STUB = """
__version__ = {version!r}
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    import os
    os.write(2, b"aborted at " + name.encode()); os.abort()
"""
BINDING = """
def get_host_cpu_name(): return "cpu"
class get_host_cpu_features:
    def flatten(self): return ""
"""
PROGRAM = """
import numpy as np, s2s
f = lambda x: np.sum(x * x)
try:
    s2s.grad(f, backend={backend!r})(np.ones(2))
except s2s.VersionError as error:
    print(error.message)
print(s2s.grad(f, backend="loops")(np.ones(2)))
"""


def stubs(folder: Path, numba: str, llvmlite: str) -> str:
    """Packages that abort the process when anything of them is used but the version."""
    for name, version in (("numba", numba), ("llvmlite", llvmlite)):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(STUB.format(version=version))
    (folder / "llvmlite" / "binding.py").write_text(BINDING)
    return f"{folder}:{ROOT}"


def run(folder: Path, backend: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(PROGRAM.format(backend=backend))
    command = [sys.executable, "program.py"]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


@pytest.mark.parametrize(
    "numba, llvmlite, backend, said",
    [
        ("0.61.0", "0.50.0", "numba", "numba 0.61.0 is not supported: compiled code needs numba"),
        ("0.68.0", "0.44.0", "numba", "llvmlite 0.44.0 is not supported: compiled code needs"),
        ("0.68.0", "0.51.0rc1", "native", "llvmlite 0.51.0rc1 is not supported"),
    ],
)
def test_refused_before_anything_breaks(
    tmp_path: Path, monkeypatch, numba: str, llvmlite: str, backend: str, said: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", stubs(tmp_path, numba, llvmlite))
    monkeypatch.setenv("S2S_CACHE_DIR", str(tmp_path / "cache"))
    done = run(tmp_path, backend)
    first, *rest = done.stdout.splitlines() or [""]
    assert first.startswith(said) and rest == ["[2. 2.]"], done.stderr


def test_numba_that_cannot_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba refuses other versions of llvmlite and Python by an ImportError of its own."""
    monkeypatch.setenv("PYTHONPATH", stubs(tmp_path, "0.61.0", "0.50.0"))
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('needs Python 3.9')")
    info = tmp_path / "numba-0.61.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: numba\nVersion: 0.61.0\n")
    done = run(tmp_path, "numba")
    assert done.stdout.startswith("numba 0.61.0 is not supported"), done.stderr


def test_the_page_names_the_ranges() -> None:
    page = (ROOT / "docs" / "backends.md").read_text("utf-8").partition("## Versions")[2]
    for name in ("numba", "llvmlite"):
        assert f"`{name}{versions.SUPPORTED[name]}`" in page
    assert versions.UNTESTED in page
