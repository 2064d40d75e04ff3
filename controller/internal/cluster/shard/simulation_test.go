// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	clocktesting "k8s.io/utils/clock/testing"
)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// server has leases as an API server has them: an update needs the current resourceVersion.
type server struct {
	mu      sync.Mutex
	objects map[string]*coordinationv1.Lease
	version int
}

// client is a replica's way to the server.
type client struct {
	coordinationclient.LeaseInterface

	server *server
	// away is true while no request gets through.
	away bool
	// given is called with the name of a lease that is given back.
	given func(name string)
}

var errAway = errors.New("the server is away")

func (c *client) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	object := c.server.objects[name]
	switch {
	case c.away:
		return nil, errAway
	case object == nil:
		return nil, apierrors.NewNotFound(leases, name)
	}
	return object.DeepCopy(), nil
}

func (c *client) Create(_ context.Context, object *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	switch {
	case c.away:
		return nil, errAway
	case c.server.objects[object.Name] != nil:
		return nil, apierrors.NewAlreadyExists(leases, object.Name)
	}
	return c.server.put(object), nil
}

func (c *client) Update(_ context.Context, object *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	switch {
	case c.away:
		return nil, errAway
	case c.server.objects[object.Name].ResourceVersion != object.ResourceVersion:
		return nil, apierrors.NewConflict(leases, object.Name, errors.New("changed"))
	}
	if identityIn(object) == "" {
		c.given(object.Name)
	}
	return c.server.put(object), nil
}

// put is called with the mutex.
func (s *server) put(object *coordinationv1.Lease) *coordinationv1.Lease {
	s.version++
	object = object.DeepCopy()
	object.ResourceVersion = strconv.Itoa(s.version)
	s.objects[object.Name] = object
	return object.DeepCopy()
}

// replica is one process of the simulation.
type replica struct {
	*coordinator

	client *client
	// works is what its work is for now.
	works Set
}

// simulation has replicas that take turns, each with one tick at a time. Time passes between rounds only.
type simulation struct {
	t        *testing.T
	server   *server
	clock    *clocktesting.FakeClock
	shards   int
	replicas []*replica
	made     int
}

func newSimulation(t *testing.T, shards, replicas int) *simulation {
	t.Helper()
	s := &simulation{t: t, shards: shards, server: &server{objects: map[string]*coordinationv1.Lease{}}, clock: clocktesting.NewFakeClock(time.Unix(1e9, 0))}
	for range replicas {
		s.add()
	}
	return s
}

func (s *simulation) add() {
	s.made++
	r := &replica{client: &client{server: s.server}}
	config := Config{Leases: r.client, Name: "x", Identity: fmt.Sprint("replica-", s.made), Count: s.shards, Clock: s.clock}
	if err := config.complete(); err != nil {
		s.t.Fatal(err)
	}
	r.coordinator = newCoordinator(config, func(ctx context.Context, _ Set) error {
		<-ctx.Done()
		return nil
	})
	r.client.given = func(name string) {
		if r.working != nil && slices.ContainsFunc(r.leases, func(l *lease) bool { return l.name == name && slices.Contains(r.working.set.Held, l.shard) }) {
			s.t.Errorf("%s is given back while %s works for it", name, r.config.Identity)
		}
	}
	s.replicas = append(s.replicas, r)
}

// round gives each replica its turn, in an order of its own, and checks that no shard is worked for twice. A replica
// that has lost a lease is replaced, as a Deployment does.
func (s *simulation) round(random *rand.Rand) {
	s.t.Helper()
	random.Shuffle(len(s.replicas), func(i, j int) { s.replicas[i], s.replicas[j] = s.replicas[j], s.replicas[i] })
	for _, r := range slices.Clone(s.replicas) {
		if !s.turn(r) {
			s.kill(r)
			s.add()
		}
		s.check()
	}
	s.clock.Step(DefaultRetry)
}

