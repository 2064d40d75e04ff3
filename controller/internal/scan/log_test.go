// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestLogOfTheScanner: what is evaluated, when that is complete, and what policies do then, in few
// lines.
func TestLogOfTheScanner(t *testing.T) {
	t.Parallel()
	var got []string
	ctx := klog.NewContext(context.Background(), funcr.New(func(_, line string) { got = append(got, line) }, funcr.Options{}))
	clock := clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
	config := &Config{Clock: clock, Interval: time.Hour}
	inventory := newInventory(config, nil)
	s := newPlanner(config, inventory, newEvaluator(config, inventory, nil), nil)
	s.first.began = clock.Now()
	clock.Step(1500 * time.Millisecond)
	s.logScanDone(ctx, "")
	s.evaluator.add(s.evaluator.policies, policy.Identity{Kind: policy.ClusterPolicy, Name: "a"})
	s.logScanDone(ctx, (&unknown{subjectKinds: map[schema.GroupKind]bool{{Kind: "Secret"}: true}, groups: map[string]bool{"apps": true}}).String())
	s.first.done = true
	s.logScanDone(ctx, "")
	for range 25 {
		s.news.changed++
		s.logNews(ctx)
		clock.Step(time.Second)
	}
	s.news.gone++
	s.logNews(ctx)
	s.summarize(ctx, "The periodic scan has queued every resource once", "waiting", s.inventory.queue.length(), "interval", s.config.Interval.String())
	const extent = `"policies"=1 "kinds"=0 "resources"=0`
	want := []string{
		`"level"=0 "msg"="The first scan is complete: there are no policies, so nothing was evaluated" "policies"=0 "kinds"=0 "resources"=0 "took"="1.5s"`,
		`"level"=0 "msg"="The first scan is complete" ` + extent + ` "took"="1.5s" "couldNotBeListed"="kinds Secret; API groups apps"`,
		`"level"=0 "msg"="Scanned kinds that could not be listed before" ` + extent,
		`"level"=0 "msg"="Policies have changed" ` + extent + ` "new"=0 "changed"=11 "gone"=0`,
		`"level"=0 "msg"="Policies have changed" ` + extent + ` "new"=0 "changed"=10 "gone"=0`,
		`"level"=0 "msg"="The periodic scan has queued every resource once" ` + extent + ` "waiting"=0 "interval"="1h0m0s"`,
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "-want +got")
}
