#!/bin/sh
# Build the wheel, install it alone into a fresh environment, and run the fast tests against it: what people
# install must work without the checkout's source root.
set -eu
cd "$(dirname "$0")/.."
out=.stepwatch/wheel
rm -rf "$out"
mkdir -p "$out"
.venv/bin/uv build --quiet --wheel --out-dir "$out" .
.venv/bin/uv venv --quiet --python .venv/bin/python "$out/venv"
.venv/bin/uv pip install --quiet --python "$out/venv/bin/python" -c tools/constraints.txt "$out"/*.whl --group dev
"$out/venv/bin/python" -c "import stepwatch, sys; sys.exit('site-packages' not in stepwatch.__file__)"
"$out/venv/bin/python" -m pytest -q -n 2 --dist loadfile -m "not e2e and not parity" -p no:cacheprovider tests
