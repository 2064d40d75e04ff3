#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Writes the generated files: under api/ deep copies, and the OpenAPI models of results, to be run after every
# change of the types there; under internal/plane/core/openapi the OpenAPI models of Kubernetes' types,
# to be run after every change of the version of k8s.io/api. And the page
# docs/reference/conformance-checks.md, to be run after every change of the checks of `docket
# conformance`, and the table of programs in docs/produce/producers.md. Running it twice changes
# nothing.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

module=github.com/docket-project/docket
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

# The OpenAPI models of the group that has kinds of our own. The API linter's remarks are about Kubernetes' types.
tool openapi-gen \
	--go-header-file "${header}" \
	--output-dir internal/results/resultsapi \
	--output-pkg "${module}/internal/results/resultsapi" \
	--output-file zz_generated.openapi.go \
	--output-model-name-file zz_generated.model_name.go \
	--report-filename /dev/null \
	--readonly-pkg k8s.io/apimachinery/pkg/apis/meta/v1 \
	"${module}/api/results/v1alpha1"

# The OpenAPI models of the groups of the small core API and of what their types refer
# to. openapi-gen writes Go, in a folder that is removed at the end; generate.go makes the
# embedded document of it. Names of Kubernetes' types are there already, and the module
# cache can't be written. The API linter's remarks are about upstream names, which are
# not ours to change.
models=internal/plane/core/openapi
trap 'rm -rf "${models}/generated"' EXIT
inputs=()
for package in \
	k8s.io/api/admissionregistration/v1 \
	k8s.io/api/apps/v1 \
	k8s.io/api/authentication/v1 \
	k8s.io/api/authorization/v1 \
	k8s.io/api/batch/v1 \
	k8s.io/api/coordination/v1 \
	k8s.io/api/core/v1 \
	k8s.io/api/discovery/v1 \
	k8s.io/api/flowcontrol/v1 \
	k8s.io/api/networking/v1 \
	k8s.io/api/policy/v1 \
	k8s.io/api/rbac/v1 \
	k8s.io/apimachinery/pkg/api/resource \
	k8s.io/apimachinery/pkg/apis/meta/v1 \
	k8s.io/apimachinery/pkg/runtime \
	k8s.io/apimachinery/pkg/util/intstr; do
	inputs+=(--readonly-pkg "${package}" "${package}")
done
tool openapi-gen \
	--go-header-file "${header}" \
	--output-dir "${models}/generated" \
	--output-pkg "${module}/${models}/generated" \
	--output-file zz_generated.openapi.go \
	--output-model-name-file zz_generated.model_name.go \
	--report-filename /dev/null \
	"${inputs[@]}"
document=$(go run "${models}/generate.go")
printf '%s\n' "${document}" >"${models}/models.json"

# Not into the file at once: it stays as it is if the command fails.
page=$(go run ./cmd/docket conformance list --output markdown)
printf '%s\n' "${page}" >docs/reference/conformance-checks.md

# From what tests wrote into docs/produce/producers.
go run ./internal/tools/producertable
