"""Layers that several workloads share, in JAX and in PyTorch, function for function the same mathematics."""
