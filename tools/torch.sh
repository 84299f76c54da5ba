#!/usr/bin/env bash
# torch.sh DIR: add a CPU build of PyTorch to the environment in DIR, where one is at hand.
#
# With it, and Triton's interpreter, the device engine is tested without a GPU. The build that the
# public index offers brings gigabytes of CUDA libraries, so it is not fetched for that: without a
# wheel among pip's local links those tests are skipped.
set -euo pipefail

pip="$1/bin/python -m pip install --quiet --disable-pip-version-check"
if "$1/bin/python" -c 'import torch, triton' 2>/dev/null; then
    exit 0
fi
if $pip --no-index --no-deps "torch==2.13.0" 2>/dev/null; then
    $pip "setuptools>=77.0.3" filelock fsspec jinja2 networkx sympy typing-extensions triton
else
    echo "No CPU build of PyTorch at hand: the tests of the device engine will be skipped." >&2
fi
