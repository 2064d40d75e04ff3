// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import "net/http"

// Server is a way to break a good server.
type Server struct {
	// What the server does wrong.
	What string
	// Break returns the handler that breaks what next answers. State that requests share must be
	// safe for concurrent use.
	Break func(next http.Handler) http.Handler
}

// That returns a server that does this wrong.
func That(what string, breaks func(next http.Handler) http.Handler) Server {
	return Server{What: what, Break: breaks}
}
