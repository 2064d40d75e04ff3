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
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
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
	away atomic.Bool
	// slow is true while requests get through, and their answers are lost.
	slow atomic.Bool
	// given is called with the name of a lease that is given back.
	given func(name string)
}

var errAway = errors.New("the server is away")

func (c *client) Leases(string) coordinationclient.LeaseInterface { return c }

func (c *client) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	object := c.server.objects[name]
	switch {
	case c.away.Load():
		return nil, errAway
	case object == nil:
		return nil, apierrors.NewNotFound(leases, name)
	}
	return object.DeepCopy(), c.answer(ctx)
}

func (c *client) Create(ctx context.Context, object *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	switch {
	case c.away.Load():
		return nil, errAway
	case c.server.objects[object.Name] != nil:
		return nil, apierrors.NewAlreadyExists(leases, object.Name)
	}
	return c.server.put(object), c.answer(ctx)
}

func (c *client) Update(ctx context.Context, object *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	switch {
	case c.away.Load():
		return nil, errAway
	case c.server.objects[object.Name].ResourceVersion != object.ResourceVersion:
		return nil, apierrors.NewConflict(leases, object.Name, errors.New("changed"))
	}
	if ptr.Deref(object.Spec.HolderIdentity, "") == "" {
		c.given(object.Name)
	}
	return c.server.put(object), c.answer(ctx)
}

// answer is called with the mutex of the server.
func (c *client) answer(ctx context.Context) error {
	if c.slow.Load() {
		c.server.mu.Unlock()
		<-ctx.Done()
		c.server.mu.Lock()
	}
	return ctx.Err()
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
	simulation *simulation
	name       string
	client     *client
	stop       context.CancelFunc
	ended      chan error

	// works is what its work is for now; killed is true once it works no more, whatever it does.
	mu     sync.Mutex
	works  Set
	killed bool
}

// simulation has replicas that run as they do in a cluster, by a clock of the simulation.
type simulation struct {
	t        *testing.T
	server   *server
	shards   int
	replicas []*replica
	made     int

	mu sync.Mutex
	// by has who works for a shard.
	by map[int]string
}

func newSimulation(t *testing.T, shards, replicas int) *simulation {
	t.Helper()
	s := &simulation{t: t, shards: shards, server: &server{objects: map[string]*coordinationv1.Lease{}}, by: map[int]string{}}
	for range replicas {
		s.add()
	}
	return s
}

func (s *simulation) add() {
	s.made++
	r := &replica{simulation: s, name: fmt.Sprint("replica-", s.made), client: &client{server: s.server}, ended: make(chan error, 1)}
	r.client.given = func(name string) {
		if slices.ContainsFunc(r.working(), func(shard int) bool { return name == leaseName(shard) }) {
			s.t.Errorf("%s is given back while %s works for it", name, r.name)
		}
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(s.t.Context())
	go func() {
		r.ended <- Run(ctx, Config{Leases: r.client, Name: "x", Identity: r.name, Count: s.shards}, r.work)
	}()
	s.replicas = append(s.replicas, r)
}

func leaseName(shard int) string {
	if shard == 0 {
		return "x"
	}
	return fmt.Sprint("x-", shard)
}

// work takes a moment to end, as writing the last reports does.
func (r *replica) work(ctx context.Context, set Set) error {
	r.set(set)
	<-ctx.Done()
	clock.RealClock{}.Sleep(200 * time.Millisecond)
	r.set(Set{})
	return nil
}

// set notes what is worked for, and that nobody else works for it.
func (r *replica) set(set Set) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed {
		return
	}
	s := r.simulation
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, shard := range r.works.Held {
		delete(s.by, shard)
	}
	for _, shard := range set.Held {
		if other := s.by[shard]; other != "" {
			s.t.Errorf("shard %d is worked for by %s and %s", shard, other, r.name)
		}
		s.by[shard] = r.name
	}
	r.works = set
}

func (r *replica) working() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.works.Held
}

