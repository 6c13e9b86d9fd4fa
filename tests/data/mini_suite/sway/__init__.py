"""Workload sway."""
