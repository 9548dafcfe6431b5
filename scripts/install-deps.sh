#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing; says which, and does nothing when all are there.
# Usage: scripts/install-deps.sh [GROUP...]   groups: core robots torch test package lint sanitize explorer arm64 (default: core robots torch test)
set -euo pipefail

declare -A groups=(
  [core]="build-essential cmake ninja-build ccache git pkg-config libhwy-dev libcli11-dev nlohmann-json3-dev libfmt-dev
          libopencv-core-dev libopencv-imgproc-dev libjpeg-dev libpng-dev libwebp-dev libexif-dev libmd-dev zlib1g-dev
          libtomlplusplus-dev libfreetype-dev fonts-dejavu-core libcpp-httplib-dev"
  [robots]="libchipmunk-dev libblosc-dev libavcodec-dev libavformat-dev libswscale-dev libmujoco-dev libosmesa6-dev
            libhdf5-dev"
  [torch]="libtorch-dev libgloo-dev libopenblas0-openmp libonnx-dev libprotobuf-dev dataset-fashion-mnist"
  [test]="libgtest-dev python3 python3-torch python3-torchvision python3-pip python3-venv iproute2 groff-base zsh fish"
  [package]="dpkg-dev file lintian"
  [lint]="python3 clang-format-14 clang-tidy-14 libomp-14-dev"
  [explorer]="emscripten nlohmann-json3-dev libfmt-dev"
  [sanitize]="clang-14 libclang-rt-14-dev libomp-14-dev"
  [arm64]="g++-aarch64-linux-gnu qemu-user"
)

if [[ ${SKIP_DEPS:-0} == 1 ]]; then exit 0; fi
if ! command -v dpkg-query >/dev/null; then
  echo "install-deps: not a Debian system; install these by hand or set SKIP_DEPS=1: ${groups[*]}" >&2
  exit 1
fi

missing=()
for group in "${@:-core robots torch test}"; do
  for name in $group; do
    for package in ${groups[$name]:?unknown group $name, known: ${!groups[*]}}; do
      state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
      [[ $state == installed ]] || missing+=("$package")
    done
  done
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

echo "installing Debian packages: ${missing[*]}"
as_root=()
if [[ $(id -u) != 0 ]]; then
  command -v sudo >/dev/null || { echo "install-deps: run as root, install sudo, or set SKIP_DEPS=1" >&2; exit 1; }
  as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
