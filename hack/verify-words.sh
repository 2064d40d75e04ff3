#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Fails where Markdown or comments of Go have words that hack/words.txt has better ones for.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

found=0
while IFS= read -r line; do
	case "${line}" in '#'* | '') continue ;; esac
	words=${line%% => *}
	# Status 1 of git grep is that there are none, more is an error.
	status=0
	git grep --untracked -nwiE "${words}" -- '*.md' ':!*/testdata/*' ':!docs/reference/*' || status=$?
	comments=0
	git grep --untracked -niE "(^|[[:space:]])//.*\b(${words})\b" -- '*.go' || comments=$?
	if ((status > 1 || comments > 1)); then
		exit 2
	fi
	if ((status == 0 || comments == 0)); then
		echo "better: ${line##* => }" >&2
		found=1
	fi
done <hack/words.txt
exit "${found}"
