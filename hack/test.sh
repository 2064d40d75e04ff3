#!/usr/bin/env bash
# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs tests, part by part, each to its end; then says how they went, and fails for whatever is wrong:
#   hack/test.sh         make test: every package and every promise, go test -short
#   hack/test.sh all     make test-all: the whole product of engines, race detector, versions, programs and disasters
# PKG= and RUN= choose packages and tests, as those of go test do; packages are named from the root of the repository.
# make test takes results of packages without a change from go's cache; GOFLAGS=-count=1 does not.
# docs/develop/testing.md says what is in which.

set -uo pipefail
set -m # Each part is a group of processes, which can be interrupted as a whole.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=${PWD}
export GOWORK=off

mode=${1:-short}
PKG=${PKG:-./...} RUN=${RUN:-}

# With the race detector, which makes tests five to ten times slower, goes what lets goroutines of ours meet, and of the
# suites of storages and engines the cases in which they do. SQLite itself goes without: it is C that was made into Go, and
# its races are not ours to find.
race=(-race -vet=off -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false)
raced='^internal/(kit/certificate/rotation|plane/(aggregator|authtrust|controlplane|gateway)|results/(resultmetrics|turns)|server/(imports|registration)|store/(hub|writer))$'
suites='^internal/store(/sqlite|/postgres)?$'
meeting='^(TestEngine|TestSuite)$/^(Concurrent|Reopen|Random)$|^Test(Herd|HerdAfterRestart|ReplicasWriteAtOnce|PostgresReplicas|SwitchoverEndsNoWatch)$'
engines='^internal/store/(sqlite|postgres)$'
questions='^(TestEngine|TestLargeReports|TestSuite|TestSuitePooled)$/^(Questions|QuestionGroups|Orders)$|^TestVersions$/^[0-9]+$/^(Questions|QuestionGroups|Orders)$'
# What the suite has to say of the model, of large reports and of a pooler; it runs nearly whole without them.
repeated='^(TestModel|TestLargeReports|TestSuitePooled)$/^(Read|Selectors|History|Advance|Large|Questions|QuestionGroups|Orders)$'
repeated+='|^TestLargeReports$/^(Concurrent|Reopen)$|^(TestEngine|TestSuite)$/^QuestionGroups$/^(Bounds|Properties)$'
model='^(conformance/checks|internal/store/enginetest)$' # Too much work to be watched; what runs them is.
# Of the controller goes without what only computes, and Kyverno's engines.
unraced='^(cmd|test|internal/(policy|files|cache/table|cluster/(policies|served|source)))(/|$)'

# What may differ between versions of Kubernetes, one test of each kind: registration, rights and certificates, CRDs
# beside Docket, kubectl and informers, requests through a gateway, the controller, and its webhook. All tests run on the
# version that the libraries have.
otherKubernetes='1.35 1.37'
kubernetes='^Test(Bootstrap|BootstrapBesideCRDs|WhoMayDoWhat|RegistrationMistakes|RollingRestart|Results|ProgramClients|'
kubernetes+='GatewayToken|GatewayWithRightsInOneNamespace|ControllerRights|ControllerQuestions|Admission)$'

# Packages that wait long, for disks above all, begin first, so that others work meanwhile.
longest='^\./internal/(store|store/postgres|store/sqlite|server/apiserver|results/console|scan|report)$'

# Tests mostly wait, for disks, timers and servers: more packages, and more tests of each, at a time than there are cores.
atOnce=4 parallel=4
budget=120s # A package takes two to four times as long as alone.

failed=()
declare -A running=() started=()

