"""Models: `Model` and `Sequential`, layers that are made of layers (`model.py`).

A model is an ordinary object with sublayers in its attributes; `call` is plain NumPy.  This folder
may import `s2s.layers` and `s2s.objects`.
"""

from .model import Model, Sequential

__all__ = ["Model", "Sequential"]
