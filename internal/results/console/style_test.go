// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// largest bounds the files that a browser loads, in bytes.
const largest = 160 << 10

// wantedContrast is that of WCAG 2.2 AA for text.
const wantedContrast = 4.5

var colour = regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6});`)

// TestContrast computes the contrast between all texts and their backgrounds, light and dark.
func TestContrast(t *testing.T) {
	t.Parallel()
	style := testkit.Must(web.ReadFile("web/console.css"))(t)
	light, dark, found := strings.Cut(string(style), "@media (prefers-color-scheme: dark)")
	dark, _, ended := strings.Cut(dark, "* { box-sizing")
	if !found || !ended {
		t.Fatal("the style sheet has no colours for dark screens where the test looks for them")
	}
	for mode, text := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, match := range colour.FindAllStringSubmatch(text, -1) {
			colours[match[1]] = luminance(t, match[2])
		}
		pairs := [][2]string{}
		for _, front := range []string{"text-fg", "muted-fg", "accent-fg"} {
			for _, back := range []string{"ground", "surface", "hover"} {
				pairs = append(pairs, [2]string{front, back})
			}
		}
		for _, name := range []string{"critical", "high", "medium", "low", "neutral", "pass"} {
			pairs = append(pairs, [2]string{name + "-fg", name + "-bg"})
		}
		for shade := '1'; shade <= '5'; shade++ {
			pairs = append(pairs, [2]string{"heat-fg", "heat-" + string(shade)})
		}
		for _, pair := range pairs {
			front, back := colours[pair[0]], colours[pair[1]]
			if front == 0 || back == 0 {
				t.Errorf("%s: there is no colour %s or %s", mode, pair[0], pair[1])
			}
			if ratio := (max(front, back) + 0.05) / (min(front, back) + 0.05); ratio < wantedContrast {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %v", mode, pair[0], pair[1], ratio, wantedContrast)
			}
		}
	}
}

// luminance is the relative one of WCAG.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		value := testkit.Must(strconv.ParseUint(hex[2*i:2*i+2], 16, 8))(t)
		part := float64(value) / 255
		if part <= 0.04045 {
			part /= 12.92
		} else {
			part = math.Pow((part+0.055)/1.055, 2.4)
		}
		sum += weight * part
	}
	return sum
}

// TestFiles: the pages are small, load nothing from elsewhere, and make markup of no text.
func TestFiles(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(`https?://|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|setAttribute\('on|style="`)
	size := 0
	testkit.NoError(t, fs.WalkDir(web, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := web.ReadFile(path)
		size += len(text)
		if match := forbidden.Find(text); match != nil {
			t.Errorf("%s has %s", path, match)
		}
		return err
	}))
	if size == 0 || size > largest {
		t.Errorf("the files have %d bytes, want at most %d", size, largest)
	}
}

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
		"#/overview", "#/results?namespace=shop&policy=no-root&result=all&sort=policy", "#/results?namespace=quiet", "#/fix", "#/policies", "#/namespaces", "#/heatmap", "#/questions", "#/clusters", "#/question?fleet=1&by=policy&number=clusters", "#/question?fleet=1&sort=timestamp",
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
