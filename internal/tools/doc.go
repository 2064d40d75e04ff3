// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tools has no code: the packages below it are never shipped. depcheck, headercheck and licencecheck are checks
// of `make verify`; dictgen, producertable and screenshots make files that are committed; sbom and provenance describe
// a release; testreport sums up a run of tests; chromium and picture serve tests of pages, producers tests of programs.
//
// Imports: whatever is to be checked or shown. Begin at the Makefile, which runs them.
package tools
