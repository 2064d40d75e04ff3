// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// TestHousekeepingIsQuiet: an outage is told of once for each work, and its end once.
// Not parallel: klog's logger is global.
func TestHousekeepingIsQuiet(t *testing.T) {
	var got []string
	klog.SetLogger(funcr.New(func(_, line string) { got = append(got, line) }, funcr.Options{}))
	t.Cleanup(klog.ClearLogger)
	failing := false
	for range 10 {
		failing = logHousekeeping(failing, "tidy up", errors.New("away"))
		logHousekeeping(false, "measure", nil)
	}
	failing = logHousekeeping(failing, "tidy up", nil)
	logHousekeeping(failing, "tidy up", nil)
	if len(got) != 2 || !strings.Contains(got[0], `"away" "work"="tidy up"`) || !strings.Contains(got[1], `works again" "work"="tidy up"`) {
		t.Errorf("the log has %q", got)
	}
}
