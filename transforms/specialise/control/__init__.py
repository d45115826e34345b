"""Branches and loops: their paths, and what is merged where paths meet."""
