"""`tf.nn`: activations."""

from ..layers.activations import relu, sigmoid, softmax, softplus, tanh

__all__ = ["relu", "sigmoid", "softmax", "softplus", "tanh"]
