// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console is `docket console`: it shows results in the browser of the person who starts it, with that person's
// rights in the cluster ([adr/0050]).
//
// A browser gets in with a link that works once, and then has a cookie. What it can reach is a short list of
// requests, which go to the cluster with the credentials of the kubeconfig: those never reach the browser. The pages
// are the files below web, as they are written there.
//
// A [Team] has the same pages for many browsers. A proxy in front of it signs people in; each request goes to the
// cluster as the person who made it, by their token or by impersonation ([adr/0051]).
//
// Goroutines: those of [http.Server] while [Console.Serve] or [Team.Serve] runs, and with a certificate in files one
// that reads them again, which Team.Serve ends. A page that listens for changes has one for each of its watches,
// which end with its request.
//
// [adr/0050]: ../../docs/adr/0050-console.md
// [adr/0051]: ../../docs/adr/0051-console-for-a-team.md
package console
