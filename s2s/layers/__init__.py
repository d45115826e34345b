"""Layers: objects with weights, whose `call` is plain NumPy.  Names and defaults are Keras's."""

from .base import Layer
from .conv import Conv2D, MaxPool2D, MaxPooling2D
from .dense import Dense
from .flatten import Flatten, Input
from .regular import BatchNormalization, Dropout, LayerNormalization
from .sequence import GRU, LSTM, Embedding, MultiHeadAttention, SimpleRNN

__all__ = [
    "GRU", "LSTM", "BatchNormalization", "Conv2D", "Dense", "Dropout", "Embedding", "Flatten",
    "Input", "Layer",
    "LayerNormalization", "MaxPool2D", "MaxPooling2D", "MultiHeadAttention", "SimpleRNN",
]  # fmt: skip
