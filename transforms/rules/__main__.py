"""Prints docs/rules.md to standard output."""

from .docs_table import page

print(page(), end="")
