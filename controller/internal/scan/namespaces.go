// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

var namespacesResource = schema.GroupResource{Resource: "namespaces"}

// namespaces knows all namespaces.
type namespaces struct {
	// changed is called, without a lock, when policies see something else of a namespace: all policies
	// (stale), or those that read more than labels (staleNamespace).
	changed func(name string, how staleness)

	mu    sync.RWMutex
	known map[string]*packed
}

// Labels implements [policy.Namespaces].
func (n *namespaces) Labels(name string) map[string]string {
	if p := n.get(name); p != nil {
		return p.space.labels
	}
	return nil
}

// Object implements [policy.Namespaces]. The object is the caller's own.
func (n *namespaces) Object(name string) (*corev1.Namespace, error) {
	p := n.get(name)
	if p == nil {
		return nil, nil
	}
	object, err := p.unpack()
	if err != nil {
		return nil, err
	}
	return policy.NamespaceOf(object)
}

func (n *namespaces) get(name string) *packed {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.known[name]
}

// set takes a namespace as it is now; gone is true for one that is deleted. A deletion counts as no change,
// since the resources in the namespace are deleted, too.
func (n *namespaces) set(p *packed, gone bool) {
	n.mu.Lock()
	before := n.known[p.name]
	if gone {
		delete(n.known, p.name)
	} else {
		n.known[p.name] = p
	}
	n.mu.Unlock()
	switch {
	case gone:
	case before == nil || !maps.Equal(before.space.labels, p.space.labels):
		n.changed(p.name, stale)
	case before.space.visible != p.space.visible:
		n.changed(p.name, staleNamespace)
	}
}
