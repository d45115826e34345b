"""Prints the page docs/rules.md."""

from .docs_table import page

print(page(), end="")
