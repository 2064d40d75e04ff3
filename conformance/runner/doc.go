// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package runner checks from outside whether a server follows the conventions of Kubernetes APIs: it runs checks, keeps
// their objects apart from existing ones, and removes them again.
//
// A check looks at one rule only, and takes for granted as little as it can of all others: it fails on a server that
// breaks its rule and on no other. Package checks has them, and in its tests a server that breaks the rule of each.
//
// Goroutines: those of [Run], which have ended when it returns.
package runner
