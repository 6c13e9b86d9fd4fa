#!/bin/sh
# Make .venv in this checkout and install stepwatch into it, from nothing but git and a Python.
#   tools/bootstrap.sh          what `make demo` needs
#   tools/bootstrap.sh dev      and the test tools (dependency group `dev`)
# A second call with nothing changed returns at once.
set -eu
cd "$(dirname "$0")/.."
group=${1:-}
venv=.venv
stamp=$venv/.bootstrapped-${group:-run}
wanted="3.11 or 3.12"

fingerprint() { cat pyproject.toml tools/constraints.txt tools/bootstrap.sh | cksum; pwd; }

say() { printf 'bootstrap: %s\n' "$*" >&2; }

# An interpreter counts only if it runs: inactive pyenv shims are found on PATH and fail when called.
is_version() { "$1" -c "import sys; raise SystemExit('%d.%d' % sys.version_info[:2] not in '$2'.split())" >/dev/null 2>&1; }

find_python() {
    for version in 3.11 3.12; do
        for candidate in "python$version" python3 python "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/python; do
            if is_version "$candidate" "$version"; then echo "$candidate"; return 0; fi
        done
    done
    return 1
}

# uv, from the index, by any Python that has pip or venv; printed is the path of its binary.
fetch_uv() {
    for candidate in python3 python; do
        "$candidate" -m venv .stepwatch/uv-venv >/dev/null 2>&1 || continue
        .stepwatch/uv-venv/bin/python -m pip install --quiet uv >&2 || continue
        echo .stepwatch/uv-venv/bin/uv
        return 0
    done
    command -v uv
}

make_venv() {
    if python=$(find_python); then
        say "Python: $("$python" --version) ($python)"
        # Debian's python3 without python3-venv has venv but no ensurepip.
        "$python" -m venv "$venv" 2>/dev/null && return 0
        say "this Python cannot make a virtual environment with pip (on Debian: apt install python3-venv); trying uv"
    else
        say "no Python $wanted on PATH or under pyenv; asking uv to fetch one"
    fi
    mkdir -p .stepwatch
    uv=$(fetch_uv) || { say "Python $wanted is missing, and so is a way to fetch it: install one and run this again"; exit 2; }
    "$uv" venv --quiet --seed --python 3.12 "$venv" || "$uv" venv --quiet --seed --python 3.11 "$venv" ||
        { say "Python $wanted is missing and uv could not fetch it: install one and run this again"; exit 2; }
}

if [ -f "$stamp" ] && [ "$(fingerprint)" = "$(cat "$stamp")" ]; then exit 0; fi
if ! [ -x "$venv/bin/python" ] || ! is_version "$venv/bin/python" "3.11 3.12"; then
    rm -rf "$venv"
    make_venv
fi
[ -x "$venv/bin/uv" ] || "$venv/bin/python" -m pip install --quiet -c tools/constraints.txt uv
say "installing stepwatch${group:+ and its $group tools}"
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" -c tools/constraints.txt -e . ${group:+--group "$group"}
rm -f "$venv"/.bootstrapped-*
fingerprint >"$stamp"
# The dev set contains the run set.
[ "$group" = dev ] && cp "$stamp" "$venv/.bootstrapped-run"
exit 0
