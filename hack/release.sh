#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds what a release consists of into dist/: for each platform an archive and a bill
# of materials (CycloneDX) of docket, of docket-controller and of docket-convert, the Helm chart, the manifests
# with the examples, where all of it comes from (SLSA provenance), and checksums. Two runs at one commit make
# the same bytes. PLATFORMS="linux/amd64" builds some only; the last two take minutes for each.
# SIGNING_KEY=FILE signs the checksums with an SSH key.
#
# A release has two tags on one commit, because Go asks a nested module for a tag of its own:
# v1.2.3 and controller/v1.2.3.

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
# The version stands in one file. What is not built from its tag says so.
version=v$(cat internal/kit/buildinfo/VERSION)
tag=$(git tag --points-at HEAD 'v[0-9]*' | tail -n 1)
if [ -z "${tag}" ] || [ -n "$(git status --porcelain --untracked-files=no)" ]; then
	version=${version}-dev.g$(git describe --match='' --always --dirty)
elif [ "${tag}" != "${version}" ]; then
	echo "release: the tag is ${tag}, and internal/kit/buildinfo/VERSION makes it ${version}: change one of them" >&2
	exit 1
elif ! git tag --points-at HEAD | grep -qxF "controller/${tag}"; then
	echo "release: ${tag} is here without controller/${tag}: docket-controller and docket-convert would not know their version" >&2
	exit 1
fi
epoch=$(git log -1 --format=%ct)

if command -v zip >/dev/null; then zips=yes; else zips=no; fi
rm -rf dist
mkdir -p dist/build
go build -o dist/build/sbom ./internal/tools/sbom
go build -C hack/helm -o "${PWD}/dist/build/helm" helm.sh/helm/v4/cmd/helm

# pack ARCHIVE FOLDER: owner, order and times say nothing about who packs, or when.
pack() {
	tar --create --directory dist/build --sort=name --mtime="@${epoch}" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw "$2" |
		gzip --no-name --best >"dist/$1.tar.gz"
}

# notices FOLDER PACKAGE: what the licences of linked modules ask to be passed on.
notices() {
	go -C "$1" list -deps -f '{{with .Module}}{{if .Version}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' "$2" | sort -u |
		while read -r module linked folder; do
			for file in "${folder}"/NOTICE*; do
				if [ -f "${file}" ]; then
					printf '== %s %s\n\n' "${module}" "${linked}"
					cat "${file}"
					printf '\n'
				fi
			done
		done
}

# archive NAME BINARY FOLDER PACKAGE: the binary is in dist/build/NAME already.
archive() {
	cp LICENSE README.md CHANGELOG.md "dist/build/$1/"
	notices "$3" "$4" >"dist/build/$1/NOTICES"
	dist/build/sbom "dist/build/$1/$2" >"dist/$1.cdx.json"
	if [ "${GOOS}" = windows ] && [ "${zips}" = yes ]; then
		find "dist/build/$1" -exec touch --no-dereference --date="@${epoch}" {} +
		(cd dist/build && find "$1" -type f | sort | zip --quiet -X "../$1.zip" -@)
	else
		pack "$1" "$1"
	fi
}

for platform in ${platforms}; do
	export GOOS=${platform%/*} GOARCH=${platform#*/}
	suffix=
	if [ "${GOOS}" = windows ]; then suffix=.exe; fi

	name=docket-${version}-${GOOS}-${GOARCH}
	echo "building ${name}"
	go build -buildvcs=true -trimpath -ldflags="-s -w" -o "dist/build/${name}/docket${suffix}" ./cmd/docket
	archive "${name}" "docket${suffix}" . ./cmd/docket

	for program in docket-controller docket-convert; do
		name=${program}-${version}-${GOOS}-${GOARCH}
		echo "building ${name}"
		go -C controller build -buildvcs=true -trimpath -ldflags="-s -w" -o "${PWD}/dist/build/${name}/${program}${suffix}" "./cmd/${program}"
		archive "${name}" "${program}${suffix}" controller "./cmd/${program}"
	done
done
unset GOOS GOARCH

# The chart with the version of this commit; the manifests as they are.
cp -R deploy/chart dist/build/docket
find dist/build/docket -name kustomization.yaml -delete
sed -i "s/^version: .*/version: ${version#v}/; s/^appVersion: .*/appVersion: ${version}/" dist/build/docket/Chart.yaml
dist/build/helm lint --quiet --strict dist/build/docket
pack "docket-chart-${version#v}" docket
mkdir -p "dist/build/docket-deploy-${version}"
cp -R deploy/base deploy/chart deploy/components deploy/controller deploy/overlays examples "dist/build/docket-deploy-${version}/"
pack "docket-deploy-${version}" "docket-deploy-${version}"

rm -rf dist/build
provenance=$(go run ./internal/tools/provenance --commit="$(git rev-parse HEAD)" --version="${version}" --platforms="${platforms}" dist/*)
printf '%s\n' "${provenance}" >dist/provenance.intoto.json
(cd dist && sha256sum -- * >SHA256SUMS)
# The checksums vouch for all else, and their signature for them (SECURITY.md says how to verify it).
if [ -n "${SIGNING_KEY:-}" ]; then
	ssh-keygen -q -Y sign -n docket-release -f "${SIGNING_KEY}" dist/SHA256SUMS
else
	echo "release: not signed; SIGNING_KEY= names the file of an SSH key" >&2
fi
ls -l dist
