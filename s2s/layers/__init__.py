"""Neural-network layers: objects with weights, whose `call` is plain NumPy.

Names and defaults are those of Keras.  Start reading in `base.py` (`Layer`: weights, sublayers,
lazy building, calling), then `linear_base.py` and `dense.py`.  `activations.py` and
`initializers.py` are looked up by name; `symbolic_input.py` records layers called on an `Input`;
`training_mode.py` propagates the `training` flag.  The other files define layers by kind.

User programs call this code inside compiled functions, so s2s compiles it: statements and local
names here appear in generated code.  This folder may import `s2s.api`, `s2s.objects`,
`s2s.mixed_precision` and `s2s.runtime`, but not `s2s.models`, `s2s.losses` or `s2s.tf`.
"""

from ..public_names import listing
from . import activations, initializers
from .base import Layer
from .conv import Conv1D, Conv2D, Conv2DTranspose
from .dense import Dense
from .depthwise import DepthwiseConv2D, SeparableConv2D
from .elementwise import ELU, Activation, Lambda, LeakyReLU, ReLU, Rescaling, Softmax
from .flatten import Flatten, Input
from .merge import Add, Average, Concatenate, Maximum, Minimum, Multiply, Subtract
from .pooling import (
    AveragePooling1D,
    AveragePooling2D,
    AvgPool1D,
    AvgPool2D,
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    MaxPool1D,
    MaxPool2D,
    MaxPooling1D,
    MaxPooling2D,
)
from .regularization import BatchNormalization, Dropout, GaussianNoise, LayerNormalization
from .reshape import Permute, RepeatVector, Reshape, UpSampling1D, UpSampling2D, ZeroPadding2D
from .sequence import GRU, LSTM, Embedding, MultiHeadAttention, SimpleRNN
from .wrappers import Bidirectional, TimeDistributed

__all__ = [
    "ELU", "GRU", "LSTM", "Activation", "Add", "Average", "AveragePooling1D", "AveragePooling2D",
    "AvgPool1D", "AvgPool2D", "BatchNormalization", "Bidirectional", "Concatenate", "Conv1D",
    "Conv2D", "Conv2DTranspose", "Dense", "DepthwiseConv2D", "Dropout", "Embedding", "Flatten",
    "GaussianNoise", "GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalMaxPooling1D",
    "GlobalMaxPooling2D", "Input", "Lambda", "Layer", "LayerNormalization", "LeakyReLU",
    "MaxPool1D", "MaxPool2D", "MaxPooling1D", "MaxPooling2D", "Maximum", "Minimum",
    "MultiHeadAttention", "Multiply", "Permute", "ReLU", "RepeatVector", "Rescaling", "Reshape",
    "SeparableConv2D", "SimpleRNN", "Softmax", "Subtract", "TimeDistributed", "UpSampling1D",
    "UpSampling2D", "ZeroPadding2D", "activations", "initializers",
]  # fmt: skip
__dir__ = listing(__name__)
