// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console is `docket console`: it shows results in the browser of the person who starts it, with that person's
// rights in the cluster ([adr/0050]).
//
// A browser gets in with a link that works once, and then has a cookie. What it can reach is a short list of requests, which
// go to the cluster with the credentials of the kubeconfig: those never reach the browser. The pages are the files below web,
// as they are written there.
//
// Goroutines: those of [http.Server] while [Console.Serve] runs, and two for each watch of a page that listens for changes, which end
// with its request.
//
// [adr/0050]: ../../docs/adr/0050-console.md
package console
