"""Partial evaluation on types and static objects: syntax in, value-form IR out."""

from .specialiser import Specialised, specialise

__all__ = ["Specialised", "specialise"]
