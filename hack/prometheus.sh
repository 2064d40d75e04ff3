#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of a program of Prometheus: promtool, or prometheus. Where it is missing, it is
# taken out of Debian's package prometheus into bin/; nothing is installed, so that no Prometheus
# starts.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

name=${1:?promtool or prometheus}
if command -v "${name}"; then
	exit 0
fi
tool=${PWD}/bin/${name}
mkdir -p bin
# Tests run side by side, and apt-get waits for no lock on its lists.
cache=${XDG_CACHE_HOME:-${HOME}/.cache}/docket/testenv
mkdir -p "${cache}"
exec 9>"${cache}/apt.lock"
flock 9
if [ ! -x "${tool}" ]; then
	if [ "${DOCKET_TOOLS:-}" = ready ]; then
		echo "${name} is missing; make tools brings it" >&2
		exit 1
	fi
	for command in apt-get dpkg-deb; do
		if ! command -v "${command}" >/dev/null; then
			echo "${name} is missing, and so is ${command} to get it: put ${name} of a Prometheus release into PATH" >&2
			exit 1
		fi
	done
	echo "${name} is missing: taking it out of the package prometheus" >&2
	work=$(mktemp -d)
	trap 'rm -rf "${work}"' EXIT
	(
		cd "${work}"
		if ! apt-get -qq download prometheus 2>/dev/null; then
			apt-get -qq update >&2
			apt-get -qq download prometheus >&2
		fi
		dpkg-deb -x prometheus_*.deb .
	)
	mv "${work}/usr/bin/${name}" "${tool}.new"
	mv "${tool}.new" "${tool}"
fi
echo "${tool}"
