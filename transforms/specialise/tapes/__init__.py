"""Gradient tapes in the program."""
