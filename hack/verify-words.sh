#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Fails where Markdown or comments of Go have words that hack/words.txt has better ones for, or lines of over 120 columns
# (but for tables, code, links and generated files).

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

markdown=('*.md' ':!*/testdata/*' ':!docs/reference/*')
found=0

# hits PATTERN: lines of Markdown and comments that have it. Status 1 of git grep is that there are none, more is an error.
hits() {
	local status=0 comments=0
	git grep --untracked -nwiE "$1" -- "${markdown[@]}" || status=$?
	git grep --untracked -niE "(^|[[:space:]])//.*\b($1)\b" -- '*.go' ':!*/zz_generated*' || comments=$?
	if ((status > 1 || comments > 1)); then exit 2; fi
	((status == 0 || comments == 0))
}

# All at once, since most runs find nothing; then one after the other, to say what is better.
if hits "$(sed -e '/^#/d' -e '/^$/d' -e 's/ => .*//' hack/words.txt | paste -sd'|')" >/dev/null; then
	while IFS= read -r line; do
		case "${line}" in '#'* | '') continue ;; esac
		if hits "${line%% => *}"; then echo "better: ${line##* => }" >&2; fi
	done <hack/words.txt
	found=1
fi

wide=$(git ls-files -z --cached --others --exclude-standard -- '*.go' "${markdown[@]}" | LC_ALL=C xargs -0 awk '
	FNR == 1 { fence = 0; generated = 0; markdown = FILENAME ~ /\.md$/ }
	/^\/\/ Code generated .* DO NOT EDIT\.$/ { generated = 1 }
	markdown && /^ *```/ { fence = !fence }
	length($0) <= 120 || generated || fence { next }
	{ line = $0; gsub(/[\200-\277]/, "", line) } # Bytes of a character but its first.
	length(line) <= 120 { next }
	markdown && (/^ *\|/ || /^    / || /^\t/ || /^ *(- |[0-9]+\. )?[^ ]*\]\([^ ]*\)[^ ]*$/ || /^ *<!--/ || /^ *!\[/) { next }
	markdown || (/^\t*\/\/ / && !/:\/\//) { print FILENAME ":" FNR ": " length(line) " columns" }')
if [ -n "${wide}" ]; then
	echo "${wide}" >&2
	echo "better: lines of at most 120 columns" >&2
	found=1
fi
exit "${found}"