// kill removes a replica that gives nothing back.
func (s *simulation) kill(r *replica) {
	r.set(Set{})
	r.mu.Lock()
	r.killed = true
	r.mu.Unlock()
	r.client.away.Store(true)
	r.stop()
	s.replicas = slices.DeleteFunc(s.replicas, func(other *replica) bool { return other == r })
}

// end removes a replica that gives everything back.
func (s *simulation) end(r *replica) {
	r.stop()
	s.replicas = slices.DeleteFunc(s.replicas, func(other *replica) bool { return other == r })
}

// pass lets time pass. A replica that has lost a lease is replaced, as a Deployment does.
func (s *simulation) pass(some time.Duration) {
	s.t.Helper()
	clock.RealClock{}.Sleep(some)
	synctest.Wait()
	for _, r := range slices.Clone(s.replicas) {
		select {
		case err := <-r.ended:
			if !errors.Is(err, ErrLost) {
				s.t.Errorf("%s has ended: %v", r.name, err)
			}
			s.end(r)
			s.add()
		default:
		}
	}
}

// worked returns how many shards are worked for.
func (s *simulation) worked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.by)
}

// settled says what is wrong with the shares; "" for nothing.
func (s *simulation) settled() string {
	most, least := 0, s.shards
	for _, r := range s.replicas {
		held := len(r.working())
		most, least = max(most, held), min(least, held)
	}
	if s.worked() == s.shards && most-least <= 1 {
		return ""
	}
	return fmt.Sprintf("%d of %d shards are worked for; a replica has %d to %d", s.worked(), s.shards, least, most)
}

// simulate runs a simulation, and ends its replicas.
func simulate(t *testing.T, shards, replicas int, run func(*simulation)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(t, shards, replicas)
		run(s)
		for _, r := range slices.Clone(s.replicas) {
			r.client.away.Store(false)
			r.client.slow.Store(false)
			s.end(r)
		}
		clock.RealClock{}.Sleep(time.Minute)
	})
}

// TestSimulation: whatever happens to replicas and their ways to the server, no shard is ever worked for twice, and
// once nothing happens any more, all shards are worked for, in equal shares.
func TestSimulation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0)) // Reproducible.
		simulate(t, 1+random.IntN(6), 1+random.IntN(5), func(s *simulation) {
			for range 200 {
				s.mishap(random)
				s.pass(1500 * time.Millisecond)
			}
			for _, r := range s.replicas {
				r.client.away.Store(false)
				r.client.slow.Store(false)
			}
			for range 60 {
				s.pass(1500 * time.Millisecond)
			}
			if problem := s.settled(); problem != "" {
				t.Errorf("seed %d: %s", seed, problem)
			}
		})
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
		r.client.away.Store(!r.client.away.Load())
	case 4:
		r.client.slow.Store(!r.client.slow.Load())
	case 5:
		if len(s.replicas) > 1 {
			s.kill(r)
		}
	case 6:
		s.add()
	}
}

// TestTakenOver: the shards of a replica that died are worked for by others within 15 s, whenever it dies.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0)) // Reproducible.
		replicas := 2 + random.IntN(3)
		simulate(t, 3, replicas, func(s *simulation) {
			s.pass(30*time.Second + time.Duration(random.IntN(5000))*time.Millisecond)
			begin := time.Now()
			s.kill(slices.MaxFunc(s.replicas, func(a, b *replica) int { return len(a.working()) - len(b.working()) }))
			for s.worked() < s.shards {
				s.pass(100 * time.Millisecond)
			}
			if took := time.Since(begin); took > 15*time.Second {
				t.Errorf("%d replicas: taken over after %v", replicas, took)
			}
		})
	}
}

// TestReplicasStartTogether: each gets its share at once, and none has to give one back.
func TestReplicasStartTogether(t *testing.T) {
	t.Parallel()
	simulate(t, 3, 3, func(s *simulation) {
		s.pass(5 * time.Second)
		if problem := s.settled(); problem != "" {
			t.Error(problem)
		}
		s.server.mu.Lock()
		defer s.server.mu.Unlock()
		for name, object := range s.server.objects {
			if object.Spec.LeaseTransitions == nil || *object.Spec.LeaseTransitions != 0 {
				t.Errorf("%s has changed hands", name)
			}
		}
	})
}
