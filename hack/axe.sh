#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of axe.min.js, with which tests look for pages that not everybody can use. Where it
# is missing, npm downloads the package axe-core (MPL-2.0) into bin/; it is part of no release.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=4.11.4
sum=97175f79b2bd57adf1d4a55837f574093883bd9eb8096ea66abfafe2f2bdbdb9

script=${PWD}/bin/axe-${version}.min.js
cache=${XDG_CACHE_HOME:-${HOME}/.cache}/docket/testenv
mkdir -p bin "${cache}"
exec 9>"${cache}/axe.lock"
flock 9
if [ ! -e "${script}" ]; then
	if [ "${DOCKET_TOOLS:-}" = ready ]; then
		echo "axe-core is missing; make tools brings it" >&2
		exit 1
	fi
	hack/need.sh npm=nodejs,npm
	work=$(mktemp -d)
	trap 'rm -rf "${work}"' EXIT
	(
		cd "${work}"
		npm pack --silent "axe-core@${version}" >/dev/null
		archive=axe-core-${version}.tgz
		echo "${sum}  ${archive}" | sha256sum --check --quiet >&2
		tar -xzf "${archive}" package/axe.min.js
	)
	mv "${work}/package/axe.min.js" "${script}.new"
	mv "${script}.new" "${script}"
fi
echo "${script}"
