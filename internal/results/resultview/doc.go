// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resultview is `docket results`: it asks a cluster for results of policies, by the group results.docket.dev
// and with the rights of its user, and prints them for people and for programs. It keeps nothing.
package resultview
