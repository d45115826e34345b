"""One file per program, with its peers; each has the list ROWS."""

from __future__ import annotations

import importlib
import pkgutil

from ..row import GROUPS, Row


def all_rows() -> list[Row]:
    """All rows, ordered by group."""
    found: list[Row] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").ROWS
    return sorted(found, key=lambda row: GROUPS.index(row.group))


def chosen(selection: str | None) -> list[Row]:
    """The rows whose names begin with one of the given prefixes; all rows without prefixes."""
    everything = all_rows()
    if not selection:
        return everything
    names = [name.strip() for name in selection.split(",") if name.strip()]
    found = [row for row in everything if any(row.name.startswith(name) for name in names)]
    for name in names:
        if not any(row.name.startswith(name) for row in everything):
            known = ", ".join(row.name for row in everything)
            raise SystemExit(f"no row's name begins with {name!r}; there are: {known}")
    return found


def find(name: str) -> Row:
    return next(row for row in all_rows() if row.name == name)
