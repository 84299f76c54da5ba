#!/usr/bin/env bash
# browser.sh DIR: what the tests of the laboratory's page need, where it can be had.
#
# Playwright for Python and axe-core, which judges accessibility, go into the environment in DIR; the browser is Debian's chromium, which
# only root can install. Without them those tests are skipped, and nothing here fails.
set -uo pipefail

if ! "$1/bin/python" -c 'import axe_playwright_python, playwright' 2>/dev/null; then
    timeout 300 "$1/bin/python" -m pip install --quiet --disable-pip-version-check \
        "playwright>=1.49" "axe-playwright-python>=0.1.4" 2>/dev/null
fi
if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    (timeout 120 apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
        timeout 300 apt-get install -y -qq --no-install-recommends chromium) >/dev/null 2>&1
fi
if ! command -v chromium >/dev/null || ! "$1/bin/python" -c 'import playwright' 2>/dev/null; then
    echo "No Chromium or no Playwright at hand: the tests of the laboratory's page will be skipped." >&2
fi
exit 0
