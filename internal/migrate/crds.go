// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/progress"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/imports"
)

// Options of a migration between the custom resources of a cluster and Docket.
type Options struct {
	// Cluster and Docket say how to reach the two.
	Cluster, Docket *rest.Config
	// Groups to migrate.
	Groups []string
	// Namespace of the ConfigMap with the state.
	Namespace string
	// Switch makes the migration change the APIServices itself, to APIServices if it is
	// one into Docket.
	Switch      bool
	APIServices []*unstructured.Unstructured
	// Overwrite permits overwriting reports that the destination already has and that no
	// migration imported.
	Overwrite bool
	// Settle is how long to wait until all parts of a control plane have seen a change; 0
	// is DefaultSettle.
	Settle time.Duration
	// Out receives messages, Err progress.
	Out, Err io.Writer
	// Clock is the real one if nil.
	Clock clock.Clock
}

// DefaultSettle is longer than the second in which the servers of a healthy control plane
// see changes to CRDs and APIServices.
const DefaultSettle = 3 * time.Second

// Crds migrates between the custom resources of a cluster and Docket. Create one with
// NewCrds. Not safe for concurrent use.
type Crds struct {
	options  Options
	kube     kubernetes.Interface
	raw      *rest.RESTClient
	crds     *crds
	services *apiServices
	// inCluster is the custom resources, at the version for the migration; inDocket is the
	// reports in Docket.
	inCluster *api
	inDocket  *api
	retry     *retrier
	state     *State
	tally     *tally
	out       *printer
}

// NewCrds returns a migration that has not started.
func NewCrds(options Options) (*Crds, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Settle == 0 {
		options.Settle = DefaultSettle
	}
	if err := registry.ValidateGroups(options.Groups); err != nil {
		return nil, err
	}
	m := &Crds{options: options, tally: newTally(), out: &printer{out: options.Out, err: options.Err, clock: options.Clock}}
	m.retry = &retrier{clock: options.Clock, report: m.out.trouble}
	unlimited := rest.CopyConfig(options.Cluster)
	unlimited.QPS = -1
	var err error
	if m.kube, err = kubernetes.NewForConfig(unlimited); err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(unlimited)
	if err != nil {
		return nil, err
	}
	m.crds, m.services = newCRDs(dynamicClient, m.retry), newAPIServices(dynamicClient, m.retry)
	if m.raw, err = newClient(options.Cluster); err != nil {
		return nil, err
	}
	docket, err := newClient(options.Docket)
	if err != nil {
		return nil, err
	}
	m.inCluster = &api{client: m.raw, version: addedVersion, retry: m.retry}
	m.inDocket = &api{client: docket, version: realVersion, retry: m.retry}
	return m, nil
}

// kindsOf returns the kinds of some groups.
func kindsOf(groups []string) []registry.Kind {
	return slices.DeleteFunc(registry.Kinds(), func(kind registry.Kind) bool {
		return !slices.Contains(groups, kind.GroupVersionKind.Group)
	})
}

// withCRD returns the kinds of a group that have a CRD.
func (m *Crds) withCRD(ctx context.Context, group string) ([]registry.Kind, error) {
	var found []registry.Kind
	for _, kind := range kindsOf([]string{group}) {
		crd, err := m.crds.get(ctx, kind)
		if err != nil {
			return nil, err
		}
		if crd == nil {
			continue
		}
		if err := checkCRD(kind, crd); err != nil {
			return nil, err
		}
		found = append(found, kind)
	}
	return found, nil
}

// find returns the kinds of each group that have CRDs, drops groups without any, and checks
// that Docket serves the rest.
func (m *Crds) find(ctx context.Context) (map[string][]registry.Kind, error) {
	found := map[string][]registry.Kind{}
	var missing []string
	for _, group := range m.options.Groups {
		kinds, err := m.withCRD(ctx, group)
		if err != nil {
			return nil, err
		}
		if len(kinds) == 0 {
			missing = append(missing, group)
			continue
		}
		found[group] = kinds
		if err := m.servedByDocket(ctx, group); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the cluster has no CustomResourceDefinitions of %s: apply your policy engine's first, "+
			"or choose other groups with --api-groups", strings.Join(missing, ", "))
	}
	if len(missing) > 0 {
		m.out.say("No CustomResourceDefinitions of %s: there is nothing to migrate.", strings.Join(missing, ", "))
	}
	m.options.Groups = slices.DeleteFunc(slices.Clone(m.options.Groups), func(g string) bool { return found[g] == nil })
	return found, nil
}

