"""Expressions and statements of core syntax."""
