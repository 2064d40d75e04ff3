#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Makes sure that commands exist, or libraries of the system's Python:
#   hack/need.sh COMMAND[|COMMAND...]=PACKAGE[,PACKAGE...]...
#   hack/need.sh python:LIBRARY=PACKAGE[,PACKAGE...]
# Of several commands one is enough. The Debian packages of what is missing are installed where this may
# do so (root and apt-get); elsewhere it says what is missing and fails. So it does with DOCKET_TOOLS=ready, which
# says that make tools has run: nothing is installed in the middle of a test.

set -euo pipefail

found() {
	local command
	case $1 in
	python:*) /usr/bin/python3 -c "import ${1#python:}" 2>/dev/null ;;
	*)
		for command in ${1//|/ }; do
			if command -v "${command}" >/dev/null; then return 0; fi
		done
		return 1
		;;
	esac
}

# look sets missing and packages.
look() {
	missing='' packages=()
	local need
	for need; do
		if ! found "${need%%=*}"; then
			missing+="${missing:+, }${need%%=*}"
			IFS=, read -ra more <<<"${need#*=}"
			packages+=("${more[@]}")
		fi
	done
}

look "$@"
if [ -z "${missing}" ]; then
	exit 0
fi
if [ "${DOCKET_TOOLS:-}" = ready ]; then
	echo "missing: ${missing}; make tools brings what make test needs, make tools-all what make test-all needs" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	echo "missing: ${missing}; this installs packages only as root with apt-get (on Debian or Ubuntu: apt-get install ${packages[*]})" >&2
	exit 1
fi
# Tests run side by side, and apt-get update waits for nobody.
cache=${XDG_CACHE_HOME:-${HOME}/.cache}/docket/testenv
mkdir -p "${cache}"
exec 9>"${cache}/apt.lock"
flock 9
look "$@"
if [ -z "${missing}" ]; then
	exit 0
fi
echo "missing: ${missing}; installing ${packages[*]} with apt-get" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "${log}"' EXIT
apt() {
	if ! apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" >"${log}" 2>&1; then
		cat "${log}" >&2
		return 1
	fi
}
apt update
apt --no-install-recommends install "${packages[@]}"
