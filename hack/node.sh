#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of the program of test/e2e/programs/node, in a folder in which npm has installed the library that it
# drives: Kubernetes' client for Node.js.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${PWD}/bin/node
mkdir -p "${folder}"
exec 9>bin/.node.lock
flock 9
cp test/e2e/programs/node/{package.json,package-lock.json,reports.js} "${folder}/"
if ! cmp --silent "${folder}/package-lock.json" "${folder}/.installed"; then
	if [ "${DOCKET_TOOLS:-}" = ready ]; then
		echo "the client for Node.js is missing; make tools-all brings it" >&2
		exit 1
	fi
	hack/need.sh npm=nodejs,npm
	echo "installing the client for Node.js" >&2
	npm --prefix "${folder}" ci --no-audit --no-fund --ignore-scripts >&2
	cp "${folder}/package-lock.json" "${folder}/.installed"
fi
echo "${folder}/reports.js"
