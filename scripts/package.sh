#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian package of what lies built in build/, and beside it its SBOM (SPDX 2.3). The same build gives the same bytes
# whenever it is packed: every date is that of the commit.
# Usage: scripts/package.sh [BUILD_FOLDER=build]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH
cmake "$build" >/dev/null # the package's changelog takes its date from there
rm -f "$build"/fibottention_*.deb
(cd "$build" && cpack -G DEB)
package=$(echo "$build"/fibottention_*.deb)

# CPack's archives hold the dates at which it copied the files; dpkg-deb's hold none later than the commit's.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dpkg-deb --raw-extract "$package" "$work/tree"
find "$work/tree" -exec touch --no-dereference --date=@"$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$work/tree" "$package" >/dev/null

python3 scripts/sbom.py "$package" "${package%.deb}.spdx.json"
lintian --fail-on error "$package"
sha256sum "$package" "${package%.deb}.spdx.json"
