# Copyright 2026 The Docket Authors.
# SPDX-License-Identifier: Apache-2.0

# Every check that runs anywhere is a target here: people and CI run the same ones.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# No workspace: each module is built with the versions that its users get.
export GOWORK := off
# Binaries are static. Only the race detector needs C.
export CGO_ENABLED := 0

# Nested modules, as far as this checkout has them.
NESTED := $(patsubst %/go.mod,%,$(wildcard controller/go.mod test/e2e/go.mod))
MODULES := . $(NESTED)

# Tools are built once from the versions in go.tools.mod.
TOOLS := go tool -modfile=$(CURDIR)/go.tools.mod
GOLANGCI := $(CURDIR)/bin/golangci-lint
GOTESTSUM := $(CURDIR)/bin/gotestsum

# The race detector for everything but SQLite itself, which is C that was made into
# Go: watched, it is ten times slower, and its races are not ours to find. Without vet, which verify
# runs: here it would read the source of each dependency again, a sixth of a first build.
RACE := -race -vet=off -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false

# Options of the targets.
TIME ?= 30s
BENCH ?= .
COUNT ?= 6
RUNS ?= 3
PKG ?= ./...
RUN ?=
ARGS ?=

##@ Work

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the commands into bin/
	go build -o bin/ ./cmd/...

.PHONY: build-controller
build-controller: ## Build docket-controller into bin/ (the first time takes minutes: Kyverno's engines)
	go build -C controller -o $(CURDIR)/bin/ ./cmd/docket-controller

.PHONY: build-convert
build-convert: ## Build docket-convert into bin/, which takes as long
	go build -C controller -o $(CURDIR)/bin/ ./cmd/docket-convert

.PHONY: run
run: ## Start everything for one person on this machine: docket up (ARGS= adds flags)
	@echo "Building. The first build takes two to six minutes and prints nothing; later ones take seconds."
	go run ./cmd/docket up $(ARGS)

.PHONY: generate
generate: ## Write the generated files
	hack/generate.sh

.PHONY: golden
golden: ## Write the golden files of the tests; look at the difference before you commit
	@packages=$$(grep -rlE 'flag\.Bool\("update"' --include='*_test.go' --exclude-dir=controller --exclude-dir=test . \
		| xargs -r -n1 dirname | sort -u); \
	if [ -z "$$packages" ]; then echo "no package has golden files"; else go test $$packages -update; fi

.PHONY: screenshots
screenshots: build ## Take the pictures of the console in docs/start/images, in Chromium; look at them before you commit
	@hack/need.sh chromium=chromium
	go run ./internal/tools/screenshots

.PHONY: fix
fix: $(GOLANGCI) ## Format the code and repair what the linters can repair
	@for module in $(MODULES); do (cd $$module && $(GOLANGCI) fmt && $(GOLANGCI) run --fix); done

.PHONY: workspace
workspace: ## Write a go.work for editors (ignored by Git and by all targets here)
	GOWORK= go work init $(MODULES)

.PHONY: release
release: ## Build archives, bills of materials, chart and checksums into dist/ (PLATFORMS= chooses some, SIGNING_KEY= signs)
	hack/release.sh

.PHONY: base-images
base-images: ## Pin the base images of the Dockerfiles by the digests that their tags have now (REGISTRY= is a mirror of Docker Hub)
	@hack/base-images.sh

.PHONY: clean
clean: ## Remove what these targets built
	rm -rf bin dist

##@ Tests

.PHONY: test
test: tools ## Run every package and check every promise (PKG= and RUN= choose)
	@PKG='$(PKG)' RUN='$(RUN)' hack/test.sh

.PHONY: test-all
test-all: tools-all ## Run all tests on all engines, versions and programs, nearly all with the race detector
	@PKG='$(PKG)' RUN='$(RUN)' hack/test.sh all

.PHONY: tools
tools: $(GOTESTSUM) ## Install and build what make test needs; after it no test installs, downloads or builds
	@hack/tools.sh

.PHONY: tools-all
tools-all: $(GOTESTSUM) ## Install and build what make test-all needs
	@hack/tools.sh all

.PHONY: e2e
e2e: tools-all ## Run all tests on a real control plane (RUN= chooses among them)
	@PKG=./test/e2e/... RUN='$(RUN)' hack/test.sh all

.PHONY: producers
producers: ## Run other people's programs with CRDs and with Docket, and write the table of docs/produce/producers.md
	DOCKET_PRODUCERS=$(CURDIR)/docs/produce/producers $(MAKE) e2e RUN='^TestProgram'
	DOCKET_PRODUCERS=$(CURDIR)/docs/produce/producers go test ./internal/server/apiserver -run '^TestRecordings$$' -count=1
	go run ./internal/tools/producertable

.PHONY: test-postgres-versions
test-postgres-versions: ## Run the suite of the storage engine on every version of PostgreSQL that is supported
	go test ./internal/store/postgres -count=1 -timeout 30m -run '^TestVersions$$'

.PHONY: test-million
test-million: ## Look at all pages of the console with a million results, which are written first (some minutes)
	go test ./internal/results/console -count=1 -timeout 30m -v -run '^TestManyResults$$' -reports 60000