// turn is a passage of the loop of Run. It returns false if the replica has lost a lease.
func (s *simulation) turn(r *replica) bool {
	s.t.Helper()
	r.tick(s.t.Context(), true)
	if r.lost() {
		r.works = Set{}
		if err := r.abandon(); !errors.Is(err, ErrLost) {
			s.t.Errorf("a lost lease: %v", err)
		}
		return false
	}
	r.start(s.t.Context())
	r.giveBack(s.t.Context(), r.isFree)
	if r.working != nil && r.working.stopped {
		if err := <-r.working.ended; err != nil {
			s.t.Error(err)
		}
		r.working = nil
		r.giveBack(s.t.Context(), r.isFree)
	}
	r.works = Set{Count: s.shards}
	if r.working != nil {
		r.works = r.working.set
	}
	return true
}

// kill removes a replica that gives nothing back.
func (s *simulation) kill(r *replica) {
	r.stop(ErrLost)
	s.replicas = slices.DeleteFunc(s.replicas, func(other *replica) bool { return other == r })
}

// end removes a replica that gives everything back.
func (s *simulation) end(r *replica) {
	r.stop(ErrEnding)
	r.working = nil
	r.giveBack(s.t.Context(), func(*lease) bool { return true })
	s.kill(r)
}

func (s *simulation) check() {
	s.t.Helper()
	by := map[int]string{}
	for _, r := range s.replicas {
		for _, held := range r.works.Held {
			if other := by[held]; other != "" {
				s.t.Fatalf("shard %d is worked for by %s and %s", held, other, r.config.Identity)
			}
			by[held] = r.config.Identity
		}
	}
}

// settled says what is wrong with the shares; "" for nothing.
func (s *simulation) settled() string {
	most, least, all := 0, s.shards, 0
	for _, r := range s.replicas {
		held := len(r.works.Held)
		most, least, all = max(most, held), min(least, held), all+held
	}
	if all == s.shards && most-least <= 1 {
		return ""
	}
	return fmt.Sprintf("%d of %d shards are worked for; a replica has %d to %d", all, s.shards, least, most)
}

// TestSimulation: whatever happens to replicas and their ways to the server, no shard is ever worked for twice, and
// once nothing happens any more, all shards are worked for, in equal shares.
func TestSimulation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0)) // Reproducible.
		s := newSimulation(t, 1+random.IntN(6), 1+random.IntN(5))
		for range 200 {
			s.mishap(random)
			s.round(random)
		}
		for _, r := range s.replicas {
			r.client.away = false
		}
		const enough = 60
		for range enough {
			s.round(random)
		}
		if problem := s.settled(); problem != "" {
			t.Errorf("seed %d: %s", seed, problem)
		}
	}
}

// mishap has something happen, sometimes.
func (s *simulation) mishap(random *rand.Rand) {
	r := s.replicas[random.IntN(len(s.replicas))]
	switch random.IntN(20) {
	case 0:
		s.kill(r)
		s.add()
	case 1:
		s.end(r)
		s.add()
	case 2, 3:
		r.client.away = !r.client.away
	case 4:
		if len(s.replicas) > 1 {
			s.kill(r)
		}
	case 5:
		s.add()
	}
}

// TestTakenOver: the shard of a replica that died is worked for by another one within 15 s.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{2, 3, 4} {
		random := rand.New(rand.NewPCG(1, 0)) // Reproducible.
		s := newSimulation(t, 3, replicas)
		for range 20 {
			s.round(random)
		}
		s.kill(s.replicas[0])
		begin := s.clock.Now()
		for held := 0; held < 3; {
			s.round(random)
			held = 0
			for _, r := range s.replicas {
				held += len(r.works.Held)
			}
		}
		if took := s.clock.Since(begin); took > 15*time.Second {
			t.Errorf("%d replicas: taken over after %v", replicas, took)
		}
	}
}

// TestReplicasStartTogether: each gets its share at once, and none has to give one back.
func TestReplicasStartTogether(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 0)) // Reproducible.
	s := newSimulation(t, 3, 3)
	for range 3 {
		s.round(random)
	}
	if problem := s.settled(); problem != "" {
		t.Error(problem)
	}
	for name, object := range s.server.objects {
		if object.Spec.LeaseTransitions == nil || *object.Spec.LeaseTransitions != 0 {
			t.Errorf("%s has changed hands", name)
		}
	}
}
