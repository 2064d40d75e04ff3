// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package broken has the parts of servers that break a rule of Kubernetes APIs: handlers in front of
// a good server that change requests, answers or events. Each rule in package checks has such a
// server, to prove that its check fails there and that no other check does.
package broken
