#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Makes sure that a command exists, or a library of the system's Python:
#   hack/need.sh COMMAND PACKAGE...
#   hack/need.sh --python LIBRARY PACKAGE...
# If it does not, the Debian packages are installed where this may do so (root and
# apt-get); elsewhere it says what is missing and fails.

set -euo pipefail

if [ "$1" = --python ]; then
	what="$2 for Python"
	shift
	found() { /usr/bin/python3 -c "import $1" 2>/dev/null; }
else
	what=$1
	found() { command -v "$1" >/dev/null; }
fi
wanted=$1
if found "${wanted}"; then
	exit 0
fi
shift

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "${what} is missing: install it (on Debian or Ubuntu: apt-get install $*)" >&2
	exit 1
fi
# Tests run side by side, and apt-get update waits for nobody. internal/testenv takes the same lock.
cache=${XDG_CACHE_HOME:-${HOME}/.cache}/docket/testenv
mkdir -p "${cache}"
exec 9>"${cache}/apt.lock"
flock 9
if found "${wanted}"; then
	exit 0
fi
echo "${what} is missing: installing $* with apt-get" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o DPkg::Lock::Timeout=300 update >&2
apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "$@" >&2
