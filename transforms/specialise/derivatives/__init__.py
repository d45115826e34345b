"""Derivatives that the program itself takes."""
