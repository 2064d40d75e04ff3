// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// trouble answers in place of the cluster, or returns nil where the cluster answers.
type trouble func(*http.Request) (*http.Response, error)

// errorOf is a cluster that answers everything with an error.
func errorOf(code int, reason metav1.StatusReason, message string) trouble {
	return func(request *http.Request) (*http.Response, error) {
		status := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`, reason, code, message)
		return &http.Response{
			StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)), Request: request,
		}, nil
	}
}

// away is a cluster that can't be reached.
func away(*http.Request) (*http.Response, error) { return nil, errors.New("nobody is there") }

// moody is a cluster that may be in trouble.
type moody struct {
	next http.RoundTripper
	mood atomic.Pointer[trouble]
}

func (m *moody) RoundTrip(request *http.Request) (*http.Response, error) {
	if mood := m.mood.Load(); mood != nil {
		if response, err := (*mood)(request); response != nil || err != nil {
			return response, err
		}
	}
	return m.next.RoundTrip(request)
}

// visitMoody is visit at a cluster whose mood can change.
func visitMoody(t *testing.T, mood trouble) (*person, *moody) {
	t.Helper()
	m := new(moody)
	if mood != nil {
		m.mood.Store(&mood)
	}
	return visit(t, func(next http.RoundTripper) http.RoundTripper {
		m.next = next
		return m
	}), m
}

// TestRightsInOneNamespace: people with rights in one namespace are asked for it, and never see an empty page.
func TestRightsInOneNamespace(t *testing.T) {
	t.Parallel()
	refused := errorOf(http.StatusForbidden, metav1.StatusReasonForbidden, "you can't do that at the cluster scope")
	var pause atomic.Int64 // before each refusal; nanoseconds
	p, _ := visitMoody(t, func(request *http.Request) (*http.Response, error) {
		if strings.Contains(request.URL.Path, "/namespaces/shop/") {
			return nil, nil // The cluster answers.
		}
		<-time.After(time.Duration(pause.Load()))
		return refused(request)
	})
	for i, hash := range []string{
		"#/results", "#/heatmap", "#/policy?policy=no-root", "#/overview?outside=1", "#/fix", "#/policies", "#/namespaces", "#/question?by=policy", "#/fix", "#/overview",
	} {
		if i > 5 {
			pause.Store(int64(200 * time.Millisecond)) // After a page is shown without its parts.
		}
		p.open(hash)
		p.wants("You may not read the results of all namespaces", "Choose a namespace", "at the cluster scope")
		p.sound()
	}
	if offered := eval[string](p, "document.querySelector('main input').value"); offered != "shop" {
		t.Errorf("the namespace %q is offered, want that of the kubeconfig", offered)
	}
	p.do(chromedp.Click("main button"), chromedp.WaitVisible(".cards"))
	p.wants("131 failures in namespace shop")
	p.open("#/results?namespace=quiet")
	p.wants("You may not read results in namespace quiet")
	for hash, text := range map[string]string{
		"#/policy?namespace=shop&policy=no-root": "1 of 2 results fail", "#/fix?namespace=shop": "runs as root", "#/policies?namespace=shop": "5 of 5", "#/namespaces?namespace=shop": "1 of 1",
		"#/resource?namespace=shop&kind=Deployment&name=web": "3 results of 2 sources", "#/question?namespace=shop&by=policy": "no-root", "#/heatmap?namespace=shop": "no-root",
		"#/policy?namespace=shop&policy=nope": "No results in namespace shop have the policy nope",
	} {
		p.open(hash)
		p.do(unfold)
		p.do(poll(`![...document.querySelectorAll('.finding .inside')].some((e) => !e.textContent || e.textContent.startsWith('Reading'))`))
		p.wants(text)
		if strings.Contains(p.text(), "at the cluster scope") {
			t.Errorf("%s needs more rights:\n%s", hash, p.text())
		}
		p.sound()
	}
}

// TestTroubleWhileOpen: a page that can't be read any more says what happened, and returns once the trouble has ended.
func TestTroubleWhileOpen(t *testing.T) {
	t.Parallel()
	p, cluster := visitMoody(t, nil)
	for name, test := range map[string]struct {
		trouble trouble
		says    []string
		again   bool // there is a button for it
	}{
		"cluster away":   {away, []string{"The cluster can’t be reached", "nobody is there"}, true},
		"database away":  {errorOf(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "the database does not answer"), []string{"The cluster could not answer", "the database does not answer"}, true},
		"too slow":       {errorOf(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "the question takes too long"), []string{"The cluster could not answer", "takes too long"}, true},
		"rights revoked": {errorOf(http.StatusForbidden, metav1.StatusReasonForbidden, "you can't list"), []string{"You may not read the results of all namespaces", "you can't list"}, false},
		"account gone":   {errorOf(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized"), []string{"The cluster does not know you", "Sign in there"}, true},
	} {
		p.open("#/results")
		cluster.mood.Store(&test.trouble)
		p.do(chromedp.Click(`nav a[href^="#/heatmap"]`), chromedp.WaitVisible(".problem"))
		p.wants(test.says...)
		p.sound()
		if menu := eval[int](p, "document.querySelectorAll('nav a').length"); menu != 6 {
			t.Errorf("%s: the menu has %d pages, want 6", name, menu)
		}
		cluster.mood.Store(nil)
		next := `nav a[href^="#/overview"]`
		if test.again {
			next = "main .problem button"
		}
		p.do(chromedp.Click(next), chromedp.WaitVisible("main:not([aria-busy]) .heading"))
		p.wants("all namespaces")
	}
}

// TestTroubleAtFirst: also what is read once, before the first page, may not be there.
func TestTroubleAtFirst(t *testing.T) {
	t.Parallel()
	p, cluster := visitMoody(t, away)
	p.wants("The cluster can’t be reached", "nobody is there", "Try again")
	p.sound()
	beside := trouble(besideAnother)
	cluster.mood.Store(&beside)
	p.do(chromedp.Click("main .problem button"), chromedp.WaitVisible(".cards"))
	p.wants("failures in all namespaces")
	p.do(chromedp.WaitVisible(`nav a[href="#/clusters"]`))
}

// TestFewResults: a cluster without results, and one with 20.
func TestFewResults(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	var small uptest.Server
	t.Cleanup(func() {
		if err := small.Stop(); err != nil {
			t.Error(err)
		}
	})
	config := testkit.Must(small.Config(nil))(t)
	p := visitAt(t, config, nil)
	pages := []string{"#/overview", "#/results", "#/heatmap", "#/policy?policy=few", "#/resource?namespace=default&kind=Pod&name=small", "#/report?namespace=default&kind=PolicyReport&name=small"}
	for i, text := range []string{
		"There are no results", "No results match", "No failures", "have the policy few", "have the name small", "Not found",
	} {
		p.open(pages[i])
		p.wants(text)
		p.sound()
	}
	testkit.NoError(t, writeFew(t.Context(), config))
	for i, text := range []string{"20 failures", "1–20 of 20", "few", "20 of 20 results fail", "20 results of 1 source", "rule: rule-19"} {
		p.open(pages[i])
		p.wants(text)
		p.sound()
	}
}

// writeFew writes a report with 20 results.
func writeFew(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	results := make([]any, 20)
	for i := range results {
		results[i] = result{"policy": "few", "rule": fmt.Sprintf("rule-%d", i), "result": "fail", "source": "engine"}
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport", "metadata": map[string]any{"name": "small"},
		"scope": map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "small", "namespace": "default"}, "results": results,
	}}
	_, err = client.Resource(reportsResource("policyreports")).Namespace("default").Create(ctx, object, metav1.CreateOptions{})
	return err
}

// slowAt is a cluster that does not answer questions with a text in them.
func slowAt(text string) trouble {
	return func(request *http.Request) (*http.Response, error) {
		if request.Body == nil {
			return nil, nil // The cluster answers.
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(body), text) {
			<-request.Context().Done()
			return nil, request.Context().Err()
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		return nil, nil // The cluster answers.
	}
}

// TestTooManyResources: where counting the resources of a finding takes long, it unfolds without them.
func TestTooManyResources(t *testing.T) {
	t.Parallel()
	p, _ := visitMoody(t, slowAt(`"subject.name"`))
	p.open("#/fix")
	p.do(chromedp.Click(".finding summary"), poll(`document.querySelector('.finding[open] dl') !== null`))
	p.wants("too many resources to list them at once", "All of these results")
	p.sound()
}

// TestTooManyFailures: where counting messages takes long, the page of a policy is shown without them.
func TestTooManyFailures(t *testing.T) {
	t.Parallel()
	p, _ := visitMoody(t, slowAt(`"message"`))
	p.open("#/policy?policy=no-root")
	p.wants("1 of 2 results fail", "too many failures to count their messages", "Count them all the same")
	p.sound()
	for _, hash := range []string{"#/fix", "#/overview"} {
		p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(p.base+"/"+hash), chromedp.WaitVisible("main:not([aria-busy]):has(.waiting) h1"))
		p.wants("Counting …")
		p.open(hash)
		p.wants("too many failures to put them together at once")
		p.sound()
	}
}
