#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0

# Evaluates the examples with an engine for CEL of another version of Kyverno beside the classic one of go.mod, and
# compares the reports with those of one process.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?give the version of Kyverno, such as v1.19.0}
other=bin/docket-controller-kyverno-$version
"$other" version | grep -F "engine of Kyverno $version,"
# 1 says that something fails, as it should.
reports() {
	local code=0
	bin/docket-controller scan --policy examples/policies --resource examples/app --output yaml "$@" 2> /dev/null || code=$?
	[ "$code" -eq 1 ] || { echo "exit code $code of scan $*" >&2; exit 1; }
}
diff <(reports | grep -v 'seconds:') <(reports --engine "kyverno-classic,kyverno-cel=$other" | grep -v 'seconds:')
echo "The reports are the same with the CEL engine of Kyverno $version."
