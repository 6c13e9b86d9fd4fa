"""Numbers of both the compiled kernels and plain code: here, so that reading one does not load numba."""

from __future__ import annotations

MAD = 1.482602218505602
"""Standard deviation of a normal distribution over its median absolute deviation."""
TAIL_FREEDOM = 4.0
"""Degrees of freedom of the t likelihood that places a change: bounded influence, still sharp near 0."""
