// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
	"github.com/docket-project/docket/internal/tools/chromium"
)

var (
	server  uptest.Server
	browser chrome
)

func TestMain(m *testing.M) {
	code := uptest.Run(m, &server)
	if err := browser.end(); err != nil {
		fmt.Fprintln(os.Stderr, "Chromium:", err)
		code = 1
	}
	os.Exit(code)
}

// chrome is the one browser of all tests.
type chrome struct {
	once sync.Once
	ctx  context.Context //nolint:containedctx // It is the handle of the browser.
	stop func() error
	err  error
}

// few processes draw all pages: by default each page of a tab gets a new one, which takes half of the time of tests.
// What tabs have for themselves, such as cookies, stays apart.
var few = []chromedp.ExecAllocatorOption{
	chromedp.Flag("renderer-process-limit", "2"),
	chromedp.Flag("disable-site-isolation-trials", true),
	chromedp.Flag("disable-features", "IsolateOrigins,site-per-process,SpareRendererForSitePerProcess,Translate,BlinkGenPropertyTrees"),
}

// patience is for a slow machine.
const patience = 10 * time.Minute

// tab opens one with cookies of its own. Chromium is installed where that is possible, as PostgreSQL is for other
// tests.
func (c *chrome) tab(t *testing.T) context.Context {
	t.Helper()
	c.once.Do(func() {
		if c.err = testenv.Need(t.Context(), "chromium=chromium"); c.err != nil {
			return
		}
		path, err := exec.LookPath("chromium")
		if err != nil {
			c.err = err
			return
		}
		c.ctx, c.stop, c.err = chromium.Start(context.WithoutCancel(t.Context()), append(few, chromedp.ExecPath(path))...)
	})
	if c.err != nil {
		t.Fatalf("Chromium: %v", c.err)
	}
	ctx, cancel := chromedp.NewContext(c.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	return ctx
}

func (c *chrome) end() error {
	if c.stop == nil {
		return nil
	}
	return c.stop()
}

// person is somebody with a browser at a console.
type person struct {
	*testing.T

	tab     context.Context //nolint:containedctx // It is the handle of the tab.
	console *Console
	base    string
}

// visit signs in at a console of the server, whose requests pass through wrap.
func visit(t *testing.T, wrap func(http.RoundTripper) http.RoundTripper) *person {
	t.Helper()
	shared := testkit.Must(server.Config(writeReports))(t)
	return visitAt(t, shared, wrap)
}

// visitAt is visit with another server than that of all tests.
func visitAt(t *testing.T, config *rest.Config, wrap func(http.RoundTripper) http.RoundTripper) *person {
	t.Helper()
	config = rest.CopyConfig(config)
	if wrap != nil {
		config.Wrap(wrap)
	}
	info := Info{Cluster: config.Host, Context: "test", Namespace: "shop", Kubectl: []string{"kubectl"}, NewLink: "docket console --context test", Kinds: mappedKinds()}
	console := testkit.Must(New(config, info, []string{"localhost"}, clock.RealClock{}))(t)
	listening := httptest.NewServer(console)
	t.Cleanup(listening.Close)
	p := &person{T: t, tab: browser.tab(t), console: console, base: listening.URL}
	p.do(chromedp.Navigate(console.Link(strings.TrimPrefix(p.base, "http://"))), ready)
	return p
}

// ready waits until a page stands, with all of its parts.
var ready = chromedp.WaitVisible("main:not([aria-busy]):not(:has(.waiting)) h1")

func (p *person) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.tab, steps...); err != nil {
		text, _ := chromedp.Run(p.tab, chromedp.Evaluate[string]("document.body.innerText"))
		p.Fatalf("%v; the page says:\n%.2000s", err, text)
	}
}

// poll waits until JavaScript says true, as long as the tab has patience.
func poll(script string) chromedp.Action[chromedp.Void] {
	return chromedp.Poll[chromedp.Void](script, chromedp.WithPollingTimeout(0))
}

// open shows an address of the console.
func (p *person) open(hash string) {
	p.Helper()
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(p.base+"/"+hash), ready)
}

// eval returns what JavaScript says.
func eval[T any](p *person, script string, arguments ...any) T {
	p.Helper()
	value, err := chromedp.Run(p.tab, chromedp.Evaluate[T](fmt.Sprintf(script, arguments...), chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", script, err)
	}
	return value
}

// text returns what the page shows.
func (p *person) text() string {
	p.Helper()
	return eval[string](p, "document.querySelector('main').innerText")
}

// wants fails the test unless the page shows all texts.
func (p *person) wants(texts ...string) {
	p.Helper()
	shown := p.text()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			p.Errorf("%s does not show %q but:\n%.1500s", eval[string](p, "location.hash"), text, shown)
		}
	}
}

// faults are rules that every page follows: what it names of those that it breaks.
const faults = `(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const named = (e) => e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label')?.textContent.trim();
  const ids = all('[id]').map((e) => e.id);
  return [
    ...all('input, select, button, a, summary').filter((e) => !named(e)).map((e) => 'no name: ' + e.outerHTML),
    ...all('th').filter((e) => !['row', 'col'].includes(e.getAttribute('scope'))).map((e) => 'no scope: ' + e.outerHTML),
    ...all('table').filter((e) => !e.caption).map(() => 'a table without a caption'),
    ...all('[style*="url"], main script, main iframe, main img').map((e) => 'foreign: ' + e.outerHTML),
    ...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => 'twice: ' + id),
    ...(all('h1').length === 1 ? [] : ['headings of the first level: ' + all('h1').length]),
    ...(document.documentElement.lang ? [] : ['no language']),
    ...(document.title ? [] : ['no title']),
    ...(document.documentElement.scrollWidth > innerWidth ? ['wider than the screen'] : []),
    ...(window.hacked ? ['a script ran: ' + window.hacked] : []),
  ];
})()`

// sound fails the test where a page breaks the rules, at the width of a desk and of a phone.
func (p *person) sound() {
	p.Helper()
	for _, width := range []int64{1280, 390} {
		p.do(chromedp.EmulateViewport(width, 800))
		for _, fault := range eval[[]string](p, faults) {
			p.Errorf("%s at %d pixels: %.300s", eval[string](p, "location.hash"), width, fault)
		}
	}
}
