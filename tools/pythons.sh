#!/usr/bin/env bash
# pythons.sh ARGUMENTS: run pytest with these arguments under every python3.x (3.11 or later) on PATH,
# each in an environment of its own (.venv-3.x). Fails if one of them fails or if there is none.
set -uo pipefail

tried=0
failed=""
for minor in 11 12 13 14; do
    command -v "python3.$minor" >/dev/null 2>&1 || continue
    tried=$((tried + 1))
    echo "== python3.$minor"
    PYTHON="python3.$minor" tools/venv.sh ".venv-3.$minor" dev &&
        ".venv-3.$minor/bin/python" -m pytest "$@" || failed="$failed 3.$minor"
done
if [ "$tried" = 0 ] || [ -n "$failed" ]; then
    echo "failed under Python:${failed:- (no python3.11 to python3.14 on PATH)}" >&2
    exit 1
fi
echo "passed under $tried version(s) of Python"
