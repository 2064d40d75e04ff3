// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/clock"
)

const (
	upstreamSource = "upstream"
	upstreamOwner  = "the upstream cluster"
	// upstreamRetry is the longest time between two questions while the cluster does not answer.
	upstreamRetry = 10 * time.Second
)

// Priorities in discovery. Groups of Kubernetes keep the order that the cluster gives
// them; custom ones are alike, so that one more of them does not move all others.
const (
	corePriority    = 18000
	builtinPriority = 17900
	builtinStep     = 10
	lowestBuiltin   = 1100
	firstVersion    = 100
	lowestVersion   = 1
)

// Upstream is the cluster in front of which an aggregator stands. It is the backend with the
// lowest priority: it has what is registered nowhere else, and a registration wins over it, with
// the condition Shadowing. What it serves is part of discovery and OpenAPI; requests to it
// don't pass the aggregator's filters, see UpstreamProxy.
type Upstream struct {
	// Config has its address, and the credentials with which it is asked what it serves.
	Config *rest.Config
	// Interval is the time between two questions what it serves.
	Interval time.Duration
	Clock    clock.WithTicker
}

// upstream keeps what is known of the cluster in step with it. While the cluster does not
// answer, what was known stays.
type upstream struct {
	Upstream
	fetcher   *fetcher
	probe     *upstreamProbe
	openAPI   *upstreamOpenAPI
	discovery *discoverySource
	// setLocals tells the aggregator which group versions the cluster serves.
	setLocals func([]Local)

	etag string

	mu     sync.Mutex
	err    error
	synced bool
}

func newUpstream(config *Upstream, a *Aggregator, manager aggregated.ResourceManager) (*upstream, error) {
	registerUpstreamMetrics()
	fetcher, err := newFetcher(config.Config)
	if err != nil {
		return nil, err
	}
	documents, err := NewUpstreamProxy(config.Config, a.streams)
	if err != nil {
		return nil, err
	}
	return &upstream{
		Upstream: *config, fetcher: fetcher, probe: &upstreamProbe{fetcher: fetcher, clock: config.Clock},
		openAPI:   &upstreamOpenAPI{fetcher: fetcher, isRegistered: a.isRegistered, documents: documents},
		discovery: newDiscoverySource(manager, aggregated.BuiltinSource),
		setLocals: func(list []Local) { a.setLocals(upstreamSource, upstreamOwner, list) },
		err:       errors.New("the cluster has not been asked yet"),
	}, nil
}

// isRegistered reports whether a group version is served here in the upstream cluster's place.
func (a *Aggregator) isRegistered(gv schema.GroupVersion) bool {
	return gv.Group == apiregistration.GroupName || a.registry.find(gv.Group+"/"+gv.Version) != nil
}

// UpstreamError tells why the upstream cluster did not answer when it was last asked what it
// serves; nil if it did.
func (a *Aggregator) UpstreamError() error { return a.upstream.lastError() }

// UpstreamReady returns nil if the upstream cluster answers now, and said what it serves when it was
// last asked.
func (a *Aggregator) UpstreamReady(ctx context.Context) error {
	if err := a.upstream.lastError(); err != nil {
		return err
	}
	return a.upstream.probe.ready(ctx)
}

// run asks the cluster until ctx ends, often while it does not answer.
func (u *upstream) run(ctx context.Context) {
	for {
		u.poll(ctx)
		interval := u.Interval
		if u.lastError() != nil {
			interval = min(interval, upstreamRetry)
		}
		timer := u.Clock.NewTimer(interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

// poll asks the cluster once.
func (u *upstream) poll(ctx context.Context) {
	groups, etag, err := u.fetcher.discover(ctx, u.etag)
	switch {
	case errors.Is(err, errUnchanged):
		err = nil
	case err == nil:
		u.show(groups)
		u.etag = etag
	}
	if ctx.Err() != nil {
		return // The end of the process says nothing about the cluster.
	}
	u.record(err)
}

// record remembers how the last question went.
func (u *upstream) record(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if (err == nil) != (u.err == nil) {
		if err != nil {
			klog.ErrorS(err, "The cluster does not answer; discovery keeps what it knew")
		} else if u.synced {
			klog.InfoS("The cluster answers again")
		}
	}
	u.err = err
	u.synced = u.synced || err == nil
	up := 0.0
	if err == nil {
		up = 1
	}
	upstreamUp.Set(up)
}

func (u *upstream) lastError() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err != nil {
		return fmt.Errorf("the cluster at %s does not answer: %w", u.fetcher.target.Host, u.err)
	}
	return nil
}

// show hands on what the cluster serves now.
func (u *upstream) show(groups []apidiscovery.APIGroupDiscovery) {
	served := map[schema.GroupVersion]entry{}
	// Every cluster has the core, which is not under /apis.
	locals := []Local{{GroupVersion: schema.GroupVersion{Version: "v1"}, GroupPriorityMinimum: corePriority, VersionPriority: 1}}
	for i, group := range groups {
		if group.Name == apiregistration.GroupName {
			continue // The registrations are the aggregator's own.
		}
		for j, version := range group.Versions {
			gv := schema.GroupVersion{Group: group.Name, Version: version.Version}
			e := entry{version: version, groupPriority: upstreamPriority(group.Name, i), priority: int32(max(firstVersion-j, lowestVersion))}
			served[gv] = e
			locals = append(locals, Local{GroupVersion: gv, GroupPriorityMinimum: e.groupPriority, VersionPriority: e.priority})
		}
	}
	u.discovery.replace(served)
	upstreamVersions.Set(float64(len(served)))
	u.setLocals(locals)
}

// upstreamPriority returns the priority of the group at an index of the cluster's list.
func upstreamPriority(name string, index int) int32 {
	if strings.Contains(name, ".") && !strings.HasSuffix(name, ".k8s.io") {
		return defaultGroupPriority
	}
	return int32(max(builtinPriority-index*builtinStep, lowestBuiltin))
}
