"""Checks of docs/design and of the shape of the tree."""
