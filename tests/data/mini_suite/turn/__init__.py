"""Workload turn."""
