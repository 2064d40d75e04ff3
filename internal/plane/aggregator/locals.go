// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/util/workqueue"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"
)

const (
	defaultGroupPriority   = 1000
	defaultVersionPriority = 100
	registrationWorkers    = 2
	// yieldTime is how long the name of a local APIService is left to one that a user creates.
	yieldTime = 10 * time.Second

	thisServer = "this server"
)

// Local is a group version that the delegate serves.
type Local struct {
	schema.GroupVersion
	// GroupPriorityMinimum and VersionPriority are copied to the group version's APIService. 0 stands for the values
	// of custom resources: 1000 and 100.
	GroupPriorityMinimum, VersionPriority int32
}

// ownedLocal knows who serves it.
type ownedLocal struct {
	Local
	owner string
}

func (l Local) apiService() *apiregistration.APIService {
	return &apiregistration.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: l.Version + "." + l.Group},
		Spec: apiregistration.APIServiceSpec{
			Group: l.Group, Version: l.Version,
			GroupPriorityMinimum: cmp.Or(l.GroupPriorityMinimum, defaultGroupPriority),
			VersionPriority:      cmp.Or(l.VersionPriority, defaultVersionPriority),
		},
	}
}

// register is the part of the library's controller that locals need.
type register interface {
	autoregister.AutoAPIServiceRegistration
	Run(workers int, stop <-chan struct{})
}

// locals keeps an APIService for each group version that this process serves.
type locals struct {
	register register
	manager  aggregated.ResourceManager
	changed  func()
	// yielded are names of APIServices that come back after a while.
	yielded workqueue.TypedRateLimitingInterface[string]
	// named is closed when a source has said for the first time what it serves.
	named     chan struct{}
	namedOnce sync.Once

	mu      sync.RWMutex
	sources map[string][]ownedLocal
	union   map[string]ownedLocal // By "group/version".
}

func newLocals(register register, manager aggregated.ResourceManager, changed func()) *locals {
	return &locals{
		register: register, manager: manager.WithSource(aggregated.BuiltinSource), changed: changed,
		yielded: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
		named:   make(chan struct{}),
		sources: map[string][]ownedLocal{}, union: map[string]ownedLocal{},
	}
}

// set replaces what one source serves, and returns which "group/version" came or went.
func (l *locals) set(source string, list []ownedLocal) (changed []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sources[source] = list
	union := map[string]ownedLocal{}
	for _, name := range slices.Sorted(maps.Keys(l.sources)) {
		for _, local := range l.sources[name] {
			key := local.Group + "/" + local.Version
			if _, taken := union[key]; !taken && local.Group != apiregistration.GroupName {
				union[key] = local
			}
		}
	}
	for key, local := range union {
		old, known := l.union[key]
		if !known {
			changed = append(changed, key)
		}
		if known && old.Local == local.Local {
			continue
		}
		service := local.apiService()
		l.register.AddAPIServiceToSync(service)
		l.manager.SetGroupVersionPriority(metav1.GroupVersion(local.GroupVersion),
			int(service.Spec.GroupPriorityMinimum), int(service.Spec.VersionPriority))
	}
	for key, local := range l.union {
		if _, kept := union[key]; !kept {
			changed = append(changed, key)
			l.register.RemoveAPIServiceToSync(local.apiService().Name)
		}
	}
	l.union = union
	l.changed()
	l.namedOnce.Do(func() { close(l.named) })
	return changed
}

// owner tells who serves "group/version" in this process, "" if nobody.
func (l *locals) owner(groupVersion string) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.union[groupVersion].owner
}

// services returns the APIServices that there should be.
func (l *locals) services() []*apiregistration.APIService {
	l.mu.RLock()
	defer l.mu.RUnlock()
	list := make([]*apiregistration.APIService, 0, len(l.union))
	for _, local := range l.union {
		list = append(list, local.apiService())
	}
	return list
}

// yield removes the APIService of a local group version, so that a user can create one of
// the same name. If none has been created after a while, it is restored.
func (l *locals) yield(name string) {
	l.register.RemoveAPIServiceToSync(name)
	l.yielded.AddAfter(name, yieldTime)
}

// runRegister waits for a first source: APIServices of an earlier run would be deleted and
// recreated.
func (l *locals) runRegister(ctx context.Context) {
	select {
	case <-l.named:
		l.register.Run(registrationWorkers, ctx.Done())
	case <-ctx.Done():
	}
}

func (l *locals) run(ctx context.Context) {
	work(ctx, l.yielded, 1, func(_ context.Context, name string) {
		l.mu.RLock()
		defer l.mu.RUnlock()
		for _, local := range l.union {
			if service := local.apiService(); service.Name == name {
				l.register.AddAPIServiceToSync(service)
			}
		}
	})
}

// SetLocals replaces the set of group versions that the delegate serves, as far as one source
// knows them; the sets of all sources are united. Each gets an APIService without a service,
// which is kept as it is here. It may be called at any time. APIServices of an earlier run are
// kept until the first call; then those that no source names are deleted.
func (a *Aggregator) SetLocals(source string, list []Local) { a.setLocals(source, thisServer, list) }

// setLocals is SetLocals for group versions of any owner, whom messages name.
func (a *Aggregator) setLocals(source, owner string, list []Local) {
	owned := make([]ownedLocal, 0, len(list))
	for _, local := range list {
		owned = append(owned, ownedLocal{Local: local, owner: owner})
	}
	for _, groupVersion := range a.locals.set(source, owned) {
		if b := a.registry.find(groupVersion); b != nil {
			a.availability.queue.Add(b.name()) // Its condition Shadowing is another one now.
		}
	}
}
