// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/tools/chromium"
)

// browsingPatience is for everything that one person does, on a slow machine.
const browsingPatience = 4 * time.Minute

// startBrowser starts one that finds a host at an address of loopback, and believes its certificate. It ends with the
// test.
func startBrowser(t *testing.T, host, address string) context.Context {
	t.Helper()
	testkit.NoError(t, testenv.Need(t.Context(), "chromium=chromium"))
	path := testkit.Must(exec.LookPath("chromium"))(t)
	tab, stop, err := chromium.Start(t.Context(), chromedp.ExecPath(path), chromedp.IgnoreCertErrors, chromedp.Flag("host-resolver-rules", "MAP "+host+":443 "+address))
	if err != nil {
		t.Fatalf("Chromium: %v", err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return tab
}

// browsing is somebody with cookies of their own in a browser.
type browsing struct {
	*testing.T

	tab context.Context //nolint:containedctx // It is the handle of the tab.
}

func browse(browser context.Context, t *testing.T) *browsing {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, browsingPatience)
	t.Cleanup(cancel)
	return &browsing{T: t, tab: ctx}
}

func (b *browsing) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.tab, steps...); err != nil {
		b.Fatalf("%v; %s", err, b.shown())
	}
}

// shown is where the browser is, and what it shows.
func (b *browsing) shown() string {
	text, err := chromedp.Run(b.tab, chromedp.Evaluate[string]("location.href + ' shows:\\n' + document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// sees waits until the browser shows all texts.
func (b *browsing) sees(texts ...string) {
	b.Helper()
	for {
		shown := b.shown()
		missing := ""
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-b.tab.Done():
			b.Fatalf("%.2000s\nand not %q", shown, missing)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// seesNot fails the test if the browser shows a text.
func (b *browsing) seesNot(text string) {
	b.Helper()
	if shown := b.shown(); strings.Contains(shown, text) {
		b.Errorf("%.2000s\nwhich must not have %q", shown, text)
	}
}

// signIn opens the console and follows the way of the proxy and of the provider.
func (b *browsing) signIn(name string) {
	b.Helper()
	const arrived, consent = "main:not([aria-busy]) h1", "form button.positive"
	b.do(chromedp.Navigate(consoleBase))
	b.startsSignIn()
	b.do(
		chromedp.SendKeys("input[name=user]", name),
		chromedp.SendKeys("input[name=password]", name),
		chromedp.Click("form button[type=submit]"),
		chromedp.WaitVisible(arrived+", "+consent),
	)
	// The first time, the provider asks whether the console may know who one is.
	if b.run("document.querySelector('"+consent+"')?.className ?? ''") != "" {
		b.do(chromedp.Click(consent))
	}
	b.do(chromedp.WaitVisible(arrived))
}

// startsSignIn waits for the page of the proxy, and leaves it for the provider.
func (b *browsing) startsSignIn() {
	b.Helper()
	b.do(chromedp.Click("form[action='/oauth2/start'] button"))
}

// open shows an address of the console, which the browser has already.
func (b *browsing) open(hash string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = %q", hash)))
}

// run returns what JavaScript of the page says.
func (b *browsing) run(script string) string {
	b.Helper()
	said, err := chromedp.Run(b.tab, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", script, err)
	}
	return said
}

// isKnownAs fails the test unless the cluster knows the person by a name, although their browser sends headers.
func (b *browsing) isKnownAs(name string, header http.Header) {
	b.Helper()
	sent := map[string]string{"Content-Type": "application/json", "Accept": "application/json"}
	for key, values := range header {
		sent[key] = values[0]
	}
	headers := testkit.Must(json.Marshal(sent))(b)
	review := fmt.Sprintf(`fetch(%q, {method: 'POST', headers: %s, body: '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'}).then((r) => r.text())`, selfReview, headers)
	if said := b.run(review); !strings.Contains(said, `"username":"`+name+`"`) {
		b.Errorf("the cluster knows the person as %s, want %s", said, name)
	}
}
