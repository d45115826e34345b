"""Prints docs/rules.md to standard output."""

from .docs_table import render_page

print(render_page(), end="")
