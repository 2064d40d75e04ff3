#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Makes sure that a command exists: hack/need.sh COMMAND PACKAGE...
# If it does not, the Debian packages are installed where this may do so (root and
# apt-get); elsewhere it says what is missing and fails.

set -euo pipefail

command=$1
shift

if command -v "${command}" >/dev/null; then
	exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "${command} is missing: install it (on Debian or Ubuntu: apt-get install $*)" >&2
	exit 1
fi
echo "${command} is missing: installing $* with apt-get" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o DPkg::Lock::Timeout=300 update >&2
apt-get -q -y -o DPkg::Lock::Timeout=300 --no-install-recommends install "$@" >&2
