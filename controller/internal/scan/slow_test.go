// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/controller/internal/scan"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestSlowPolicyBesideOthers, with a control plane: while a policy gets no answer to any of its calls, all others are
// through with all resources, see new ones, and the scanner is done once the policy is left alone.
func TestSlowPolicyBesideOthers(t *testing.T) {
	t.Parallel()
	const count, writers, others = 300, 8, 16
	w := newWorld(t)
	w.namespace(t, "slow")
	var writing sync.WaitGroup
	for part := range writers {
		writing.Go(func() {
			for i := part; i < count; i += writers {
				if _, err := w.at(pods, "slow").Create(context.WithoutCancel(t.Context()), podObject("slow", fmt.Sprint("p", i)), metav1.CreateOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	for _, name := range numbered("slow-", others+1) {
		w.policy(t, name, spec{Targets: targets("Pod"), Rules: asking("team")})
	}
	r := newRunning()
	r.compiler.hold, r.compiler.heldPolicy = make(chan struct{}), numbered("slow-", others+1)[0]
	w.start(t, r, func(c *scan.Config) { c.Workers, c.EvaluationLimit = 2, 5*time.Second })
	seen := func(subject string) int { return r.compiler.count("ClusterPolicy/slow-", "Pod/slow/"+subject) }
	await := func(subject string, want int) {
		testkit.Settles(t, func() string {
			if got := seen(subject); got < want {
				return fmt.Sprintf("%d of %d evaluations", got, want)
			}
			return ""
		})
	}
	await("", others*count)
	w.pod(t, "slow", "new", "team")
	await("new", others)
	r.rest(t)
	if lines := r.results.lines("ClusterPolicy/" + r.compiler.heldPolicy + " Pod/slow/"); len(lines) != count+1 {
		t.Errorf("the slow policy has %d results", len(lines))
	}
}
