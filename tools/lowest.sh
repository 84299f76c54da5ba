#!/usr/bin/env bash
# lowest.sh DIR EXTRAS: an environment in DIR with the lowest version of every dependency that
# pyproject.toml allows, and this package installed editable. Takes Python 3.11 where it is on PATH,
# because the oldest versions have no wheels for later ones.
set -euo pipefail

for candidate in ${PYTHON:-} python3.11 python3; do
    command -v "$candidate" >/dev/null 2>&1 && break
done
[ -x "$1/bin/python" ] || "$candidate" -m venv "$1"
pip="$1/bin/python -m pip install --quiet --disable-pip-version-check"
"$1/bin/python" tools/lowest.py "$2" >"$1/lowest.txt"
$pip --only-binary :all: --requirement "$1/lowest.txt"
$pip --no-deps --editable .
