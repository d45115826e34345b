"""Tests mirror the source: `tests/<path>/test_<file>.py` tests `<path>/<file>.py`.

`untested.txt` lists the files that have no test file of their own; they are tested through others.
The list may only shrink: a new file comes with its test.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("untested.txt")
# The upper bound for the number of lines of the list.
MOST = 35


def sources() -> set[str]:
    found = {*(ROOT / "s2s").rglob("*.py"), *(ROOT / "transforms").rglob("*.py")}
    paths = {path.relative_to(ROOT) for path in found}
    return {
        path.as_posix()
        for path in paths
        if path.parts[:2] != ("s2s", "transforms")
        and path.name not in ("__init__.py", "__main__.py", "_version.py")
    }


def has_test(source: str) -> bool:
    path = Path(source)
    return (ROOT / "tests" / path.with_name(f"test_{path.name}")).is_file()


def test_files_without_a_test_are_listed() -> None:
    listed = LIST.read_text(encoding="utf-8").split()
    assert listed == sorted(set(listed))
    assert set(listed) == {source for source in sources() if not has_test(source)}
    assert len(listed) <= MOST


def test_every_test_file_has_a_source_folder() -> None:
    """A test of several files is in the folder of these files."""
    for top in ("s2s", "transforms"):
        for path in (ROOT / "tests" / top).rglob("test_*.py"):
            folder = path.parent.relative_to(ROOT / "tests")
            assert (ROOT / folder).is_dir(), path
