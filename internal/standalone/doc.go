// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standalone is `docket up`: the reports API for one person on one machine,
// without a cluster.
//
// Everything that has to last is in one folder that only its owner may enter:
//
//	ca.crt ca.key             authority for the serving certificate; made once
//	serving.crt serving.key   made anew when they expire or the address changes
//	token                     the owner's bearer token; made once
//	kubeconfig                address, authority and token; written at each start
//	docket.db                 the reports, unless --database names another place
//	lock                      held while a process uses the folder
//
// Who has the token may do everything; all others may ask for health and version,
// and nothing else. Of the core APIs only the reviews are served with which
// kubectl asks who it is and what it may do; namespaces are free names.
//
// Goroutines: Run starts the server (package apiserver) and one that waits until
// it is ready, prints what to do next and loads the demo. Both end with Run's
// context.
package standalone
