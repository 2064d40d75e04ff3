// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
	"github.com/docket-project/docket/internal/tools/picture"
)

var update = flag.Bool("update", false, "write the pictures of pages anew")

// theDay is when the pictures are taken, as far as pages and reports know.
var theDay = time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)

// ofScreens is how many reports there are: enough to fill the pages.
const ofScreens = 120

// Sizes of pages, in pixels.
const (
	desk   = 1280
	phone  = 390
	height = 900
)

// block is the side of the squares of pixels that are one in the pictures that are kept.
const block = 8

// unnoticed is the tolerance: between runs there are no differences at all; another way to draw letters and shadows,
// that of graphics processors, makes some of up to 3 of 255, a page that is lower by a pixel up to 19, one that is
// further to the right by one, too, up to 21; and the mark of the current page in the menu, if it is missing, makes
// one of 42.
var unnoticed = picture.Tolerance{Level: 24, Colour: 1}

// screen is a page, and how it is looked at.
type screen struct {
	name, hash string
	width      int64
	scheme     string
}

func screens() []screen {
	const (
		overview = "#/overview"
		results  = "#/results?namespace=shop&severity=high&severity=critical"
		question = "#/question?title=Which+namespaces+burn%3F&filter=result+%3D%3D+%22fail%22&by=report.namespace&columns=severity"
	)
	return []screen{
		{"overview", overview, desk, "light"},
		{"overview-dark", overview, desk, "dark"},
		{"overview-phone", overview, phone, "light"},
		{"results", results, desk, "light"},
		{"results-dark", results, desk, "dark"},
		{"results-phone", results, phone, "light"},
		{"resource", "#/resource?namespace=shop&kind=CronJob&name=exporter-00000", desk, "light"},
		{"policy", "#/policy?policy=disallow-host-namespaces", desk, "light"},
		{"heatmap", "#/heatmap", desk, "light"},
		{"questions", "#/questions", desk, "light"},
		{"question", question, desk, "light"},
		{"report", "#/report?namespace=shop&kind=PolicyReport&name=falco-policy-report", desk, "light"},
		{"clusters", "#/clusters", desk, "light"},
	}
}

// TestScreens: pages look as they did when somebody looked at their pictures in testdata/screens last.
func TestScreens(t *testing.T) {
	t.Parallel()
	var own uptest.Server
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	config := testkit.Must(own.Config(writeSampleOf(ofScreens, theDay)))(t)
	p := visitAt(t, config, func(next http.RoundTripper) http.RoundTripper {
		cluster, fleet := &moody{next: next}, trouble(ofThree)
		cluster.mood.Store(&fleet)
		return cluster
	})
	p.do(still())
	t.Run("findings unfold", func(t *testing.T) {
		own := *p
		own.T = t
		p := &own
		p.open("#/fix")
		if n := eval[int](p, `(() => { const all = [...document.querySelectorAll('.finding')]; all.forEach((finding) => { finding.open = true; }); return all.length; })()`); n == 0 {
			t.Fatal("nothing is to be fixed")
		}
		p.do(poll(`[...document.querySelectorAll('.finding')].every((finding) => finding.querySelector('.resources a'))`))
	})
	seen := sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "docket-screens-") }) //nolint:usetesting // It stays.
	for _, s := range screens() {
		t.Run(s.name, func(t *testing.T) {
			p := *p
			p.T = t
			p.do(prefers(s.scheme), chromedp.EmulateViewport(s.width, height))
			p.open(s.hash)
			p.do(chromedp.WaitVisible(`nav a[href="#/clusters"], nav a[href^="#/clusters?"]`))
			p.looks(s.name, seen)
		})
	}
	t.Run("stranger", func(t *testing.T) {
		stranger := &person{T: t, tab: browser.tab(t), base: p.base}
		stranger.do(still(), prefers("light"), chromedp.EmulateViewport(desk, height), chromedp.Navigate(p.base), ready)
		stranger.looks("stranger", seen)
	})
}

//go:embed testdata/screens/prepare.js
var prepare string

// still makes the pages of a tab look the same on all machines and at all times.
func still() chromedp.Action[chromedp.Void] {
	text := base64.StdEncoding.EncodeToString
	script := fmt.Sprintf("(%s)(%d, %q, %q, %q)", prepare, theDay.UnixMilli(), text(goregular.TTF), text(gobold.TTF), text(gomono.TTF))
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"}); err != nil {
			return err
		}
		if _, err := cdp.Call(ctx, t, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-US"}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, t, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	})
}

// looks fails the test unless the page looks as its picture does, and then puts pictures into a folder.
func (p *person) looks(name string, seen func() (string, error)) {
	p.Helper()
	eval[any](p, "settled()")
	data, err := chromedp.Run(p.tab, chromedp.CaptureScreenshot())
	if err != nil {
		p.Fatal(err)
	}
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		p.Fatal(err)
	}
	path, got := filepath.Join("testdata", "screens", name+".png"), picture.Shrink(full, block)
	if *update {
		if err := picture.Write(path, got); err != nil {
			p.Fatal(err)
		}
		return
	}
	want, err := picture.Read(path)
	if err != nil {
		p.Fatalf("%v; make golden writes it", err)
	}
	difference, where := picture.Compare(got, want, unnoticed)
	if !difference.Found() {
		p.Logf("the largest difference is %d of 255", difference.Most)
		return
	}
	folder, err := seen()
	if err != nil {
		p.Fatal(err)
	}
	file := func(what string) string { return filepath.Join(folder, name+"-"+what+".png") }
	if err := errors.Join(os.WriteFile(file("page"), data, 0o600), picture.Write(file("small"), got), picture.Write(file("difference"), where)); err != nil {
		p.Error(err)
	}
	p.Errorf("the page looks different from %s: %s; look at %s and %s, and where the page is right, run make golden", path, difference.String(block), file("page"), file("difference"))
}

// ofThree is a cluster that has two others in its database.
func ofThree(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.URL.Path, "/clustersummaries") {
		return nil, nil // The cluster answers.
	}
	const list = `{"kind": "ClusterSummaryList", "apiVersion": "results.docket.dev/v1alpha1", "metadata": {}, "items": [
		{"metadata": {"name": "east"}, "servers": 2, "changed": "2026-11-25T11:55:00Z", "reports": 2941, "policies": 61, "failingPolicies": 48,
		 "pass": 15023, "fail": 8211, "failBySeverity": {"critical": 902, "high": 2610, "medium": 4188, "low": 401, "none": 110}},
		{"metadata": {"name": "north"}, "servers": 0, "changed": "2026-11-22T07:00:00Z", "reports": 312, "policies": 40, "failingPolicies": 12,
		 "pass": 2200, "fail": 140, "failBySeverity": {"critical": 3, "high": 37, "medium": 99, "low": 1}},
		{"metadata": {"name": "west"}, "servers": 1, "changed": "2026-11-25T11:59:30Z", "reports": 12, "policies": 9, "failingPolicies": 0, "pass": 108, "fail": 0}]}`
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(list)), Request: request,
	}, nil
}
