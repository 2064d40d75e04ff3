// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"encoding/json"
	"net/http"

	"k8s.io/klog/v2"
)

// Path is where a server shows what its checker knows. It is not a path of the API: it is
// read on the server's own port, and authorized as a non-resource path.
const Path = "/registration"

// ServeHTTP shows the statuses of all groups as JSON.
func (c *Checker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "get what is known about the registration; nothing can be changed here", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(map[string][]Status{"groups": c.Statuses()}); err != nil {
		klog.V(4).InfoS("A client went away before its answer", "err", err)
	}
}
