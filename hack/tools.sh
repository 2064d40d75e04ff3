#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Brings what tests need from elsewhere, and builds the programs that they start, so that tests themselves install,
# download and build nothing:
#   hack/tools.sh         what make test needs
#   hack/tools.sh all     what make test-all needs
# Debian's packages are installed by root only; elsewhere it says in one line what is missing. What is there already
# costs a few seconds.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "tools: $* ($SECONDS s)"; }

say "packages"
needs=(cc=gcc,libc6-dev make=make curl=curl sqlite3=sqlite3 "initdb|pg_ctlcluster=postgresql" pgbouncer=pgbouncer
	chromium=chromium npm=nodejs,npm python3=python3 gnutls-cli=gnutls-bin javac=default-jdk-headless)
postgres=(18)
programs=(docket docket-next docket-controller fill load helm kustomize promtool prometheus kubectl etcd kine
	kube-apiserver kube-controller-manager sample-apiserver kyverno-reports-controller)
if [ "${1:-}" = all ]; then
	needs+=(patroni=patroni,python3-etcd python:kubernetes=python3-kubernetes
		/usr/share/lemonldap-ng/bin/purgeCentralCache=liblemonldap-ng-portal-perl,libgd-securityimage-perl,libimage-magick-perl,libio-string-perl,libstring-random-perl)
	postgres+=(15 16 17)
	programs+=(metrics-server cert-manager kyverno-admission-controller kyverno-background-controller oauth2-proxy)
	for version in 1.35 1.37; do programs+=("kubectl-${version}" "kube-apiserver-${version}" "kube-controller-manager-${version}"); done
fi
hack/need.sh "${needs[@]}"
say "archives of npm"
for version in "${postgres[@]}"; do hack/postgres.sh "${version}" >/dev/null; done
hack/axe.sh >/dev/null
if [ "${1:-}" = all ]; then hack/node.sh >/dev/null; fi
say "modules"
for module in . controller test/e2e; do go list -C "${module}" -deps -test ./... >/dev/null; done
# Outside of our modules, whose requirements don't matter.
awk '!/^#/ && NF { print $1 }' test/e2e/crddiff/testdata/public.txt | sort -u | (cd / && xargs go mod download)
for program in "${programs[@]}"; do
	say "${program}"
	hack/build.sh "${program}" >/dev/null
done
say "ready"
