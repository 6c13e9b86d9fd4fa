"""What is known about the releases of each track: discovered, ordered, locked, named.

The package index is asked only by `sync`; everything else reads the committed tables
(`suites/releases/<package>.jsonl`) and locks (`suites/locks/<accelerator>/<package>-<version>.txt`).
"""
