// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestOpening: a browser that opens the page is signed in, and nothing of it stays.
func TestOpening(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	listening := httptest.NewServer(f.Console)
	t.Cleanup(listening.Close)
	parent := t.TempDir()
	page := testkit.Must(f.WriteOpening(strings.TrimPrefix(listening.URL, "http://"), filepath.Join(parent, "missing"), parent))(t)
	p := &person{T: t, tab: browser.tab(t), console: f.Console, base: listening.URL}
	p.do(chromedp.Navigate("file://"+page), chromedp.WaitVisible(`nav`))
	if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
		t.Errorf("after the link was used, there are %v, %v", left, err)
	}
}
