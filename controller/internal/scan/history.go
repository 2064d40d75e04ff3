// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/policy"
)

// historySize bounds what a kind remembers; older versions are forgotten.
const historySize = 10_000

// history has the contents that resources had within the time that results of requests are waited
// for: a resource may have changed once more before the results come.
type history struct {
	known map[version]time.Time
	// order is oldest first; a version that came again is in it twice.
	order []version
}

// version is a resource with a content.
type version struct {
	uid     types.UID
	content policy.Content
}

// noContent is the content of resources that exist no more. Nothing has that hash.
//
//nolint:gochecknoglobals // A constant.
var noContent policy.Content

// add notes what a resource was until now, or noContent if it is gone.
func (h *history) add(uid types.UID, content policy.Content, now time.Time) {
	if h.known == nil {
		h.known = map[version]time.Time{}
	}
	v := version{uid, content}
	h.known[v] = now
	h.order = append(h.order, v)
	for len(h.order) > historySize || now.Sub(h.known[h.order[0]]) > subjectPatience {
		delete(h.known, h.order[0])
		h.order = h.order[1:]
	}
}

// forget is for a resource that was only thought to be gone.
func (h *history) forget(uid types.UID) { delete(h.known, version{uid, noContent}) }

func (h *history) has(uid types.UID, content policy.Content) bool {
	_, ok := h.known[version{uid, content}]
	return ok
}
