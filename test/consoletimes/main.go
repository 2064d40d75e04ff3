// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command consoletimes measures in Chromium how long the pages of a console take, and prints a table:
//
//	go run ./test/consoletimes 'http://127.0.0.1:35645/sign-in?token=…'
//
// The link comes from docket up or docket console. The pages of a policy, a resource and a report show the first
// result that fails. A run fails if a page shows an error, or if results have changed meanwhile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/docket-project/docket/internal/tools/chromium"
)

// patience is for a slow machine.
const patience = 10 * time.Minute

// addresses are the pages, made of a result.
const addresses = `fetch('/apis/results.docket.dev/v1alpha1/policyresults?limit=1&fieldSelector=result%3Dfail').then((r) => r.json()).then(({ items: [r] }) => {
  const of = (page, params) => '#/' + page + '?' + new URLSearchParams(params);
  const namespace = r.metadata.namespace;
  return {
    overview: '#/overview', 'overview of a namespace': of('overview', { namespace }), 'fix first': '#/fix', policies: '#/policies', namespaces: '#/namespaces',
    results: '#/results', 'results of a namespace': of('results', { namespace }), 'results of a policy': of('results', { policy: r.policy }),
    'heat map': '#/heatmap', policy: of('policy', { policy: r.policy, source: r.source }), resource: of('resource', { namespace, kind: r.subject.kind, name: r.subject.name }),
    report: of('report', { namespace, kind: r.report.kind, name: r.report.name }),
  };
})`

// summaries change when results do.
const summaries = `fetch('/apis/results.docket.dev/v1alpha1/policysummaries').then((r) => r.ok ? r.text() : Promise.reject(Error(r.statusText)))`

// view goes to a page, and returns the milliseconds until it is painted with its data, and until the parts that take
// longer are there, too.
const view = `new Promise((resolve) => {
  const main = document.querySelector('main');
  const start = performance.now();
  let painted = 0;
  new MutationObserver((_, observer) => {
    if (main.hasAttribute('aria-busy')) return;
    if (!painted) requestAnimationFrame(() => setTimeout(() => { painted = performance.now() - start; }));
    if (main.querySelector('.waiting')) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(main.querySelector('.problem') ? [] : [painted, performance.now() - start])));
  }).observe(main, { attributes: true, attributeFilter: ['aria-busy', 'class'], subtree: true });
  location.hash = %q;
})`

// whole marks the time until a page has all of its parts.
const whole = ", all parts"

// firstPaint measures the first paint of the document, in milliseconds after the start of navigation.
const firstPaint = `new Promise((resolve) => {
  new PerformanceObserver((list) => list.getEntriesByName('first-contentful-paint').forEach((entry) => resolve(entry.startTime)))
    .observe({ type: 'paint', buffered: true });
})`

func main() {
	times := flag.Int("times", 5, "how often each page is opened; the table has the medians")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: consoletimes [--times N] LINK")
		os.Exit(2)
	}
	if err := run(context.Background(), flag.Arg(0), *times); err != nil {
		fmt.Fprintln(os.Stderr, "consoletimes:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, link string, times int) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ctx, stop, err := chromium.Start(ctx)
	if err != nil {
		return fmt.Errorf("start Chromium: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	ready := chromedp.WaitVisible("main:not([aria-busy]) h1")
	if err := chromedp.Do(ctx, chromedp.Navigate(link), ready); err != nil {
		return err
	}
	pages, err := chromedp.Run(ctx, chromedp.Evaluate[map[string]string](addresses, chromedp.EvalAwaitPromise))
	if err != nil {
		return err
	}
	before, err := chromedp.Run(ctx, chromedp.Evaluate[string](summaries, chromedp.EvalAwaitPromise))
	if err != nil {
		return err
	}
	base, _, _ := strings.Cut(link, "/sign-in")
	taken, failed := map[string][]float64{}, []string{}
	for range times {
		if err := chromedp.Do(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(base+"/#/nothing"), ready); err != nil {
			return err
		}
		paint, err := chromedp.Run(ctx, chromedp.Evaluate[float64](firstPaint, chromedp.EvalAwaitPromise))
		if err != nil {
			return err
		}
		taken["first paint"] = append(taken["first paint"], paint)
		for name, address := range pages {
			took, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(view, address), chromedp.EvalAwaitPromise))
			if err != nil {
				return fmt.Errorf("%s: %w", address, err)
			}
			if len(took) == 0 {
				failed = append(failed, name)
				delete(pages, name)
				continue
			}
			taken[name], taken[name+whole] = append(taken[name], took[0]), append(taken[name+whole], took[1])
		}
	}
	fmt.Println("| page | median | longest |\n|---|---|---|")
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		all := slices.Sorted(slices.Values(taken[name]))
		fmt.Printf("| %s | %.0f ms | %.0f ms |\n", name, all[len(all)/2], all[len(all)-1])
	}
	if len(failed) > 0 {
		return fmt.Errorf("there is an error on the pages: %s", strings.Join(failed, ", "))
	}
	after, err := chromedp.Run(ctx, chromedp.Evaluate[string](summaries, chromedp.EvalAwaitPromise))
	if err == nil && after != before {
		err = errors.New("somebody else wrote: the summaries of results have changed meanwhile")
	}
	return err
}
