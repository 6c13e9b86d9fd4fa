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

# What an earlier call, perhaps an interrupted one, left: good only with a way to install into it.
is_usable() {
    is_version "$venv/bin/python" "3.11 3.12" || return 1
    [ -x "$venv/bin/uv" ] || "$venv/bin/python" -m pip --version >/dev/null 2>&1
}

# uv, from the index, by any Python that has venv or pip; printed is the path of its binary.
fetch_uv() {
    for candidate in python3.11 python3.12 python3 python; do
        "$candidate" -c "" >/dev/null 2>&1 || continue
        if "$candidate" -m venv --clear .stepwatch/uv-venv >/dev/null 2>&1 &&
            .stepwatch/uv-venv/bin/python -m pip install --quiet uv >&2; then
            echo .stepwatch/uv-venv/bin/uv && return 0
        fi
        if "$candidate" -m pip install --quiet --target .stepwatch/uv-target uv >&2 2>/dev/null; then
            echo .stepwatch/uv-target/bin/uv && return 0
        fi
    done
    command -v uv
}

make_venv() {
    python=$(find_python) || python=
    if [ -n "$python" ]; then
        say "Python: $("$python" --version) ($python)"
        "$python" -m venv "$venv" >/dev/null 2>&1 && return 0
        # Debian's python3 without python3-venv has venv but no ensurepip, and leaves half a folder behind.
        say "this Python cannot make a virtual environment (on Debian: apt install python3-venv); trying uv"
    else
        say "no Python $wanted on PATH or under pyenv; asking uv to fetch one"
    fi
    rm -rf "$venv"
    mkdir -p .stepwatch
    uv=$(fetch_uv) || {
        say "neither a Python $wanted with venv nor uv is here: install one of them and run this again"
        exit 2
    }
    for wish in ${python:-3.12 3.11}; do
        "$uv" venv --quiet --clear --python "$wish" "$venv" &&
            "$uv" pip install --quiet --python "$venv/bin/python" -c tools/constraints.txt uv && return 0
    done
    rm -rf "$venv"
    say "Python $wanted is missing and uv could not fetch it: install one and run this again"
    exit 2
}

if [ -f "$stamp" ] && [ "$(fingerprint)" = "$(cat "$stamp")" ]; then exit 0; fi
if ! is_usable; then
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
