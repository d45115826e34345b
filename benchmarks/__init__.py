"""Benchmarks of gradients and training steps against other libraries: `make bench`."""
