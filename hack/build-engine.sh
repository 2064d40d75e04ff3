#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0

# Builds docket-controller with another version of Kyverno, and of the two modules that have to fit it, into
# bin/docket-controller-kyverno-VERSION. go.mod stays as it is.
set -euo pipefail
cd "$(dirname "$0")/../controller"
version=${1:?give the version of Kyverno, such as v1.19.0}
mkdir -p ../bin
modfile=../bin/engine-$version.mod
cp go.mod "$modfile"
cp go.sum "${modfile%.mod}.sum"
theirs=$(go mod download -modfile="$modfile" -json "github.com/kyverno/kyverno@$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
wanted() { awk -v module="github.com/kyverno/$1" '$1 == module { print module "@" $2 }' "$theirs"; }
go get -modfile="$modfile" "github.com/kyverno/kyverno@$version" "$(wanted api)" "$(wanted sdk)"
go build -modfile="$modfile" -o "../bin/docket-controller-kyverno-$version" ./cmd/docket-controller
