// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

//nolint:gochecknoglobals // Constants.
var namespacesResource = schema.GroupResource{Resource: "namespaces"}

// namespaces knows the labels of all namespaces.
type namespaces struct {
	// changed is called, without a lock, with a namespace whose labels have changed.
	changed func(name string)

	mu     sync.RWMutex
	labels map[string]map[string]string
}

// of returns the labels of a namespace, which nobody changes.
func (n *namespaces) of(name string) map[string]string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.labels[name]
}

// set takes the labels that a namespace has now; gone for one that is deleted. Its subjects go
// with it, hence that is no change.
func (n *namespaces) set(name string, labels map[string]string, gone bool) {
	n.mu.Lock()
	before, known := n.labels[name]
	if gone {
		delete(n.labels, name)
	} else {
		n.labels[name] = labels
	}
	n.mu.Unlock()
	if !gone && (!known || !maps.Equal(before, labels)) {
		n.changed(name)
	}
}
