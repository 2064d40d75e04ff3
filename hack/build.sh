#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds programs that tests start into bin/, and prints their paths:
#   hack/build.sh NAME...
# All with the same flags, so that what they share is built once, and none with the race detector. Programs of others
# are built again only after a change of what they are built from. With DOCKET_TOOLS=ready, which says that make tools
# has run, nothing is built in the middle of a test.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=${PWD}
export GOWORK=off CGO_ENABLED=0 GOFLAGS="-mod=readonly -buildvcs=false"

mkdir -p bin
exec 9>bin/.build.lock

# ours MODULE PACKAGE [FLAG...] builds what this work tree has.
ours() {
	local module=$1 package=$2
	shift 2
	# Its time stays if it does: it tells tests in go's cache whether they ran with this one.
	if [ -e "${program}" ]; then cp -p "${program}" "${program}.before"; fi
	go build -C "${module}" -o "${program}" "$@" "${package}"
	if cmp -s "${program}" "${program}.before"; then touch -r "${program}.before" "${program}"; fi
	rm -f "${program}.before"
}

# theirs MODFILE PACKAGE [FLAG...] builds a program of another module at the version of a file of ours.
theirs() {
	local modfile=$1 package=$2
	shift 2
	if [ "${program}" -nt "${modfile}" ] && [ "${program}" -nt hack/build.sh ]; then return; fi
	echo "building ${name}" >&2
	go build -C "$(dirname "${modfile}")" -modfile="$(basename "${modfile}")" -o "${program}" "$@" "${package}"
	touch "${program}" # The linker leaves what would be the same.
}

# The version of Kubernetes that tests run on, unless DOCKET_KUBERNETES names another (test/e2e/go.kubernetes-*.mod).
kubernetes=1.36

# of_kubernetes MINOR PROGRAM. These programs compare their versions with each other's, so they have to know their own.
of_kubernetes() {
	local modfile=test/e2e/go.kubernetes-$1.mod version minor=${1#1.} package=k8s.io/component-base/version
	version=$(sed -nE 's|.*k8s\.io/kubernetes (v1\.[0-9.]+).*|\1|p' "${modfile}")
	theirs "${modfile}" "k8s.io/kubernetes/cmd/$2" \
		-ldflags "-X ${package}.gitVersion=${version} -X ${package}.gitMajor=1 -X ${package}.gitMinor=${minor}"
}

build() {
	case ${name} in
	docket) ours . ./cmd/docket ;;
	docket-next) ours . ./cmd/docket -tags docket_next ;; # Plays the next release.
	load | fill) ours . "./test/${name}" ;;
	docket-controller) ours controller ./cmd/docket-controller ;;
	helm) theirs hack/helm/go.mod helm.sh/helm/v4/cmd/helm ;;
	kustomize) theirs hack/helm/go.mod sigs.k8s.io/kustomize/kustomize/v5 ;;
	etcd) theirs test/e2e/go.mod go.etcd.io/etcd/server/v3 ;;
	kine) theirs test/e2e/go.mod github.com/k3s-io/kine ;;
	kubectl | kube-apiserver | kube-controller-manager) of_kubernetes "${kubernetes}" "${name}" ;;
	kubectl-1.* | kube-apiserver-1.* | kube-controller-manager-1.*) of_kubernetes "${name##*-}" "${name%-1.*}" ;;
	sample-apiserver) theirs test/e2e/go.mod k8s.io/sample-apiserver ;;
	metrics-server) theirs test/e2e/go.extensions.mod sigs.k8s.io/metrics-server/cmd/metrics-server ;;
	kyverno-reports-controller | kyverno-background-controller) theirs test/e2e/go.kyverno.mod "github.com/kyverno/kyverno/cmd/${name#kyverno-}" ;;
	kyverno-admission-controller) theirs test/e2e/go.kyverno.mod github.com/kyverno/kyverno/cmd/kyverno ;;
	cert-manager) ours test/e2e/programs/certmanager . ;;
	oauth2-proxy) theirs test/e2e/go.signin.mod github.com/oauth2-proxy/oauth2-proxy/v7 ;;
	*)
		echo "hack/build.sh: there is no program ${name}" >&2
		return 1
		;;
	esac
}

for name; do
	program=${root}/bin/${name}
	if [ "${name}" = promtool ] || [ "${name}" = prometheus ]; then
		hack/prometheus.sh "${name}"
		continue
	fi
	if [ "${DOCKET_TOOLS:-}" != ready ]; then
		flock 9
		build
	elif [ ! -x "${program}" ]; then
		echo "${program} is missing; make tools builds what make test needs, make tools-all what make test-all needs" >&2
		exit 1
	fi
	echo "${program}"
done
