#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The last lines of a test run that failed: the names of the tests. gotestsum runs it, and sets the variables.

set -euo pipefail

if ((TESTS_FAILED > 0)); then
	sed -nE 's/.*"Action":"fail","Package":"([^"]*)","Test":"([^"]*)".*/failed: \1 \2/p' \
		"${GOTESTSUM_JSONFILE_TIMING_EVENTS}" | sort -u
fi
