// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
)

// TestTell: that clients do not get the reports is an error in the log, and that they do again is none.
// Not parallel: klog's logger is global.
func TestTell(t *testing.T) {
	var got []string
	klog.SetLogger(funcr.New(func(_, line string) { got = append(got, line) }, funcr.Options{}))
	t.Cleanup(klog.ClearLogger)
	problems := []Problem{{Reason: Unavailable, Message: "503"}}
	tell(Status{Group: "openreports.io"}, problems)
	tell(Status{Group: "openreports.io", Problems: problems}, nil)
	if len(got) != 2 || !strings.Contains(got[0], `"msg"="Not all clients`) || strings.Contains(got[0], `"level"=`) || !strings.Contains(got[1], `"level"=0`) {
		t.Errorf("got %q", got)
	}
}
