#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries the last commit on a clean Debian system, made with debootstrap and thrown away afterwards; says how long packages,
# build and run took. The bare system is kept as an archive, so that a second try begins at once.
# Usage: scripts/try-on.sh SUITE [MAKE TARGET...]     as root, e.g. scripts/try-on.sh trixie demo test (default: demo)
#   TRY_DIR  where systems are made and kept (default /var/tmp/fibottention-try; about 6 GB while a try runs)
#   MIRROR   a Debian archive (default: the one this system's apt uses)
#   JOBS     bounds the build, as for make
set -euo pipefail
cd "$(dirname "$0")/.."

die() { echo "try-on: $*" >&2; exit 1; }

suite=${1:-}
[[ $suite =~ ^[a-z]+$ ]] || die "which suite? e.g. scripts/try-on.sh trixie demo test"
shift
targets=("${@:-demo}")
for target in "${targets[@]}"; do
  [[ $target =~ ^[a-z-]+$ ]] || die "'$target' is no target of make"
done
[[ $(id -u) == 0 ]] || die "needs root, for debootstrap and chroot"
command -v debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap"

dir=${TRY_DIR:-/var/tmp/fibottention-try}
mkdir -p "$dir"
root=$(mktemp -d "$dir/$suite.XXXXXX")
child=
# Mounts live in the name space of the try and end with it, so that nothing of this system is below $root any more.
clean_up() {
  [[ -z $child ]] || { kill -KILL "$child" 2>/dev/null && wait "$child" 2>/dev/null; } || true
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

mirror_of_apt() {
  local release
  release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Release: $release" 2>/dev/null | head -n 1
}

# Git and make are what anyone needs to come as far as `make demo`.
make_base() {
  local mirror=${MIRROR:-$(mirror_of_apt)}
  [[ -n $mirror ]] || die "apt names no archive here: set MIRROR"
  echo "== making a bare $suite"
  debootstrap --variant=minbase --include=ca-certificates,git,make "$suite" "$root" "$mirror" >"$dir/$suite.log" ||
    die "debootstrap failed, see $dir/$suite.log"
  tar -C "$root" -cf "$dir/$suite.part" .
  mv "$dir/$suite.part" "$dir/$suite.tar"
}

# Each step goes on where the one before it ended, so its time is its own.
steps_of() {
  case $1 in
    demo) echo deps-demo build-demo demo ;;
    test) echo deps build test ;;
    *) echo "$1" ;;
  esac
}

# ROOT COMMAND...: in the system, with name spaces of its own.
inside() {
  unshare --mount --pid --fork --kill-child bash -euc '
    mount -t proc proc "$1/proc"
    mount -t sysfs sysfs "$1/sys"
    mount --rbind /dev "$1/dev"
    root=$1
    shift
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} "$@"
  ' inside "$@" &
  child=$!
  local status=0
  wait "$child" || status=$?
  child=
  return "$status"
}

if [[ -e $dir/$suite.tar ]]; then tar -C "$root" -xf "$dir/$suite.tar"; else make_base; fi
cp --dereference /etc/resolv.conf "$root/etc/resolv.conf"
git clone --quiet . "$root/root/fibottention"

declare -a times
for target in "${targets[@]}"; do
  for step in $(steps_of "$target"); do
    began=$SECONDS
    echo "== $suite: make $step"
    inside "$root" make -C /root/fibottention "$step" ${JOBS:+JOBS="$JOBS"} || die "make $step failed on $suite"
    times+=("$(printf '%4d s  make %s' $((SECONDS - began)) "$step")")
  done
done
printf '%s\n' "== $suite, $(nproc) cores" "${times[@]}"
