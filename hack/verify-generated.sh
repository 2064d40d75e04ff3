#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Fails when a generated file is not what hack/generate.sh makes of its sources.
# Generates in a copy, so that the work tree stays as it is.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# In the same folder each time, so that only what has changed is compiled again.
copy=${PWD}/bin/generated
rm -rf "${copy}"
mkdir -p "${copy}"
trap 'rm -rf "${copy}"' EXIT

# Files that Git knows or would add, and that exist.
git ls-files -z --cached --others --exclude-standard |
	while IFS= read -r -d '' file; do
		if [ -e "${file}" ]; then printf '%s\0' "${file}"; fi
	done |
	tar --null --files-from=- --create --file=- |
	tar --extract --directory="${copy}" --file=-

"${copy}/hack/generate.sh"

# What is only here was not copied, so that it is not of interest.
differences=$(diff --recursive --unified "${copy}" . | grep -v '^Only in \.' || true)
if [ -n "${differences}" ]; then
	echo "${differences}" | head -n 60
	echo "generated files are out of date: run make generate" >&2
	exit 1
fi
