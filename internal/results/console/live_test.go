// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// TestChangesRefused: who may not watch reports, or asks in a wrong way, gets an error and not a stream without events.
func TestChangesRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.code = http.StatusForbidden
	signedIn := signIn(t, f.Console)
	for target, want := range map[string]int{
		"/changes?since=12":                        http.StatusForbidden,
		"/changes?since=12&namespace=shop":         http.StatusForbidden,
		"/changes?since=12&namespace=a/b/../../..": http.StatusForbidden,
		"/changes":                        http.StatusBadRequest,
		"/changes?since=12%26watch=false": http.StatusBadRequest,
	} {
		if answer := request(f.Console, http.MethodGet, target, "", signedIn); answer.Code != want {
			t.Errorf("%s: %d %s; want %d", target, answer.Code, answer.Body, want)
		}
	}
	if answer := request(f.Console, http.MethodGet, "/changes?since=12", ""); answer.Code != http.StatusUnauthorized {
		t.Errorf("a browser that is not signed in: %d; want 401", answer.Code)
	}
	for i := range mostStreams {
		if full := f.streams.enter(fmt.Sprint(i)); full != "" {
			t.Fatal(full)
		}
	}
	if answer := request(f.Console, http.MethodGet, "/changes?since=12", "", signedIn); answer.Code != http.StatusServiceUnavailable {
		t.Errorf("one page more than may listen: %d; want 503", answer.Code)
	}
}

// following is somebody at a console of a server that no other test changes.
type following struct {
	*person

	config  *rest.Config
	cluster moody
}

// answers has the cluster answer with an error from now on; 0 ends that.
func (f *following) answers(code int, reason metav1.StatusReason) {
	if code == 0 {
		f.cluster.mood.Store(nil)
		return
	}
	mood := errorOf(code, reason, "not now")
	f.cluster.mood.Store(&mood)
}

func follow(t *testing.T) *following {
	t.Helper()
	var own uptest.Server
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	f := &following{}
	f.config = testkit.Must(own.Config(writeReports))(t)
	f.person = visitAt(t, f.config, func(next http.RoundTripper) http.RoundTripper {
		f.cluster.next = next
		return &f.cluster
	})
	return f
}

// remove deletes a report of the namespace shop.
func (f *following) remove(name string) {
	f.Helper()
	client, err := dynamic.NewForConfig(f.config)
	if err == nil {
		err = client.Resource(reportsResource("policyreports")).Namespace("shop").Delete(f.Context(), name, metav1.DeleteOptions{})
	}
	if err != nil {
		f.Fatal(err)
	}
}

// until waits until an element has a text.
func (f *following) until(selector, text string) {
	f.Helper()
	f.do(poll(fmt.Sprintf("document.querySelector(%q)?.innerText.includes(%q)", selector, text)))
}

// TestLive: pages follow the reports and say what has changed since; nobody is disturbed, and a failed request is
// not taken for an empty answer.
func TestLive(t *testing.T) {
	t.Parallel()
	p := follow(t)
	p.do(chromedp.WaitVisible(".live"))
	p.wants("132 failures")

	p.remove("web")
	p.until(".heading", "131 failures")
	p.until(".since", "no-root")
	p.wants("−1")
	p.sound()
	p.do(chromedp.WaitVisible(".live"), chromedp.Click(".since button"), chromedp.WaitNotPresent(".since"))

	p.open("#/results?namespace=shop&policy=many")
	p.do(chromedp.WaitVisible(".live"), chromedp.Focus(`[name="rule"]`))
	p.remove("many")
	p.until(".news", "Results have changed")
	p.wants("1–100 of 130")
	p.do(chromedp.WaitVisible(".live"), chromedp.Click(".news button")) // The mark moves the rows below it when it appears.
	p.until("main", "No results match")

	p.open("#/overview?namespace=shop")
	p.do(chromedp.WaitVisible(".live"))
	p.answers(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
	p.remove("hostile")
	p.until(".news", "Disconnected since")
	p.wants("Failures by severity")
	p.answers(0, "")
	p.do(chromedp.WaitNotPresent(".news"), chromedp.WaitVisible(".live"))
	p.wants("There are no results")
}

// TestRightsRevoked: what somebody may not read any more does not stay on the screen.
func TestRightsRevoked(t *testing.T) {
	t.Parallel()
	p := follow(t)
	p.open("#/results?namespace=shop")
	p.do(chromedp.WaitVisible(".live"))
	p.wants("runs as root")
	p.answers(http.StatusForbidden, metav1.StatusReasonForbidden)
	p.remove("web")
	p.do(chromedp.WaitVisible(".problem"))
	p.wants("You may not read results in namespace shop")
	if rows := eval[int](p.person, "document.querySelectorAll('tbody tr').length"); rows > 0 {
		t.Errorf("%d results are still shown", rows)
	}
	if got, want := eval[string](p.person, "document.getElementById('status').textContent"), "You may not read results in namespace shop"; got != want {
		t.Errorf("who hears the page is told %q, want %q", got, want)
	}
}
