// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Priorities in discovery. Groups of Kubernetes keep the order that the cluster gives
// them; custom ones are alike, so that one more of them does not move all others.
const (
	corePriority    = 18000
	builtinPriority = 17900
	builtinStep     = 10
	lowestBuiltin   = 1100
	customPriority  = 1000
	firstVersion    = 100
	lowestVersion   = 1
)

// local is a group version of the cluster, with its place in discovery.
type local struct {
	schema.GroupVersion
	groupPriority, versionPriority int32
}

// mirror keeps what the gateway shows of the cluster's discovery in step with the
// cluster. While the cluster does not answer it shows what it knew.
type mirror struct {
	fetcher  *fetcher
	interval time.Duration
	clock    clock.WithTicker
	// setLocals tells the aggregator which group versions the cluster serves.
	setLocals func([]local)
	// groups is the merged document of all groups.
	groups aggregated.ResourceManager

	etag  string
	shown map[schema.GroupVersion]shown

	mu     sync.Mutex
	err    error
	synced bool
}

// shown is how a group version was handed on.
type shown struct {
	local   local
	version apidiscovery.APIVersionDiscovery
}

func newMirror(f *fetcher, interval time.Duration, c clock.WithTicker, groups aggregated.ResourceManager, setLocals func([]local)) *mirror {
	return &mirror{
		fetcher: f, interval: interval, clock: c, setLocals: setLocals,
		// Below the aggregator's own source: a registered group version shadows the cluster's.
		groups: groups.WithSource(aggregated.BuiltinSource),
		shown:  map[schema.GroupVersion]shown{}, err: errors.New("the cluster has not been asked yet"),
	}
}

// run polls until ctx ends, often while the cluster does not answer.
func (m *mirror) run(ctx context.Context) {
	for {
		m.poll(ctx)
		interval := m.interval
		if m.ready() != nil {
			interval = min(interval, defaultDiscoveryInterval)
		}
		timer := m.clock.NewTimer(interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

// poll asks the cluster once.
func (m *mirror) poll(ctx context.Context) {
	groups, etag, err := m.fetcher.discover(ctx, m.etag)
	switch {
	case errors.Is(err, errUnchanged):
		err = nil
	case err == nil:
		m.show(groups)
		m.etag = etag
	}
	if ctx.Err() != nil {
		return // The end of the process says nothing about the cluster.
	}
	m.record(err)
}

// record remembers how the last question went.
func (m *mirror) record(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if (err == nil) != (m.err == nil) {
		if err != nil {
			klog.ErrorS(err, "The cluster does not answer; discovery stays as it was")
		} else if m.synced {
			klog.InfoS("The cluster answers again")
		}
	}
	m.err = err
	m.synced = m.synced || err == nil
	up := 0.0
	if err == nil {
		up = 1
	}
	upstreamUp.Set(up)
}

// ready returns nil if the cluster answered the last question.
func (m *mirror) ready() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return fmt.Errorf("the cluster at %s does not answer: %w", m.fetcher.target.Host, m.err)
	}
	return nil
}

// show hands on what the cluster serves now, as far as that changed.
func (m *mirror) show(groups []apidiscovery.APIGroupDiscovery) {
	now := map[schema.GroupVersion]shown{}
	for i, group := range groups {
		if group.Name == registrationGroup {
			continue // The gateway has registrations of its own.
		}
		for j, version := range group.Versions {
			gv := schema.GroupVersion{Group: group.Name, Version: version.Version}
			now[gv] = shown{version: version, local: local{
				GroupVersion: gv, groupPriority: groupPriority(group.Name, i), versionPriority: int32(max(firstVersion-j, lowestVersion)),
			}}
		}
	}
	changed := len(now) != len(m.shown) || len(m.shown) == 0
	for gv := range m.shown {
		if _, ok := now[gv]; !ok {
			m.groups.RemoveGroupVersion(metav1.GroupVersion(gv))
			changed = true
		}
	}
	for gv, s := range now {
		before, known := m.shown[gv]
		if known && reflect.DeepEqual(before, s) {
			continue
		}
		m.groups.AddGroupVersion(gv.Group, s.version)
		if !known || before.local != s.local {
			m.groups.SetGroupVersionPriority(metav1.GroupVersion(gv), int(s.local.groupPriority), int(s.local.versionPriority))
			changed = true
		}
	}
	m.shown = now
	upstreamVersions.Set(float64(len(now)))
	if changed {
		m.setLocals(localsOf(now))
	}
}

// localsOf returns the group versions with that of the core, which every cluster has and
// which is not under /apis.
func localsOf(served map[schema.GroupVersion]shown) []local {
	all := []local{{GroupVersion: schema.GroupVersion{Version: "v1"}, groupPriority: corePriority, versionPriority: 1}}
	for _, s := range served {
		all = append(all, s.local)
	}
	return all
}

// groupPriority returns the place of the group at an index of the cluster's list.
func groupPriority(name string, index int) int32 {
	if strings.Contains(name, ".") && !strings.HasSuffix(name, ".k8s.io") {
		return customPriority
	}
	return int32(max(builtinPriority-index*builtinStep, lowestBuiltin))
}
