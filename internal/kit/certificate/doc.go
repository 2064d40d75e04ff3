// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificate makes authorities and the serving certificates that they
// sign, and reads what others made. It keeps nothing: where certificates and keys
// are stored is up to the caller.
//
// Keys are ECDSA P-256. There are no goroutines.
package certificate
