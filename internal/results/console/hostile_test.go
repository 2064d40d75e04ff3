// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"net/url"
	"strings"
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

// hostileNames are names that could be taken for something else: by a browser, JavaScript, an address, CEL or a reader.
func hostileNames() []string {
	return []string{markup, quotes, reversed, "100%25&a=b#c?d", "constructor", "__proto__", strings.Repeat("n", 253), "{name}", "a\nb\tc"}
}

// seen is a text as pages show it.
func seen(text string) string { return strings.ReplaceAll(text, "\u202e", "‹U+202E›") }

// alike is how many resources fail with the same message, more than a finding shows of them.
const alike = 25

// writeHostile writes a failure with each hostile name as policy, source, category, resource, message and property,
// failures of times that can't be right, and many that say the same.
func writeHostile(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	var results []any
	for i, name := range hostileNames() {
		results = append(results, result{
			"policy": name, "rule": name, "source": name, "category": name, "severity": "critical", "result": "fail", "message": fmt.Sprintf("%d %s", i, name),
			"properties": map[string]any{name: name, "remediation": name}, "resources": []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": name}},
		})
	}
	now := time.Now().Unix()
	for _, at := range []int64{-1, 1, now - 3600, now, now + 48*3600, 253_402_300_799} {
		results = append(results, result{"policy": "dated", "source": "engine", "severity": "low", "result": "fail", "message": "dated", "timestamp": map[string]any{"seconds": at, "nanos": int64(0)}})
	}
	for i := range alike {
		about := map[string]any{"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": fmt.Sprintf("pod-%02d", i)}
		results = append(results, result{"policy": "alike", "source": "engine", "severity": "high", "result": "fail", "message": "all the same", "resources": []any{about}})
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport", "metadata": map[string]any{"name": "hostile"}, "results": results,
	}}
	_, err = client.Resource(reportsResource("policyreports")).Namespace("default").Create(ctx, object, metav1.CreateOptions{})
	return err
}

// TestHostileNames: whatever things are called, all pages show them, and lead to them.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	var own uptest.Server
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	p := visitAt(t, testkit.Must(own.Config(writeHostile))(t), nil)
	for _, hash := range []string{"#/fix", "#/fix?namespace=default", "#/policies", "#/heatmap", "#/heatmap?namespace=default", "#/question?by=policy&by=source&by=message&order=results"} {
		p.open(hash)
		p.do(unfold)
		p.do(poll(`![...document.querySelectorAll('.finding .inside')].some((e) => !e.textContent || e.textContent.startsWith('Reading'))`))
		for _, name := range hostileNames() {
			p.wants(strings.Split(seen(name), "\n")[0])
		}
		p.sound()
	}
	for _, name := range hostileNames() {
		values := url.Values{"policy": {name}, "source": {name}}.Encode()
		for _, hash := range []string{"#/policy?" + values, "#/results?" + values, "#/resource?" + url.Values{"namespace": {"default"}, "kind": {"Pod"}, "name": {name}}.Encode()} {
			p.open(hash)
			p.wants(strings.Split(seen(name), "\n")[0])
			if text := p.text(); strings.Contains(text, "No results") || strings.Contains(text, "has a fault") {
				t.Errorf("%s does not find it:\n%.500s", hash, text)
			}
			p.sound()
		}
		p.open("#/policy?policy=" + url.QueryEscape(name+"x"))
		p.wants("Did you mean")
		p.sound()
	}
	p.open("#/fix")
	p.do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll('.finding')].find((e) => e.textContent.includes('all the same')).open = true`),
		poll(`document.querySelectorAll('.finding[open] .resources li').length > 0`))
	p.wants("25 resources in 1 namespace", "The first 20 resources.")
	if n := eval[int](p, "document.querySelectorAll('.finding[open] .resources li').length"); n != 20 {
		t.Errorf("%d of %d resources are shown, want 20", n, alike)
	}
}

// TestWrongTimes: times that can't be right are neither new, nor do they hide the days that are.
func TestWrongTimes(t *testing.T) {
	t.Parallel()
	var own uptest.Server
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	p := visitAt(t, testkit.Must(own.Config(writeHostile))(t), nil)
	p.open("#/overview")
	p.wants("2 in the last 24 hours", "2 dated after today", "1970-01-01", "1969-12-31", time.Now().UTC().Format(time.DateOnly))
	for text, found := range map[string]int{"in the last 24 hours": 2, "dated after today": 2, "1970-01-01": 1, "1969-12-31": 1} {
		p.open("#/overview")
		p.open(eval[string](p, "[...document.querySelectorAll('a')].find((a) => a.textContent.includes(%q)).hash", text))
		if n := eval[int](p, "document.querySelectorAll('tbody tr').length"); n != found {
			t.Errorf("%s leads to %d results, want %d:\n%.500s", text, n, found, p.text())
		}
	}
	for seconds, want := range map[int]string{-5: "5s", 30: "0s", 7200: "in 2h", 200_000: "in 2d"} {
		if got := eval[string](p, "import('/js/dom.js').then((m) => m.age(new Date(Date.now() + 1000 * %d).toISOString()).textContent)", seconds); got != want {
			t.Errorf("the age of what happens in %d seconds is %q, want %q", seconds, got, want)
		}
	}
}
