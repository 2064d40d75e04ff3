// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output writes reports and lists of checks for people and for programs: text, JSON, JUnit
// XML, and the page docs/reference/conformance-checks.md.
//
// Nothing it writes has characters that a terminal or an XML parser trips over, whatever the server has answered.
// Package runner has left credentials out of reports before.
package output
