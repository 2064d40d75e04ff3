#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds the engine for CEL with other versions of modules into bin/docket-engine-cel, for --engine kyverno-cel=PATH.
# Each argument is MODULE@VERSION. With another version of Kyverno come the versions of its other modules that fit it.
# go.mod stays as it is.
set -euo pipefail
cd "$(dirname "$0")/../controller"
[ $# -gt 0 ] || { echo "usage: $0 MODULE@VERSION..." >&2; exit 2; }
mkdir -p ../bin
modfile=../bin/engine.mod
cp go.mod "$modfile"
cp go.sum "${modfile%.mod}.sum"
wanted=("$@")
for module; do
	[[ $module == github.com/kyverno/kyverno@* ]] || continue
	theirs=$(go mod download -modfile="$modfile" -json "$module" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
	for name in github.com/kyverno/api github.com/kyverno/sdk; do
		wanted+=("$(awk -v module="$name" '$1 == module { print module "@" $2 }' "$theirs")")
	done
done
go get -modfile="$modfile" "${wanted[@]}"
go build -modfile="$modfile" -o ../bin/docket-engine-cel ./cmd/docket-engine-cel
