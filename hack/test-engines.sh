#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0

# Evaluates the examples with the engine for CEL of bin/docket-engine-cel beside the classic one of
# bin/docket-controller, and compares the reports with those of one process. Arguments are MODULE@VERSION, of which the
# engine has to be made.
set -euo pipefail
cd "$(dirname "$0")/.."
other=bin/docket-engine-cel
for module; do
	for build in "$other" bin/docket-controller; do
		echo "$build: $(go version -m "$build" | awk -v module="${module%@*}" '$1 == "dep" && $2 == module { print $2, $3 }')"
	done
	go version -m "$other" | awk -v module="${module%@*}" -v version="${module#*@}" '$1 == "dep" && $2 == module && $3 == version { found = 1 } END { exit !found }'
done
# 1 says that something fails, as it should.
reports() {
	local code=0
	bin/docket-controller scan --policy examples/policies --resource examples/app --output yaml "$@" 2> /dev/null || code=$?
	[ "$code" -eq 1 ] || { echo "exit code $code of scan $*" >&2; exit 1; }
}
diff <(reports | grep -v 'seconds:') <(reports --engine "kyverno-classic,kyverno-cel=$other" | grep -v 'seconds:')
echo "The reports are the same."
