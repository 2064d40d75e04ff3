// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// Control planes that the tests of a process share are the purpose of these.
var (
	sharedPlain, sharedDocket sharedPlane
)

// SharedCluster returns a control plane without Docket, for tests that keep to namespaces of their own (see
// Namespace), and leave alone what belongs to the whole cluster. StopShared ends it.
func SharedCluster(t testing.TB) *Cluster {
	t.Helper()
	c, _ := sharedPlain.get(t, func(testing.TB, *Cluster) *Replica { return nil })
	return c
}

// SharedDocket is SharedCluster with reports in Docket, on SQLite.
func SharedDocket(t testing.TB) (*Cluster, *Replica) {
	t.Helper()
	return sharedDocket.get(t, func(t testing.TB, c *Cluster) *Replica {
		replica := c.Serve(t)
		c.Register(t, replica.Port)
		return replica
	})
}

// Namespace makes a namespace that no other test uses, and returns its name, which begins with a prefix.
func (c *Cluster) Namespace(t testing.TB, prefix string) string {
	t.Helper()
	name := prefix + "-" + strings.ToLower(randomToken()[:6])
	c.EnsureNamespace(t, name)
	return name
}

// StopShared ends the shared control planes. TestMain calls it.
func StopShared() error {
	return errors.Join(sharedDocket.stop(), sharedPlain.stop())
}

// sharedPlane is a control plane that outlives the test that starts it.
type sharedPlane struct {
	mu      sync.Mutex
	owner   *outliving
	cluster *Cluster
	replica *Replica
}

func (s *sharedPlane) get(t testing.TB, serve func(testing.TB, *Cluster) *Replica) (*Cluster, *Replica) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil {
		if s.owner != nil {
			t.Fatal("the shared control plane could not be started for an earlier test")
		}
		s.owner = &outliving{TB: t}
		cluster := StartCluster(s.owner)
		s.cluster, s.replica = cluster, serve(s.owner, cluster)
	}
	return s.cluster, s.replica
}

func (s *sharedPlane) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == nil {
		return nil
	}
	return s.owner.end()
}

// outliving is a test as far as the start of servers is concerned, which end with the process instead.
type outliving struct {
	testing.TB

	cleanups []func()
	ending   bool
	errs     []error // while it ends
}

// Cleanup keeps f for the end of the process.
func (o *outliving) Cleanup(f func()) { o.cleanups = append(o.cleanups, f) }

// Context outlives the test.
func (o *outliving) Context() context.Context { return context.WithoutCancel(o.TB.Context()) }

// TempDir outlives the test.
func (o *outliving) TempDir() string {
	dir, err := os.MkdirTemp("", "docket-shared-")
	if err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			o.Error(err)
		}
	})
	return dir
}

// Error fails the test, or at the end of the process that.
func (o *outliving) Error(arguments ...any) {
	if o.ending {
		o.errs = append(o.errs, errors.New(fmt.Sprint(arguments...)))
		return
	}
	o.TB.Helper()
	o.TB.Error(arguments...)
}

// Failed is false at the end of the process: logs are of interest to the tests that failed before.
func (o *outliving) Failed() bool { return !o.ending && o.TB.Failed() }

// Helper does nothing at the end of the process.
func (o *outliving) Helper() {
	if !o.ending {
		o.TB.Helper()
	}
}

func (o *outliving) end() error {
	o.ending = true
	for len(o.cleanups) > 0 {
		last := len(o.cleanups) - 1
		cleanup := o.cleanups[last]
		o.cleanups = o.cleanups[:last]
		cleanup()
	}
	return errors.Join(o.errs...)
}
