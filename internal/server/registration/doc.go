// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registration checks whether the clients of a cluster get the reports of this
// server, and reports it if they do not.
//
// A group of reports can have further versions, which the CRDs of other tools bring.
// Clients that name no version, and the controllers that empty namespaces, collect
// garbage and count for quotas, use the version that discovery puts first; and the
// APIService of our own version can be missing or point elsewhere. All of that looks like
// a cluster without reports, and nothing fails.
//
// A [Checker] asks the cluster's discovery, which every service account may read, and
// nothing else: it needs no permission to read APIServices. Whether this software answers
// for a version is shown by a header that [Mark] adds to our part of discovery.
//
// A [Trust] is for servers that renew their certificate themselves: it keeps the caBundle of their
// APIServices, and touches nothing else of them.
//
// Goroutines: Checker.Run is one, which its caller owns and ends by its context.
package registration
