// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/shard"
)

// TestLogOfARun: the first line says what this is and where it works, the last why it stopped.
func TestLogOfARun(t *testing.T) {
	t.Parallel()
	var got []string
	ctx := klog.NewContext(context.Background(), funcr.New(func(_, line string) { got = append(got, line) }, funcr.Options{}))
	options := NewOptions()
	options.ScanInterval = 0
	m := New(options, &rest.Config{Host: "https://10.0.0.1:443"}, Engines{Version: "docket-controller v1.2.3"})
	m.logStart(ctx)
	leading, stop := context.WithCancelCause(ctx)
	logLeadingEnd(leading, shard.Set{}, time.Now(), errors.New("broken"))
	stop(shard.ErrEnding)
	logLeadingEnd(leading, shard.Set{}, time.Now(), nil)
	lost, stop := context.WithCancelCause(ctx)
	stop(nil)
	logLeadingEnd(lost, shard.Set{}, time.Now(), nil)
	moved, stop := context.WithCancelCause(ctx)
	stop(shard.ErrReassigned)
	logLeadingEnd(moved, shard.Set{Count: 3, Held: []int{0, 2}}, time.Now(), nil)
	m.logEnd(ctx, time.Now())
	m.logEnd(leading, time.Now())
	want := []string{
		`"msg"="Starting" "version"="docket-controller v1.2.3" "cluster"="https://10.0.0.1:443" "reportsAPI"="wgpolicyk8s.io" "splitPolicyReport"=true "reportInterval"="5s"`,
		`"msg"="Stopped leading: something failed" "error"="broken" "led"="0s"`,
		`"msg"="Stopped leading: the process ends, and all that was found is written" "led"="0s"`,
		`"msg"="Stopped leading" "error"="a lease was lost: `,
		`"msg"="Stopped leading: the replica gets other shards, and all that was found is written" "led"="0s" "shards"="0,2 of 3"`,
		`"msg"="Stopped" "why"="something failed"`,
		`"msg"="Stopped" "why"="the process was told to end"`,
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines: %q", len(got), got)
	}
	for i, part := range want {
		if !strings.Contains(got[i], part) {
			t.Errorf("line %d is %s\nand has no %s", i, got[i], part)
		}
	}
	if !strings.Contains(got[0], `"backgroundScanInterval"="never"`) {
		t.Errorf("the first line has no interval: %s", got[0])
	}
}
