#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds kernels and engine for arm64 and runs their tests under qemu-aarch64, with one thread: libgomp hangs with more there.
# Debian's arm64 packages are fetched and unpacked below build-arm64; the system's own lists and packages stay as they are.
# Usage: scripts/test-arm64.sh    (JOBS=N bounds the build)
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in aarch64-linux-gnu-g++ qemu-aarch64 apt-get; do
  command -v "$tool" >/dev/null || { echo "test-arm64: needs $tool; scripts/install-deps.sh core arm64 installs it" >&2; exit 1; }
done

tree=$PWD/build-arm64
fetch_packages() {
  local apt=$tree/apt
  mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
  : >"$apt/status"
  local options=(-qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o "Dir::State=$apt/state"
                 -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache" -o Debug::NoLocking=true)
  apt-get "${options[@]}" update
  apt-get "${options[@]}" install -d -y --no-install-recommends libhwy-dev libfmt-dev libgtest-dev nlohmann-json3-dev >/dev/null
  # The C and C++ libraries are those of the cross compiler.
  for package in "$apt"/cache/archives/{libhwy,libfmt,libgtest,googletest,nlohmann}*.deb; do
    dpkg-deb -x "$package" "$tree/packages.part"
  done
  mv "$tree/packages.part" "$tree/packages"
}
[[ -d $tree/packages ]] || fetch_packages

cmake --preset arm64
cmake --build --preset arm64 -j "${JOBS:-$(nproc)}"

export OMP_THREAD_LIMIT=1
emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
# One test starts itself again, which only the emulator could do.
"${emulator[@]}" "$tree/test_kernels" --gtest_brief=1 --gtest_filter=-SimdTarget.environment_forces_one_and_a_wrong_name_is_an_error
"${emulator[@]}" "$tree/test_engine" --gtest_brief=1
