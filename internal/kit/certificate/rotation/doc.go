// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rotation has the certificate with which a server serves, and renews it before its end
// without a restart. [Keeper] has what is served now, and follows its source: [Files], which
// somebody else renews, or [Secret], which the replicas of a server share and renew themselves.
//
// Of a Secret: whichever replica writes first wins, by the resource version, and the others take
// what they find. A certificate authority is trusted before anything signed by it is served: it is
// in the bundle first, and signs once the clients are known to have it ([SecretConfig].Trusted). It
// stays in the bundle for a day after its last certificate was replaced.
//
// Goroutines: none; [Keeper.Run] works in that of its caller.
package rotation
