// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package chromium

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestNothingStays: a browser leaves no file, whether it was stopped at rest or after its context had ended.
func TestNothingStays(t *testing.T) {
	testkit.NoError(t, testenv.Need(t.Context(), "chromium=chromium"))
	for name, interrupted := range map[string]bool{"at rest": false, "interrupted": true} {
		t.Run(name, func(t *testing.T) {
			folder := temporary(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tab, stop := testkit.Must2(Start(ctx))(t)
			if sum, err := chromedp.Run(tab, chromedp.Evaluate[int]("1 + 1")); err != nil || sum != 2 {
				t.Errorf("1 + 1 is %d, %v", sum, err)
			}
			if interrupted {
				cancel()
				<-tab.Done()
				if err := chromedp.Do(tab, chromedp.Navigate("about:blank")); !errors.Is(err, context.Canceled) {
					t.Errorf("after the end of the context: %v", err)
				}
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			left, err := os.ReadDir(folder)
			if err != nil || len(left) > 0 {
				t.Errorf("%v, %v are left", err, left)
			}
		})
	}
}

// TestNoBrowser: starting a program that does not exist is an error, and leaves nothing.
func TestNoBrowser(t *testing.T) {
	folder := temporary(t)
	if _, _, err := Start(t.Context(), chromedp.ExecPath("/nonexistent")); err == nil {
		t.Error("a browser that is not there was started")
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", err, left)
	}
}

// temporary makes an empty folder the one of temporary files. Those of tests have names that are too long for sockets.
func temporary(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "") //nolint:usetesting // For its name.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("TMPDIR", folder)
	return folder
}
