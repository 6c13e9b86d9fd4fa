"""Workload spin."""
