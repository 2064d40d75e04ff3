#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Writes the generated Go files under api/: deep copies, OpenAPI definitions and
# their names. Run it after every change of the types there.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

module=github.com/docket-project/docket
apimachinery=k8s.io/apimachinery/pkg
header=hack/boilerplate.go.txt

packages=()
for file in $(grep -rl '^// +k8s:deepcopy-gen=package' api --include=doc.go | LC_ALL=C sort); do
	packages+=("${module}/$(dirname "${file}")")
done

tool() {
	go tool -modfile=go.tools.mod "$@"
}

tool deepcopy-gen \
	--go-header-file "${header}" \
	--output-file zz_generated.deepcopy.go \
	"${packages[@]}"

# The API linter's remarks are about upstream names, which are not ours to change.
tool openapi-gen \
	--go-header-file "${header}" \
	--output-dir api/openapi \
	--output-pkg "${module}/api/openapi" \
	--output-file zz_generated.openapi.go \
	--output-model-name-file zz_generated.model_name.go \
	--readonly-pkg "${apimachinery}/apis/meta/v1" \
	--readonly-pkg "${apimachinery}/runtime" \
	--readonly-pkg "${apimachinery}/version" \
	--report-filename /dev/null \
	"${apimachinery}/apis/meta/v1" \
	"${apimachinery}/runtime" \
	"${apimachinery}/version" \
	"${packages[@]}"
