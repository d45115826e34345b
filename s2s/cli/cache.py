"""`s2s cache`: show or clear the on-disk cache of compiled code."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cache import store
from ..inspect.explain_text import amount
from .exit_codes import OK
from .json_output import as_json


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("info", "clear"), help="show or clear the cache")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(run=run)


@dataclass
class CacheUsage:
    """The number and total size of cache files of one kind."""

    files: int = 0
    size: int = 0


def run(options: argparse.Namespace) -> int:
    folder = store.directory()
    found = clear(folder) if options.action == "clear" else cache_usage(folder)
    if options.json:
        print(as_json(as_data(folder, found)))
        return OK
    total = sum(k.size for k in found.values())
    if options.action == "clear":
        print(f"removed {amount(total)} from {folder}")
        return OK
    print(folder)
    for kind, k in found.items():
        print(f"  {kind:16} {k.files:6} files  {amount(k.size):>10}")
    print(f"  {'together':16} {sum(k.files for k in found.values()):6} files  {amount(total):>10}")
    return OK


def cache_usage(folder: Path) -> dict[str, CacheUsage]:
    """The contents of the cache by kind; `other` are files that s2s did not write."""
    return _counted((_kind(path), path) for path in _files(folder))


# By kind of entry: what stands in the names of its files.
_KINDS = {"specialisations": "specialisation_", "parsed functions": "parsed_", "machine code": ""}


def clear(folder: Path) -> dict[str, CacheUsage]:
    """Remove the files that s2s wrote, and nothing else.  Returns their counts and sizes."""

    def removed() -> Iterator[tuple[str, Path]]:
        for path in _files(folder):
            kind = _kind(path)
            if kind != "other":
                yield kind, path
                path.unlink(missing_ok=True)

    return _counted(removed())


def _counted(files: Iterator[tuple[str, Path]]) -> dict[str, CacheUsage]:
    found = {kind: CacheUsage() for kind in (*_KINDS, "other")}
    for kind, path in files:
        try:
            found[kind].size += path.lstat().st_size
        except OSError:  # another process has removed it
            continue
        found[kind].files += 1
    return found


def _kind(path: Path) -> str:
    if not store.is_ours(path):
        return "other"
    return next((kind for kind, name in _KINDS.items() if name in path.name), "machine code")


def _files(folder: Path) -> list[Path]:
    """The files directly in the cache directory.  Subdirectories and the targets of symbolic links
    are not part of the cache."""
    try:
        with os.scandir(folder) as found:
            files = [f for f in found if not f.is_dir(follow_symlinks=False)]
    except OSError:  # the directory does not exist
        return []
    return [Path(f.path) for f in files if f.name != store.MARKER]


def as_data(folder: Path, found: dict[str, CacheUsage]) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "bytes": sum(k.size for k in found.values()),
        "kinds": {kind: {"files": k.files, "bytes": k.size} for kind, k in found.items()},
    }
