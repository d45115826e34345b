"""`s2s cache`: what compiled code is kept on disk."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import cache
from ..compile import OBJECTS, PREFIX
from ..explain_text import amount
from .exits import OK
from .scripts import as_json


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("info", "clear"), help="tell, or throw away")
    parser.add_argument("--json", action="store_true", help="for scripts")
    parser.set_defaults(run=run)


@dataclass
class Kept:
    """Files of the cache of one kind."""

    files: int = 0
    size: int = 0


def run(options: argparse.Namespace) -> int:
    folder = cache.directory()
    found = kept(folder)
    if options.action == "clear":
        clear(folder)
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


def kept(folder: Path) -> dict[str, Kept]:
    """What lies in the cache, by kind."""
    found = {kind: Kept() for kind in ("specialisations", "sources", "machine code", "other")}
    for path in _files(folder):
        entry = found[_kind(path)]
        try:
            entry.size += path.stat().st_size
        except OSError:  # another process has removed it
            continue
        entry.files += 1
    return found


def _kind(path: Path) -> str:
    if path.name.startswith("specialisation_"):
        return "specialisations"
    if path.suffix in (".nbi", ".nbc") or path.name.startswith(OBJECTS):
        return "machine code"
    return "sources" if path.name.startswith(PREFIX) and path.suffix == ".py" else "other"


def _files(folder: Path) -> Iterator[Path]:
    for base, _, names in os.walk(folder):
        yield from (Path(base, name) for name in names)


def clear(folder: Path) -> None:
    """Removes what s2s has put there, and nothing else: the folder may have been chosen badly."""
    for path in list(_files(folder)):
        if path.name.startswith((PREFIX, *OBJECTS, "specialisation_", ".new-")):
            path.unlink(missing_ok=True)


def as_data(folder: Path, found: dict[str, Kept]) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "bytes": sum(k.size for k in found.values()),
        "kinds": {kind: {"files": k.files, "bytes": k.size} for kind, k in found.items()},
    }
