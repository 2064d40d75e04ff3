#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The last lines of a test run: the ten slowest tests, then the names of those that failed. gotestsum runs it, and sets
# the variables.

set -euo pipefail

"$(dirname "$0")/../bin/gotestsum" tool slowest --num 10 --jsonfile "${GOTESTSUM_JSONFILE_TIMING_EVENTS}" |
	sed 's/^/slowest: /' || true # What failed is more important.

if ((TESTS_FAILED > 0)); then
	sed -nE 's/.*"Action":"fail","Package":"([^"]*)","Test":"([^"]*)".*/failed: \1 \2/p' \
		"${GOTESTSUM_JSONFILE_TIMING_EVENTS}" | sort -u
fi
