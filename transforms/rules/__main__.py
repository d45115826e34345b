"""Prints the page docs/rules.md."""

from .overview import page

print(page(), end="")
