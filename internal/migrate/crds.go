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

	"github.com/docket-project/docket/internal/imports"
	"github.com/docket-project/docket/internal/progress"
	"github.com/docket-project/docket/internal/registry"
)

// Options of a migration between the custom resources of a cluster and Docket.
type Options struct {
	// Cluster and Docket are how to reach the two.
	Cluster, Docket *rest.Config
	// Groups to migrate.
	Groups []string
	// Namespace of the ConfigMap with the state.
	Namespace string
	// Switch: the migration changes the APIServices itself. APIServices are those
	// that point to Docket.
	Switch      bool
	APIServices []*unstructured.Unstructured
	// Overwrite allows to overwrite reports that the destination holds already and
	// that came from no migration.
	Overwrite bool
	// Settle is how long to wait until all parts of a control plane have seen a
	// change; 0 is DefaultSettle.
	Settle time.Duration
	// Out is for what is done, Err for progress.
	Out, Err io.Writer
	// Clock; the real one when nil.
	Clock clock.Clock
}

// DefaultSettle is more than the second in which servers of a healthy control plane
// see changes of CRDs and APIServices.
const DefaultSettle = 3 * time.Second

// Crds migrates between the custom resources of a cluster and Docket. Make one with
// NewCrds; its methods are not to be called at the same time.
type Crds struct {
	options  Options
	kube     kubernetes.Interface
	raw      *rest.RESTClient
	crds     *crds
	services *apiServices
	// inCluster are the custom resources, at the version for the migration.
	inCluster *api
	inDocket  *api
	retry     *retrier
	state     *State
	tally     *tally
	out       *printer
}

// NewCrds returns a migration that was not begun.
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
	m.retry = &retrier{clock: options.Clock, tell: m.out.trouble}
	limitless := rest.CopyConfig(options.Cluster)
	limitless.QPS = -1
	var err error
	if m.kube, err = kubernetes.NewForConfig(limitless); err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(limitless)
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

// find leaves only groups that have CRDs, and checks that Docket serves them.
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
		return nil, fmt.Errorf("the cluster has no CustomResourceDefinitions of %s: apply those of your policy engine first, "+
			"or choose other groups with --api-groups", strings.Join(missing, ", "))
	}
	if len(missing) > 0 {
		m.out.say("No CustomResourceDefinitions of %s: there is nothing to migrate.", strings.Join(missing, ", "))
	}
	m.options.Groups = slices.DeleteFunc(slices.Clone(m.options.Groups), func(g string) bool { return found[g] == nil })
	return found, nil
}

// copier returns what copies kinds in the direction of the migration.
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
		return fmt.Errorf("the server does not serve %s: is --server a Docket, and does its --api-groups name the group?", group)
	case err != nil:
		return fmt.Errorf("ask Docket: %w", explain(err, "Docket"))
	}
	return nil
}

// addVersions makes the custom resources readable at the version for the migration.
func (m *Crds) addVersions(ctx context.Context, kinds []registry.Kind) error {
	for _, kind := range kinds {
		if err := m.crds.addVersion(ctx, kind); err != nil {
			return err
		}
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

// setServed makes the cluster serve the real version of kinds from their CRDs, or not.
func (m *Crds) setServed(ctx context.Context, kinds []registry.Kind, served bool) error {
	for _, kind := range kinds {
		if err := m.crds.setServed(ctx, kind, served); err != nil {
			return err
		}
	}
	return nil
}

// removeVersions takes the version for the migration away again.
func (m *Crds) removeVersions(ctx context.Context, kinds []registry.Kind) error {
	for _, kind := range kinds {
		if err := m.crds.removeVersion(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// hold sets what Docket does with requests for groups. ok is false when its database
// knows no holds.
func (m *Crds) hold(ctx context.Context, hold imports.Hold, groups ...string) (ok bool, err error) {
	err = m.inDocket.post(ctx, imports.HoldPath, imports.HoldRequest{Groups: groups, Hold: hold}, &imports.HoldRequest{})
	if isNotImplemented(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("hold requests back: %w", explain(err, "Docket"))
	}
	return true, nil
}

// raiseFloor makes Docket's revisions higher than those of a store.
func (m *Crds) raiseFloor(ctx context.Context, request imports.FloorRequest) error {
	var response imports.FloorResponse
	err := m.inDocket.post(ctx, imports.FloorPath, request, &response)
	switch {
	case isNotImplemented(err):
		m.out.say("Docket keeps its reports in etcd, whose revisions can't be moved, and holds no requests back: " +
			"restart clients that watch reports after the switch.")
		return nil
	case err != nil:
		return fmt.Errorf("raise the resource versions of Docket: %w", explain(err, "Docket"))
	}
	if response.Raised {
		m.out.say("Docket's resource versions go on from %d: clients that come with older ones list again.", response.Revision)
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

// trouble tells what is retried, at most every few seconds.
func (p *printer) trouble(what string, err error) {
	const interval = 5 * time.Second
	p.mu.Lock()
	defer p.mu.Unlock()
	if text := what + err.Error(); text != p.lastWas || p.clock.Since(p.told) >= interval {
		p.told, p.lastWas = p.clock.Now(), text
		fmt.Fprintf(p.err, "%s: %v; trying again\n", what, err)
	}
}