main() {
	# Temporary folders of the run are in one of its own, which has to be empty at the end; what knows of it has to have ended.
	# It has the same name each time, since results in go's cache count for one environment.
	TMPDIR=/tmp/docket-test-$(id -u)-$(cksum <<<"${root}" | cut -d' ' -f1)
	export TMPDIR DOCKET_TOOLS=ready
	if [ -n "$(left)" ]; then
		echo "${TMPDIR} is in use: wait for the run that uses it, or end what it has left running:" >&2 && left >&2
		exit 1
	fi
	rm -rf "${TMPDIR}"
	mkdir -m 711 "${TMPDIR}"
	trap interrupted INT TERM
	rm -rf bin/tests
	mkdir -p bin/tests
	local before
	others
	before=${other}

	local fresh=()
	if [ "${mode}" = all ]; then short= fresh=(-count=1); else short=-short; fi
	# Beside all others, since much of it is waiting. Never from the cache: go test does not know what programs were built from.
	parallel=3 format=testname CGO_ENABLED=0 start e2e test/e2e . -count=1
	if slow; then
		echo "memory is slow here: parts run one after another, and how long packages take is not judged"
		atOnce=2 parallel=3 budget=0
		finish e2e
	fi
	if [ "${mode}" = all ]; then
		CGO_ENABLED=1 part race . "!${model}" "${race[@]}" -skip "${questions}" "${fresh[@]}"
		CGO_ENABLED=0 part checks . "${model}" "${fresh[@]}"
		CGO_ENABLED=0 RUN=${RUN:-${questions}} part questions . "${engines}" "${fresh[@]}"
	else
		CGO_ENABLED=0 part root . "!${raced}" -skip "${repeated}"
		CGO_ENABLED=1 part race . "${raced}" "${race[@]}"
		if [ -z "${RUN}" ]; then CGO_ENABLED=1 RUN=${meeting} part race-suites . "${suites}" "${race[@]}"; fi
	fi
	CGO_ENABLED=0 part controller controller "${unraced}" "${fresh[@]}"
	CGO_ENABLED=1 part controller-race controller "!${unraced}" "${race[@]}" "${fresh[@]}"
	finish e2e
	if [ "${mode}" = all ] && [ -z "${RUN}" ]; then
		for version in ${otherKubernetes}; do
			DOCKET_KUBERNETES=${version} RUN=${kubernetes} format=testname CGO_ENABLED=0 part "kubernetes-${version}" test/e2e '^\.$' -count=1
		done
	fi

	if [ "${mode}" = all ]; then
		budget=0
	elif [ "${budget}" != 0 ]; then
		others
		if (((other - before) * 4 > SECONDS)); then
			echo "the machine did other work for $((other - before)) s of processor time: how long packages took is not judged"
			budget=0
		fi
	fi
	CGO_ENABLED=0 go run ./internal/tools/testreport -budget "${budget}" bin/tests/*.json || failed+=(report)
	leftovers
	rm -rf "${TMPDIR}"
	if ((${#failed[@]} > 0)); then
		echo "failed: ${failed[*]} (${SECONDS} s)"
		exit 1
	fi
	echo "all is well (${SECONDS} s)"
}

# part NAME MODULE PATTERN ARGUMENT... tests the packages of PKG that are in a module and match a pattern.
part() {
	start "$@"
	finish "$1"
}

# start is part without the wait, which finish does.
start() {
	local name=$1 module=$2 pattern=$3 packages
	shift 3
	packages=$(chosen "${module}" | if [ "${pattern:0:1}" = '!' ]; then grep -vE "${pattern:1}"; else grep -E "${pattern}"; fi | sed 's|^|./|')
	if [ -z "${packages}" ]; then return; fi
	packages=$(grep -E "${longest}" <<<"${packages}"; grep -vE "${longest}" <<<"${packages}")
	echo "== ${name}"
	started[${name}]=${SECONDS}
	# shellcheck disable=SC2086 # Names of packages have no spaces.
	(cd "${module}" && exec "${root}/bin/gotestsum" --hide-summary=skipped --format="${format:-pkgname}" --format-hide-empty-pkg --format-icons=text \
		--jsonfile-timing-events="${root}/bin/tests/${name}.json" -- -timeout 60m -p ${atOnce} -parallel ${parallel} ${short} ${RUN:+-run "${RUN}"} "$@" ${packages}) &
	running[${name}]=$!
}

finish() {
	local name=$1
	if [ -z "${running[${name}]:-}" ]; then return; fi
	wait "${running[${name}]}" || failed+=("${name}")
	unset "running[${name}]"
	echo "== ${name}: $((SECONDS - started[${name}])) s"
}

# slow is true where touching 65,536 pages takes the kernel over 0.6 s, as in a virtual machine within another. Starts of
# programs and connections to databases then keep all cores busy: more of them at a time only take tests to their limits.
slow() {
	local TIMEFORMAT=%S taken
	taken=$({ time dd if=/dev/zero of=/dev/null bs=256M count=1 2>/dev/null; } 2>&1)
	[ "${taken/[.,]/}" -gt 600 ]
}

# chosen MODULE lists the packages of PKG in a module, as folders in it.
chosen() {
	local pattern prefix=
	[ "$1" = . ] || prefix=$1/
	for pattern in ${PKG}; do
		pattern=${pattern#./}
		if [ "${pattern}" = ... ]; then pattern=${prefix}...; fi
		case ${pattern} in
		controller | controller/* | test/e2e | test/e2e/*) [[ -n ${prefix} && ${pattern}/ == "${prefix}"* ]] || continue ;;
		*) [ -z "${prefix}" ] || continue ;;
		esac
		pattern=${pattern}/
		pattern=${pattern#"${prefix}"}
		(cd "$1" && go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "./${pattern%/}")
	done | sed -E "s|^github.com/docket-project/docket/${prefix}?||; s|^$|.|" | sort -u
}

# others sets other to the seconds of processor time that others than the children of this script have used.
others() {
	times >bin/tests/times.txt # Not in a subshell, which has children of its own.
	other=$(awk '$1 == "cpu" { all = ($2 + $3 + $4 + $7 + $8) / 100 }
		FILENAME ~ /times/ && FNR == 2 { split($1, user, /[ms]/); split($2, kernel, /[ms]/); own = 60 * (user[1] + kernel[1]) + user[2] + kernel[2] }
		END { print int(all - own) }' /proc/stat bin/tests/times.txt)
}

# left prints processes of this run that are still there.
left() {
	local process
	for process in /proc/[0-9]*; do
		[ "${process#/proc/}" != $$ ] && [ "${process#/proc/}" != "${BASHPID}" ] || continue
		if tr '\0' '\n' 2>/dev/null <"${process}/environ" | grep -qxF "TMPDIR=${TMPDIR}" || tr '\0' '\n' 2>/dev/null <"${process}/cmdline" | grep -qF "${TMPDIR}"; then
			echo "${process#/proc/} $(tr '\0' ' ' 2>/dev/null <"${process}/cmdline")"
		fi
	done
}

# leftovers fails the run for processes and folders that are left.
leftovers() {
	local processes folders
	for _ in 1 2 3 4 5 6 7 8 9 10; do # What ends databases takes a moment.
		processes=$(left) folders=$(ls -A "${TMPDIR}")
		[ -n "${processes}${folders}" ] || return
		sleep 1
	done
	if [ -n "${processes}" ]; then
		echo "left running, with their ports:" && echo "${processes}"
		failed+=(processes)
	fi
	if [ -n "${folders}" ]; then
		echo "left in TMPDIR:" && echo "${folders}"
		failed+=(folders)
	fi
}

interrupted() {
	local child
	trap '' INT TERM
	for child in "${running[@]}"; do
		kill -INT -- "-${child}" 2>/dev/null
		wait "${child}"
	done
	left | while read -r pid _; do kill "${pid}" 2>/dev/null; done
	rm -rf "${TMPDIR}"
	echo "interrupted" >&2
	exit 130
}

main
exit
