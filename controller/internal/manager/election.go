// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// The values of kube-controller-manager: a leader that died is replaced within 17 s.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second

	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

var (
	errLeaseLost = errors.New("the lease was lost: another replica leads now, or the cluster did not answer in time; restart to stand by")
	// errEnding is the cause of a leader's context if the process was told to end: the lease is still held.
	errEnding = errors.New("the process is ending")
)

// elect runs lead while this process holds the lease. It returns when ctx is done or the lease
// is lost, in both cases after lead has returned. The lease is released last, so that the next leader finds
// everything that lead has written.
func elect(ctx context.Context, client kubernetes.Interface, recorder record.EventRecorder, namespace string, lead func(context.Context) error) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name of this replica: %w", err)
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, leaseName, client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID()), EventRecorder: recorder})
	if err != nil {
		return fmt.Errorf("lease %s/%s: %w", namespace, leaseName, err)
	}
	// Not ctx: the lease is held until lead has returned.
	holding, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	term := &term{ctx: ctx, release: release, lead: lead, identity: lock.Identity(), ended: make(chan struct{})}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: leaseName, ReleaseOnCancel: true,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: term.run, OnStoppedLeading: func() {}, OnNewLeader: term.logLeader},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	defer context.AfterFunc(ctx, term.stopWaiting)()
	elector.Run(holding)
	return term.result()
}

// term is the time during which this process leads. There is at most one: a process that has lost its lease ends.
type term struct {
	ctx     context.Context //nolint:containedctx // It belongs to the one call of elect.
	release context.CancelFunc
	lead    func(context.Context) error
	// identity is the name of this process in the lease.
	identity string

	mu      sync.Mutex
	started bool
	over    bool // It ended before it had started.
	ended   chan struct{}
	err     error // Guarded by ended.
}

// run is called by the elector, which does not wait for its goroutine; result does.
func (t *term) run(holding context.Context) {
	t.mu.Lock()
	t.started = !t.over
	t.mu.Unlock()
	if !t.started {
		return
	}
	defer t.release()
	defer close(t.ended)
	leading, stop := context.WithCancelCause(holding)
	defer stop(nil)
	defer context.AfterFunc(t.ctx, func() { stop(errEnding) })()
	t.err = t.lead(leading)
}

// stopWaiting ends a term that has not started. One that has started ends by itself.
func (t *term) stopWaiting() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.started {
		t.over = true
		t.release()
	}
}

// result is called when the lease is no longer held.
func (t *term) result() error {
	t.stopWaiting()
	t.mu.Lock()
	started := t.started
	t.mu.Unlock()
	if started {
		<-t.ended
		if t.err != nil {
			return t.err
		}
	}
	if t.ctx.Err() == nil {
		return errLeaseLost
	}
	return nil
}

// podNamespace returns the value of a flag or, if it is empty, the namespace of the pod.
func podNamespace(flag, value string) (string, error) {
	if value != "" {
		return value, nil
	}
	text, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("--%s: is required outside of a pod; for a single replica without admission, --leader-elect=false will do: %w", flag, err)
	}
	return strings.TrimSpace(string(text)), nil
}
