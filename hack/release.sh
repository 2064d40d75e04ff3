#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds what a release consists of into dist/: for each platform an archive and a bill
# of materials (CycloneDX), the Helm chart, the manifests, and checksums of all. Two runs
# at one commit make the same bytes. PLATFORMS="linux/amd64" builds some only.

set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CGO_ENABLED=0 GOWORK=off LC_ALL=C TZ=UTC

case $(tar --version) in
*GNU*) ;;
*)
	echo "release: needs GNU tar and sed, for archives without traces of their maker" >&2
	exit 1
	;;
esac

platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64}
# The version is the tag of this commit; between tags it says how far from the last.
version=$(git describe --tags --always --dirty)
case ${version} in
v[0-9]*) ;;
*) version=v0.0.0-${version} ;;
esac
epoch=$(git log -1 --format=%ct)

if command -v zip >/dev/null; then zips=yes; else zips=no; fi
rm -rf dist
mkdir -p dist/work
go build -o dist/work/sbom ./internal/tools/sbom
go build -C hack/helm -o "${PWD}/dist/work/helm" helm.sh/helm/v4/cmd/helm

# pack ARCHIVE FOLDER: owner, order and times say nothing about who packs, or when.
pack() {
	tar --create --directory dist/work --sort=name --mtime="@${epoch}" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw "$2" |
		gzip --no-name --best >"dist/$1.tar.gz"
}

for platform in ${platforms}; do
	os=${platform%/*} arch=${platform#*/}
	name=docket-${version}-${os}-${arch}
	binary=docket
	if [ "${os}" = windows ]; then binary=docket.exe; fi
	mkdir -p "dist/work/${name}"
	echo "building ${name}"
	GOOS=${os} GOARCH=${arch} go build -buildvcs=true -trimpath -ldflags="-s -w" -o "dist/work/${name}/${binary}" ./cmd/docket
	cp LICENSE README.md CHANGELOG.md "dist/work/${name}/"
	dist/work/sbom "dist/work/${name}/${binary}" >"dist/${name}.cdx.json"
	if [ "${os}" = windows ] && [ "${zips}" = yes ]; then
		find "dist/work/${name}" -exec touch --no-dereference --date="@${epoch}" {} +
		(cd dist/work && find "${name}" -type f | sort | zip --quiet -X "../${name}.zip" -@)
	else
		pack "${name}" "${name}"
	fi
done

# The chart with the version of this commit; the manifests as they are.
cp -R deploy/chart dist/work/docket
rm dist/work/docket/monitoring/kustomization.yaml
sed -i "s/^version: .*/version: ${version#v}/; s/^appVersion: .*/appVersion: ${version}/" dist/work/docket/Chart.yaml
dist/work/helm lint --quiet --strict dist/work/docket
pack "docket-chart-${version#v}" docket
mkdir -p "dist/work/docket-deploy-${version}"
cp -R deploy/base deploy/chart deploy/components deploy/overlays "dist/work/docket-deploy-${version}/"
pack "docket-deploy-${version}" "docket-deploy-${version}"

rm -rf dist/work
(cd dist && sha256sum -- * >SHA256SUMS)
ls -l dist
