// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// axe is the text of axe-core.
var axe = sync.OnceValues(func() (string, error) {
	command := exec.Command("../../../hack/axe.sh")
	command.Stderr = os.Stderr
	path, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("hack/axe.sh: %w", err)
	}
	text, err := os.ReadFile(strings.TrimSpace(string(path)))
	return string(text), err
})

// violations runs axe in a page and returns violations of the WCAG 2.2 rules, levels A and AA.
const violations = `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'], resultTypes: ['violations'] })
  .then(({ violations, passes }) => passes.length < 5 ? ['only ' + passes.length + ' rules apply'] : violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => [id, help, html, failureSummary].join('; '))))`

// TestAccessible: everybody can use all pages, by what a program can know of that: light and dark, at a desk and with
// a phone.
func TestAccessible(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	script := testkit.Must(axe())(t)
	p, cluster := visitMoody(t, nil)
	for _, hash := range []string{
		"#/overview", "#/results?namespace=shop&policy=no-root&result=all&sort=policy", "#/results?namespace=quiet", "#/heatmap", "#/questions", "#/clusters", "#/question?fleet=1&by=policy&number=clusters", "#/question?fleet=1&sort=timestamp",
		"#/question?by=policy&columns=result", "#/question?sort=timestamp&filter=" + url.QueryEscape(`policy == "no-root"`), "#/resource?namespace=shop&kind=Deployment&name=web",
		"#/policy?policy=no-root", "#/report?namespace=shop&kind=PolicyReport&name=web",
	} {
		p.open(hash)
		p.do(unfold)
		p.accessible(script)
	}
	p.open("#/heatmap")
	mood := trouble(away)
	cluster.mood.Store(&mood)
	p.do(chromedp.Click(`nav a[href^="#/overview"]`), chromedp.WaitVisible(".problem"))
	p.accessible(script)
	stranger := &person{T: t, tab: browser.tab(t), base: p.base}
	stranger.do(chromedp.Navigate(p.base), ready)
	stranger.accessible(script)
}

// unfold opens all that is folded.
var unfold = chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('details').forEach((e) => { e.open = true; })")

// accessible fails the test with what axe finds in a page.
func (p *person) accessible(script string) {
	p.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](script + ";void 0"))
	// The colours are the same at both widths.
	for _, as := range []struct {
		scheme string
		width  int64
	}{{"light", 1280}, {"light", 390}, {"dark", 1280}} {
		p.do(prefers(as.scheme), chromedp.EmulateViewport(as.width, 800))
		for _, violation := range eval[[]string](p, violations) {
			p.Errorf("%s, %s, %d pixels wide: %.800s", eval[string](p, "location.pathname + location.hash"), as.scheme, as.width, violation)
		}
	}
}

// prefers sets what the person prefers: light or dark.
func prefers(scheme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	})
}
