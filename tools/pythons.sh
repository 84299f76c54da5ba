#!/usr/bin/env bash
# pythons.sh ARGUMENTS: run pytest with these arguments under every Python from 3.11 on, of PATH and of
# pyenv, each in an environment of its own (.venv-3.x). Fails if one of them fails or if there is none.
set -uo pipefail

for folder in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin; do
    PATH=$PATH:$folder
done

tried=0
failed=""
for minor in 11 12 13 14 15; do
    # A name on PATH need not run: pyenv has one for each version that any of its folders knows.
    for python in $(type -ap "python3.$minor"); do
        "$python" -c "import ensurepip, venv" 2>/dev/null || continue
        tried=$((tried + 1))
        echo "== $("$python" --version)"
        PYTHON=$python tools/venv.sh ".venv-3.$minor" dev &&
            ".venv-3.$minor/bin/python" -m pytest "$@" || failed="$failed 3.$minor"
        break
    done
done
if [ "$tried" = 0 ] || [ -n "$failed" ]; then
    echo "failed under Python:${failed:- (no python3.11 or later on PATH)}" >&2
    exit 1
fi
echo "passed under $tried version(s) of Python"
