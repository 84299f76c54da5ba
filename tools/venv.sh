#!/usr/bin/env bash
# venv.sh DIR EXTRAS: a virtual environment in DIR with this package installed editable.
#
# Looks for Python >= 3.11 that can make environments.  As root on a Debian-like system it installs
# what is missing; anyone else is told what to install, because a makefile should not ask for sudo.
set -euo pipefail

dir=$1
extras=$2

usable() {
    command -v "$1" >/dev/null 2>&1 &&
        "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if usable "$candidate"; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

install_python() {
    echo "No Python >= 3.11 with the venv module found; installing it with apt-get." >&2
    apt-get update -qq >&2
    # Older releases keep a recent Python beside their default one.
    for packages in "python3 python3-venv" "python3.12 python3.12-venv" "python3.11 python3.11-venv"; do
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >&2 || continue
        find_python >/dev/null && return 0
    done
    return 1
}

if ! python=$(find_python); then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && install_python; then
        python=$(find_python)
    else
        echo "Mercer needs Python >= 3.11 with the venv module." >&2
        echo "Install it (Debian, Ubuntu: python3 and python3-venv; Fedora: python3; macOS: brew" >&2
        echo "install python) or name one: make PYTHON=/path/to/python3.12 ..." >&2
        exit 1
    fi
fi

[ -x "$dir/bin/python" ] || "$python" -m venv "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".[$extras]"
