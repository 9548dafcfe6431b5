#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The explorer in Chromium, driven by puppeteer-core: every control, no complaint on the console, figures equal to `fib pattern`.
# Usage: scripts/test-explorer.sh
#   FIB=build/fib              the program to compare with
#   PUPPETEER=DIR              a folder of puppeteer-core; without it one is fetched into build/explorer
#   SHOTS=DIR                  also writes the page's image at 1280 and 390 pixels, light and dark
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "test-explorer: skipped, $1"; exit 0; }
command -v node >/dev/null || skip "node is missing (Debian's nodejs)"
chromium=$(command -v chromium || command -v google-chrome) || skip "there is no browser (Debian's chromium)"
export CHROMIUM=$chromium FIB=$(realpath "${FIB:-build/fib}") PAGE=$PWD/docs/explorer/index.html
[[ -x $FIB ]] || { echo "test-explorer: $FIB is not built" >&2; exit 1; }

export PUPPETEER=${PUPPETEER:-$PWD/build/explorer/node_modules/puppeteer-core}
if [[ ! -d $PUPPETEER ]]; then
  command -v npm >/dev/null || skip "npm is missing, which would fetch puppeteer-core"
  mkdir -p build/explorer
  # Scripts of packages are not run.
  npm install --prefix build/explorer --ignore-scripts --no-audit --no-fund --loglevel=error puppeteer-core >/dev/null ||
    skip "puppeteer-core could not be fetched"
fi
scripts/build-explorer.sh --check
size=$(wc -c <"$PAGE")
((size <= 1000000)) || { echo "test-explorer: the page has $size bytes, more than a million" >&2; exit 1; }
node tests/explorer/page_test.js
