#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Pins the base images of the Dockerfiles by digest:
#   hack/base-images.sh          asks the registry which digests their tags have now, and writes these
#   hack/base-images.sh check    names those that are not pinned; it asks nobody
# REGISTRY is the address of a registry with the images of Docker Hub, if it is not that itself.

set -euo pipefail
cd "$(dirname "$0")/.."

registry=${REGISTRY:-https://registry-1.docker.io}
accept='application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json'

fail() {
	echo "hack/base-images.sh: $*" >&2
	exit 1
}

# images prints the base images of a Dockerfile as they are written there, without digests.
images() { sed -nE 's/^FROM (--platform=[^ ]+ )?([^ @]+).*$/\2/p' "$1" | grep -vx scratch | sort -u; }

# manifest prints the headers of the answer about NAME and TAG; more arguments are for curl.
manifest() { curl -sSI -m 30 -H "Accept: ${accept}" "${@:3}" "${registry}/v2/$1/manifests/$2" | tr -d '\r'; }

# token asks for one where the headers in $1 say, to pull the image NAME.
token() {
	local realm service
	realm=$(sed -nE 's/^www-authenticate: bearer .*realm="([^"]+)".*/\1/Ip' <<<"$1")
	service=$(sed -nE 's/^www-authenticate: bearer .*service="([^"]+)".*/\1/Ip' <<<"$1")
	curl -sS -m 30 -G --data-urlencode "service=${service}" --data-urlencode "scope=repository:$2:pull" "${realm}" |
		sed -nE 's/.*"token": ?"([^"]+)".*/\1/p'
}

# digest prints that of an image of all platforms.
digest() {
	local name=${1%:*} tag=${1##*:} answer found
	[[ ${name} == */* ]] || name=library/${name}
	answer=$(manifest "${name}" "${tag}") || fail "${registry} can't be reached; name a mirror of Docker Hub in REGISTRY"
	if grep -qi '^www-authenticate: bearer ' <<<"${answer}"; then
		answer=$(manifest "${name}" "${tag}" -H "Authorization: Bearer $(token "${answer}" "${name}")")
	fi
	found=$(sed -nE 's/^docker-content-digest: (sha256:[0-9a-f]{64})$/\1/Ip' <<<"${answer}")
	[[ -n ${found} ]] || fail "${registry} has no digest for $1: ${answer%%$'\n'*}"
	echo "${found}"
}

# pin writes the digests of a Dockerfile.
pin() {
	local image version found
	version=$(sed -n 's/^ARG GO_VERSION=//p' "$1")
	for image in $(images "$1"); do
		found=$(digest "${image/'${GO_VERSION}'/${version}}")
		sed -i -E "/^FROM /s~( $(sed 's/[.${}]/\\&/g' <<<"${image}"))(@[^ ]+)?( |\$)~\1@${found}\3~" "$1"
		echo "$1: ${image}@${found}"
	done
}

find . -name Dockerfile -not -path './bin/*' | sort | while read -r file; do
	if [[ ${1:-} != check ]]; then
		pin "${file}"
		continue
	fi
	for image in $(images "${file}"); do
		grep -qF " ${image}@sha256:" "${file}" ||
			echo "${file}: ${image} is not pinned by digest: run make base-images where Docker Hub or a mirror can be reached, and commit what it writes"
	done
done
