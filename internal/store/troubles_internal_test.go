// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// TestTroubles: a failure is logged once, and so is its end; a database that is away is logged once for all work. Not
// parallel: klog's logger is global.
func TestTroubles(t *testing.T) {
	var got []string
	klog.SetLogger(funcr.New(func(_, line string) { got = append(got, line) }, funcr.Options{}))
	t.Cleanup(klog.ClearLogger)
	full := errors.New("full")
	gone := fmt.Errorf("read: %w", engine.ErrUnavailable)
	const (
		fails = `"msg"="Housekeeping fails; will keep retrying" "error"=%q "work"=%q`
		works = `"level"=0 "msg"="Housekeeping works again" "work"=%q`
	)
	var of troubles
	for _, step := range []struct {
		work string
		err  error
		want string
	}{
		{"tidy", full, fmt.Sprintf(fails, full, "tidy")},
		{"tidy", full, ""},
		{"measure", nil, ""},
		{"expire", full, fmt.Sprintf(fails, full, "expire")},
		{"tidy", nil, fmt.Sprintf(works, "tidy")},
		{"tidy", nil, ""},
		{"tidy", gone, fmt.Sprintf(fails, gone, "tidy")},
		{"tidy", gone, ""},
		{"measure", gone, ""},
		{"expire", gone, ""},
		{"count", full, fmt.Sprintf(fails, full, "count")},
		{"tidy", nil, ""},
		{"measure", full, fmt.Sprintf(fails, full, "measure")},
		{"count", nil, fmt.Sprintf(works, "count")},
		{"expire", nil, fmt.Sprintf(works, "expire")},
		{"measure", nil, fmt.Sprintf(works, "measure")},
	} {
		got = nil
		of.note(step.work, step.err)
		want := []string(nil)
		if step.want != "" {
			want = []string{step.want}
		}
		testkit.NoDiff(t, cmp.Diff(want, got), "%s: %v", step.work, step.err)
	}
}
