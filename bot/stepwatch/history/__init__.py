"""Reading what was measured: session sidecars and asv result files. Nothing here writes."""