// copier returns a copier of kinds in the direction of the migration.
func (m *Crds) copier(kinds []registry.Kind) *copier {
	c := &copier{kinds: kinds, from: m.inCluster, to: docketServer(m.inDocket), state: m.state, tally: m.tally}
	if m.state.direction() == ToCluster {
		c.from, c.to = m.inDocket, customResources(m.inCluster)
	}
	return c
}

func (m *Crds) servedByDocket(ctx context.Context, group string) error {
	err := m.retry.do(ctx, "ask Docket what it serves", func() error {
		return m.inDocket.client.Get().AbsPath("/apis/" + group + "/" + versionOf(group)).Do(ctx).Error()
	})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the server does not serve %s: check that --server is Docket, and that its --api-groups includes the group", group)
	case err != nil:
		return fmt.Errorf("ask Docket: %w", explain(err, "Docket"))
	}
	return nil
}

// addVersions adds the version for the migration, and waits until it is served.
func (m *Crds) addVersions(ctx context.Context, kinds []registry.Kind) error {
	if err := m.crds.addVersions(ctx, kinds); err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := m.waitServed(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// waitServed waits until the version for the migration is served.
func (m *Crds) waitServed(ctx context.Context, kind registry.Kind) error {
	return m.retry.until(ctx, "wait for "+kind.Resource, func() (bool, error) {
		err := m.raw.Get().AbsPath(m.inCluster.path(kind, "", "")).Param("limit", "1").Do(ctx).Error()
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, explain(err, "the cluster")
	})
}

// hold sets what Docket does with requests for groups. ok is false if its database doesn't
// support holds.
func (m *Crds) hold(ctx context.Context, hold imports.Hold, groups ...string) (ok bool, err error) {
	err = m.inDocket.post(ctx, imports.HoldPath, imports.HoldRequest{Groups: groups, Hold: hold}, &imports.HoldRequest{})
	if isNotImplemented(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("hold requests: %w", explain(err, "Docket"))
	}
	return true, nil
}

// raiseFloor moves Docket's resource versions above those of another store.
func (m *Crds) raiseFloor(ctx context.Context, request imports.FloorRequest) error {
	var response imports.FloorResponse
	err := m.inDocket.post(ctx, imports.FloorPath, request, &response)
	switch {
	case isNotImplemented(err):
		m.out.say("Docket keeps its reports in etcd, whose revisions can't be moved, and doesn't hold requests: " +
			"after the switch, restart clients that watch reports.")
		return nil
	case err != nil:
		return fmt.Errorf("raise the resource versions of Docket: %w", explain(err, "Docket"))
	}
	if response.Raised {
		m.out.say("Docket's resource versions continue from %d: clients with older ones list again.", response.Revision)
	}
	return nil
}

func isNotImplemented(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusNotImplemented
}

// bar shows progress on the reports of a side until the returned function is called.
func (m *Crds) bar(ctx context.Context, side *api, kinds []registry.Kind, label string) (stop func(), err error) {
	total, err := side.count(ctx, kinds)
	if err != nil {
		return nil, err
	}
	bar := progress.New(m.options.Err, total, label)
	m.tally.show(bar)
	return func() {
		m.tally.show(nil)
		bar.Done()
	}, nil
}

// printer writes messages. Safe for concurrent use.
type printer struct {
	out, err io.Writer
	clock    clock.PassiveClock

	mu      sync.Mutex
	told    time.Time
	lastWas string
}

func (p *printer) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// trouble reports what is retried, at most every few seconds.
func (p *printer) trouble(what string, err error) {
	const interval = 5 * time.Second
	p.mu.Lock()
	defer p.mu.Unlock()
	if text := what + err.Error(); text != p.lastWas || p.clock.Since(p.told) >= interval {
		p.told, p.lastWas = p.clock.Now(), text
		fmt.Fprintf(p.err, "%s: %v; retrying\n", what, err)
	}
}
