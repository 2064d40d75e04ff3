// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package run is `docket run`: it starts an extension API server as a child
// process next to `docket up` or `docket gateway`, gives it what such servers need (a
// serving certificate for its host name, a kubeconfig, a port), registers
// it while it runs, and withdraws the registration at the end.
//
// The server never sees the user's token: until it is registered, it is asked without
// credentials, or as the aggregator asks, with the front-proxy certificate in the state folder.
//
// Goroutines: one that waits for the child, one that passes signals on to it, and one
// that ends the rest when the child has ended. All of them end with the child, which
// Options.Run ends before it returns.
package run
