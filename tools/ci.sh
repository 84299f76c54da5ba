#!/usr/bin/env bash
# ci.sh [TARGETS]: what the public workflows run, in a fresh clone of the last commit and in fresh
# environments without PyTorch: every target of `make` below, or only those that are named.
set -uo pipefail

targets=${*:-lint test-pythons test-lowest test-no-numba test-cluster docs wheel test-types test-workflows test-peers}
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT

git clone --quiet . "$clone" && cd "$clone" || exit 1
failed=""
for target in $targets; do
    echo "== make $target"
    env -u PYTHONPATH make "$target" WORKERS="${WORKERS:-2}" PYTEST_ARGS="${PYTEST_ARGS:-}" || failed="$failed $target"
done
if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    exit 1
fi
echo "passed: $targets"
