"""Partial evaluation on types and static objects: syntax in, value-form IR out."""

from .specialiser import NeedStaticArgument, Specialised, specialise

__all__ = ["NeedStaticArgument", "Specialised", "specialise"]
