#!/usr/bin/env bash
# wheel.sh DIR: build the wheel and the sdist with the environment in DIR, check them, install each
# into a fresh environment, and there run a smoke test and the README, outside the source tree.
set -euo pipefail

python=$(cd "$1" && pwd)/bin/python
root=$(pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

rm -rf dist
"$python" -m build --outdir dist .
"$python" -m twine check --strict dist/*

install() {
    "$python" -m venv "$scratch/$1"
    "$scratch/$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"
}

# The sdist, without extras: the core must work alone.
install sdist dist/mercer-*.tar.gz
cd "$scratch"
sdist/bin/python - <<'SMOKE'
import mercer

X = [[0.0], [1.0], [2.0], [3.0]]
model = mercer.KernelRidge("gaussian(1)", alpha=1e-9).fit(X, [0.0, 1.0, 2.0, 3.0])
assert abs(model.predict([[2.0]])[0] - 2.0) < 1e-3
model.save("model.mercer")
assert (mercer.load("model.mercer").predict(X) == model.predict(X)).all()
print("the sdist works:", mercer.__file__)
SMOKE

# What it depends on, with versions and licenses, for those who must keep such a list (CycloneDX).
sdist/bin/python -m pip uninstall --quiet --yes pip
"$python" -m cyclonedx_py environment --output-format JSON --pyproject "$root/pyproject.toml" \
    --output-file "$root/dist/mercer.cdx.json" sdist/bin/python

# The wheel, with what the README needs: its blocks and its commands run as its tests run them.
cd "$root"
install wheel "$(echo dist/mercer-*.whl)[cli,plot]" pytest
mkdir "$scratch/tests"
cp README.md "$scratch"
cp tests/test_readme.py "$scratch/tests"
cd "$scratch"
wheel/bin/python -m pytest --quiet --import-mode=importlib tests/test_readme.py -k "block or commands_run"
wheel/bin/mercer --version
