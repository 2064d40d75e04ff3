// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/policy"
)

// historySize is the number of versions that a kind remembers.
const historySize = 10_000

// history has the contents that resources had within subjectPatience: a resource may have changed once more
// before the results of a request for it come.
type history struct {
	known map[version]time.Time
	// order is oldest first; a version that was added again is in it twice.
	order []version
}

// version is a resource with a content.
type version struct {
	uid     types.UID
	content policy.Content
}

// noContent stands for a resource that no longer exists. No content has this hash.
var noContent policy.Content

// add records the content that a resource had until now, or noContent if it is gone.
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

// forget undoes the addition of noContent, for a resource that exists after all.
func (h *history) forget(uid types.UID) { delete(h.known, version{uid, noContent}) }

func (h *history) has(uid types.UID, content policy.Content) bool {
	_, ok := h.known[version{uid, content}]
	return ok
}
