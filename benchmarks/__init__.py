"""Gradients and training steps of s2s beside those of its peers: `make bench`."""
