#!/bin/sh
# Make the environment of `make stats-bench`: this checkout and the peers, pinned, apart from .venv
# (a peer holds NumPy back). A second call with nothing changed returns at once.
set -eu
cd "$(dirname "$0")/../.."
uv=.venv/bin/uv
venv=.stepwatch/stats-bench-env
stamp=$venv/.made

fingerprint() { cat pyproject.toml tools/constraints-peers.txt tools/stats_bench/environment.sh | cksum; pwd; }

if [ -f "$stamp" ] && [ "$(fingerprint)" = "$(cat "$stamp")" ]; then exit 0; fi
printf 'stats-bench: making %s with the peers\n' "$venv" >&2
mkdir -p .stepwatch
$uv venv --quiet --clear --python .venv/bin/python "$venv"
$uv pip install --quiet --python "$venv/bin/python" -c tools/constraints-peers.txt -e . --group peers
fingerprint >"$stamp"
