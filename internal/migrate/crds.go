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
	"github.com/docket-project/docket/internal/server/imports"
)

// Options of a migration between the custom resources of a cluster and Docket.
type Options struct {
	// Cluster and Docket say how to reach the two.
	Cluster, Docket *rest.Config
	// Groups to migrate.
	Groups []string
	// Kinds that each Docket can serve. Of other groups, CRDs of the cluster and definitions of
	// the server, which Define reads, say which kinds there are.
	Kinds  []imports.Kind
	Define func(definition map[string]any) (imports.Kind, error)
	// Namespace of the ConfigMap with the state.
	Namespace string
	// Switch makes the migration change the APIServices itself, to APIServices if it is
	// one into Docket.
	Switch      bool
	APIServices []*unstructured.Unstructured
	// Overwrite permits overwriting objects that the destination already has and that no
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
	// objects in Docket.
	inCluster *api
	inDocket  *api
	retry     *retrier
	state     *State
	// groups are those to migrate that have CRDs.
	groups []group
	tally  *tally
	out    *printer
}

// group is an API group that moves.
type group struct {
	name string
	// kinds that have a CRD, and the names of the APIServices of the versions that Docket serves.
	kinds    []imports.Kind
	services []string
}

// NewCrds returns a migration that has not started.
func NewCrds(options Options) (*Crds, error) {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Settle == 0 {
		options.Settle = DefaultSettle
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
	m.inCluster = &api{client: m.raw, version: migrationVersion, retry: m.retry}
	m.inDocket = &api{client: docket, retry: m.retry}
	return m, nil
}

// look returns a group with the kinds that have a CRD.
func (m *Crds) look(ctx context.Context, name string) (group, error) {
	g := group{name: name}
	known := slices.DeleteFunc(slices.Clone(m.options.Kinds), func(kind imports.Kind) bool { return kind.Group != name })
	crds, err := m.crds.of(ctx, name)
	switch {
	case err != nil:
		return g, err
	case len(known) == 0 && len(crds) > 0:
		return m.lookDefined(ctx, name, crds)
	}
	g.services = servicesOf(known)
	for _, kind := range known {
		crd := crds[crdName(kind)]
		if crd == nil {
			continue
		}
		if err := checkCRD(kind, crd); err != nil {
			return g, err
		}
		g.kinds = append(g.kinds, kind)
	}
	return g, nil
}

// find finds the groups that have CRDs, and checks that Docket serves them.
func (m *Crds) find(ctx context.Context) error {
	var missing []string
	m.groups = nil
	for _, name := range m.options.Groups {
		g, err := m.look(ctx, name)
		if err != nil {
			return err
		}
		if len(g.kinds) == 0 {
			missing = append(missing, name)
			continue
		}
		m.groups = append(m.groups, g)
		if err := m.servedByDocket(ctx, g); err != nil {
			return err
		}
	}
	if len(m.groups) == 0 {
		return fmt.Errorf("the cluster has no CustomResourceDefinitions of %s: apply those of whatever writes the objects first, "+
			"or choose other groups with --api-groups", strings.Join(missing, ", "))
	}
	if len(missing) > 0 {
		m.out.say("No CustomResourceDefinitions of %s: there is nothing to migrate.", strings.Join(missing, ", "))
	}
	return nil
}

// names returns the names of the groups.
func (m *Crds) names() (names []string) {
	for _, g := range m.groups {
		names = append(names, g.name)
	}
	return names
}

// kinds returns the kinds of all groups.
func (m *Crds) kinds() (kinds []imports.Kind) {
	for _, g := range m.groups {
		kinds = append(kinds, g.kinds...)
	}
	return kinds
}

// copier returns a copier of kinds in the direction of the migration.
func (m *Crds) copier(kinds []imports.Kind) *copier {
	c := &copier{kinds: kinds, from: m.inCluster, to: docketServer(m.inDocket), state: m.state, tally: m.tally}
	if m.state.direction() == ToCluster {
		c.from, c.to = m.inDocket, customResources(m.inCluster, kinds)
	}
	return c
}

func (m *Crds) servedByDocket(ctx context.Context, g group) error {
	err := m.retry.do(ctx, "ask Docket what it serves", func() error {
		return m.inDocket.client.Get().AbsPath("/apis/" + g.name + "/" + g.kinds[0].Version).Do(ctx).Error()
	})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the server does not serve %s: check that --server is Docket, and that its --api-groups includes the group", g.name)
	case err != nil:
		return fmt.Errorf("ask Docket: %w", explain(err, "Docket"))
	}
	return nil
}

// addVersions adds the version for the migration, and waits until it is served.
func (m *Crds) addVersions(ctx context.Context, kinds []imports.Kind) error {
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
func (m *Crds) waitServed(ctx context.Context, kind imports.Kind) error {
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
		m.out.say("Docket keeps its objects in etcd, whose revisions can't be moved, and doesn't hold requests: " +
			"after the switch, restart clients that watch objects.")
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

// bar shows progress on the objects of a side until the returned function is called.
func (m *Crds) bar(ctx context.Context, side *api, kinds []imports.Kind, label string) (stop func(), err error) {
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