.PHONY: deflake
deflake: ## Repeat the tests of PKG= until one fails (RUN= chooses among them)
	@hack/need.sh cc=gcc,libc6-dev
	@for ((i = 1; ; i++)); do echo "round $$i"; CGO_ENABLED=1 go test $(RACE) -count=1 $(if $(RUN),-run '$(RUN)') -shuffle=on $(PKG); done

.PHONY: fuzz
fuzz: ## Fuzz every target for TIME= each (default 30s)
	@for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(TIME) -fuzzminimizetime 100x $$package; \
		done; \
	done

.PHONY: bench
bench: ## Run benchmarks (PKG=, BENCH=, COUNT=) into bin/bench.txt; OLD= compares with an earlier file
	@mkdir -p bin
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(PKG) | tee bin/bench.txt
	@if [ -n "$(OLD)" ]; then $(TOOLS) benchstat "$(OLD)" bin/bench.txt; fi

.PHONY: bench-cluster
bench-cluster: ## Compare with CRDs in etcd through kube-apiserver, and a gateway with none; print the tables of docs/operate/benchmarks.md, RUNS= times, and their medians
	@for run in $$(seq $(RUNS)); do \
		go test -C test/e2e -run '^$$' -bench '$(BENCH)' -benchtime 1x -count=1 -timeout 120m ./bench; \
	done | go run ./test/medians --runs $(RUNS)

##@ Checks; none of them changes a file

.PHONY: verify
verify: verify-format verify-words verify-workflows depcheck verify-headers verify-licences verify-tidy verify-generated verify-base-images lint verify-vuln ## Run all of the following but vet, which lint has

.PHONY: verify-format
verify-format: ## Fail on Go files that gofmt would change
	@files=$$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do [ ! -e "$$f" ] || echo "$$f"; done | xargs -r gofmt -l); \
	if [ -n "$$files" ]; then echo "not formatted, run make fix:"; echo "$$files"; exit 1; fi

.PHONY: verify-words
verify-words: ## Fail on words in Markdown and comments that hack/words.txt has better ones for
	@hack/verify-words.sh

.PHONY: verify-workflows
verify-workflows: ## Fail on mistakes in .github/workflows (actionlint needs another YAML library than golangci-lint)
	@go tool -modfile=$(CURDIR)/go.actionlint.mod actionlint -shellcheck= -pyflakes=

.PHONY: vet
vet: ## Run go vet
	@for module in $(MODULES); do echo "go vet in $$module"; (cd $$module && go vet ./...); done

.PHONY: lint
lint: $(GOLANGCI) ## Run golangci-lint with .golangci.yml
	@for module in $(MODULES); do echo "golangci-lint in $$module"; (cd $$module && $(GOLANGCI) run); done

.PHONY: depcheck
depcheck: ## Compare the imports with the table in docs/develop/architecture.md
	go run ./internal/tools/depcheck $(addprefix --module=,$(MODULES))

.PHONY: verify-headers
verify-headers: ## Fail on source files without the licence header
	go run ./internal/tools/headercheck

.PHONY: verify-licences
verify-licences: ## Fail if a command links a module whose licence is not an allowed one
	go run ./internal/tools/licencecheck ./cmd/...
	go build -o bin/licencecheck ./internal/tools/licencecheck && cd controller && ../bin/licencecheck ./cmd/...

.PHONY: verify-tidy
verify-tidy: ## Fail if a go.mod is not tidy
	@for module in $(MODULES); do echo "go mod tidy -diff in $$module"; (cd $$module && go mod tidy -diff); done

.PHONY: verify-generated
verify-generated: ## Fail if a generated file is out of date
	hack/verify-generated.sh

.PHONY: verify-base-images
verify-base-images: ## Name the base images of Dockerfiles that are not pinned by digest
	@hack/base-images.sh check

.PHONY: verify-vuln
verify-vuln: ## Run vuln where its database can be reached, and say so where it can't
	@database="$${GOVULNDB:-https://vuln.go.dev}"; \
	if curl -sf -m 10 -o /dev/null "$$database/index/db.json"; then $(MAKE) vuln; \
	else echo "govulncheck: not run, as $$database can't be reached: nothing is known about vulnerabilities (GOVULNDB is another address)"; fi

.PHONY: vuln
vuln: ## Look for known vulnerabilities in what we call; without https://vuln.go.dev, or another database in GOVULNDB, it fails
	@for module in $(MODULES); do echo "govulncheck in $$module"; \
		(cd $$module && $(CURDIR)/bin/govulncheck -db "$${GOVULNDB:-https://vuln.go.dev}" ./...) || { \
			status=$$?; \
			if [ $$status != 3 ]; then \
				echo "make: govulncheck could not work (status $$status): it needs the database at https://vuln.go.dev" \
					"or at another address in GOVULNDB. Nothing is known about vulnerabilities." >&2; \
			fi; \
			exit $$status; \
		}; \
	done
vuln: $(CURDIR)/bin/govulncheck

$(GOLANGCI): go.tools.mod go.tools.sum
	@echo "building golangci-lint (once; some minutes)"
	@go build -modfile=go.tools.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(GOTESTSUM): go.tools.mod go.tools.sum
	@go build -modfile=go.tools.mod -o $@ gotest.tools/gotestsum

$(CURDIR)/bin/govulncheck: go.tools.mod go.tools.sum
	@go build -modfile=go.tools.mod -o $@ golang.org/x/vuln/cmd/govulncheck
