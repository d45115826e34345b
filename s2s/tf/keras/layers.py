"""`tf.keras.layers`: the layers of `s2s.layers`, with tensors as inputs and results.

Each class `C` here derives from `s2s.layers.C` and from the classes here for its bases.  Thus
`isinstance(Dense(1), Layer)` holds in both namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import layers as native
from ...public_names import listing
from ..variable import Variable

__all__: list[str] = []
__all__ += native.__all__
__all__.remove("activations")  # these are in `tf.keras`
__all__.remove("initializers")
__dir__ = listing(__name__)


class Layer(native.Layer):
    """As `s2s.layers.Layer`, but `call` receives tensors."""

    tensors = True
    variable = Variable


_made: dict[type, type] = {native.Layer: Layer}


def version(cls: type) -> type:
    """The class of this namespace that corresponds to a class of `s2s.layers`."""
    if cls not in _made:
        bases = [version(b) for b in cls.__bases__ if issubclass(b, native.Layer)]
        space = {"__module__": __name__, "__qualname__": cls.__name__, "__doc__": cls.__doc__}
        _made[cls] = type(cls.__name__, (cls, *bases), space)
    return _made[cls]


if TYPE_CHECKING:
    from ...layers import *  # type: ignore[assignment]  # noqa: F403
else:
    Input: Any = native.Input  # never called on data, so it needs no tensor version
    for _name in __all__:
        if _name not in ("Input", "Layer"):
            globals()[_name] = version(getattr(native, _name))
