// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestPages(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	for hash, texts := range map[string][]string{
		"":                     {"132 failures in all namespaces", "Failures by severity", "critical", "66", "many", "shop", "cluster-scoped", "Fix first", "Failures by day"},
		"#/overview?outside=1": {"1 failure in cluster-scoped reports", "node-check"},
		"#/results":            {"1–100 of 135 in all namespaces", "node-1", "Next page"},
		"#/results?namespace=shop&policy=no-root":            {"1–1 of 1 in namespace shop", "web", "Deployment", "runs as root"},
		"#/results?namespace=shop&policy=no-root&result=all": {"1–2 of 2"},
		"#/results?namespace=shop&severity=none":             {"old image"},
		"#/resource?namespace=shop&kind=Deployment&name=web": {"Deployment/web", "3 results of 2 sources", "runs as root", "old image", "1 passed or skipped", "33% of 3"},
		"#/resource?outside=1&kind=Node&name=node-1":         {"Node/node-1", "old kernel"},
		"#/policy?policy=no-root":                            {"no-root", "50.0% pass", "Source", "engine", "Severity", "high", "Category", "Pods", "1 of 2 results fail", "shop", "check", "runs as root", "if it were enforced"},
		"#/policy?policy=many&source=engine&namespace=shop":  {"130 of 130 results fail", "0.0% pass", "one of many"},
		"#/heatmap":                {"node-check", "shop", "cluster-scoped", "130", "100–999"},
		"#/heatmap?namespace=shop": {"no-root", "critical", "65"},
		"#/fix":                    {"Fix first", "one of many", "1 resource in 1 namespace", "runs as root"},
		"#/report?namespace=shop&kind=PolicyReport&name=web":        {"message: runs as root", "kind: PolicyReport"},
		"#/report?kind=ClusterPolicyReport&name=nodes":              {"message: old kernel"},
		"#/report?namespace=shop&kind=VulnerabilityReport&name=web": {"kind: VulnerabilityReport", "vulnerabilityID: CVE-2026-0001"},
		"#/nothing":             {"There is no such page"},
		"#/constructor":         {"There is no such page"},
		"#/question?by=report.": {"Unsupported value"},
		"#/report?namespace=shop&kind=Secret&name=x":                {"There is no such kind of report"},
		"#/report?namespace=shop&kind=PolicyReport&name=gone":       {"Not found", "The object is gone"},
		"#/results?from=fail%2Fcritical%2F&continue=wrong&page=2":   {"The cluster does not understand this address", "Start from the first page"},
		"#/resource?namespace=shop&kind=Deployment&name=unheard-of": {"No results in namespace shop have the name unheard-of"},
		"#/resource?namespace=shop&kind=deployment&name=web":        {"No results in namespace shop have the kind deployment", "Did you mean Deployment?"},
		"#/policy?policy=no-roots&source=engine":                    {"No results in all namespaces have the policy no-roots", "Did you mean no-root?"},
		"#/policy?policy=no-root&source=other":                      {"no results of the source other"},
		"#/results?policy=NO-ROOT&result=all":                       {"No results in all namespaces have the policy NO-ROOT", "Did you mean no-root?"},
		"#/policies":                                                {"6 of 6", "no-root", "50.0%"},
		"#/policies?outside=1":                                      {"1 of 1", "node-check"},
		"#/policies?namespace=shop&view=clean":                      {"1 of 5", "scan"},
		"#/namespaces":                                              {"1 of 1", "shop"},
	} {
		p.open(hash)
		p.wants(texts...)
		if title := eval[string](p, "document.title"); strings.Contains(title, "function") {
			t.Errorf("%s has the title %s", hash, title)
		}
		if strings.HasSuffix(strings.TrimSpace(p.text()), "null") || strings.Contains(p.text(), "\nnull\n") {
			t.Errorf("%s shows what is not there:\n%s", hash, p.text())
		}
		p.sound()
	}
}

func TestPagesWithoutResults(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	for hash, text := range map[string]string{
		"#/overview?namespace=quiet":              "There are no results",
		"#/results?namespace=quiet":               "No results match",
		"#/heatmap?namespace=quiet":               "No failures",
		"#/policy?namespace=quiet&policy=no-root": "No results in namespace quiet have the policy no-root",
	} {
		p.open(hash)
		p.wants(text)
		p.sound()
	}
}

// TestEnforced: a policy leads to the resources that fail.
func TestEnforced(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	p.open("#/policy?policy=no-root&source=engine")
	p.do(chromedp.Click(`p a[href^="#/question"]`), chromedp.WaitVisible("main form.question"), ready)
	p.wants("Refused if no-root were enforced", "Deployment", "web")
	if rows := eval[int](p, "document.querySelectorAll('tbody tr').length"); rows != 1 {
		t.Errorf("%d resources, want 1", rows)
	}
}

// TestPhone: on a phone a result has two lines until somebody unfolds it, and numbers stay a table.
func TestPhone(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	p.do(chromedp.EmulateViewport(phone, height))
	p.open("#/results?policy=many")
	if high := eval[float64](p, "Math.max(...[...document.querySelectorAll('tbody tr')].map((e) => e.offsetHeight))"); high > 75 {
		t.Errorf("a result takes %v pixels, want two lines", high)
	}
	if high := eval[float64](p, "document.querySelector('header').offsetHeight"); high > 100 {
		t.Errorf("the header takes %v pixels, want two lines", high)
	}
	p.do(chromedp.Click("td .message summary"))
	p.wants("PolicyReport/many")
	for _, hash := range []string{"#/policies", "#/namespaces", "#/question?by=source&columns=result", "#/policy?policy=many"} {
		p.open(hash)
		if display := eval[string](p, "getComputedStyle(document.querySelector('main tbody tr')).display"); display != "table-row" {
			t.Errorf("%s is no table on a phone: its rows are shown as %s", hash, display)
		}
		p.sound()
	}
}

// TestHostileTexts: what reports say is text.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	for hash, texts := range map[string][]string{
		"#/overview":                                                                {"135"},
		"#/results?kind=Pod&subject=hostile":                                        {markup, "ab‹U+202E›dc", quotes},
		"#/resource?namespace=shop&kind=Pod&name=hostile":                           {markup, quotes},
		"#/policy?namespace=shop&policy=" + url.QueryEscape(markup):                 {markup, "1"},
		"#/policy?namespace=shop&policy=" + url.QueryEscape(quotes):                 {quotes},
		"#/results?result=all&policy=" + url.QueryEscape(quotes):                    {"1–1 of 1"},
		"#/results?result=all&policy=" + url.QueryEscape(markup):                    {"1–1 of 1"},
		"#/report?namespace=shop&kind=PolicyReport&name=hostile":                    {"window.hacked='image'", "‹U+202E›"},
		"#/results?namespace=" + url.QueryEscape(markup):                            {},
		"#/report?kind=PolicyReport&namespace=shop&name=" + url.QueryEscape(markup): {},
		"#/results?subject=" + url.QueryEscape(reversed):                            {"No results match"},
	} {
		p.open(hash)
		if hash != "#/overview" {
			p.wants(texts...)
		}
		if strings.ContainsRune(p.text(), '\u202e') {
			t.Errorf("%s turns the direction of text", hash)
		}
		p.sound()
	}
	p.open("#/results?kind=Pod&subject=hostile&source=" + url.QueryEscape(markup))
	if length := len(p.text()); length > 3000 {
		t.Errorf("a long message is not folded: the page has %d characters", length)
	}
	p.do(chromedp.Click("td .message summary"))
	if length := len(p.text()); length < 100_000 {
		t.Errorf("a long message is not shown after unfolding: the page has %d characters", length)
	}
}

// TestResultsInPages: each result is in one page, and no page has a worse one than those before.
func TestResultsInPages(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	p.open("#/results?policy=many")
	var severities, rules []string
	for {
		severities = append(severities, eval[[]string](p, `[...document.querySelectorAll('tbody tr td:nth-child(2)')].map((e) => e.textContent)`)...)
		rules = append(rules, eval[[]string](p, `[...document.querySelectorAll('tbody tr td:nth-child(4) small')].map((e) => e.textContent)`)...)
		if !eval[bool](p, "document.querySelector('a.next') !== null") {
			break
		}
		p.open(eval[string](p, "document.querySelector('a.next').hash"))
	}
	if len(severities) != many || !slices.IsSorted(severities) { // critical, low
		t.Errorf("%d results with severities %v; want %d, the worst first", len(severities), severities, many)
	}
	slices.Sort(rules)
	if len(slices.Compact(rules)) != many {
		t.Errorf("%d different results, want %d", len(slices.Compact(rules)), many)
	}
	p.wants("101–130 of 130", "First page", "Page 2")
}

// TestFiltersAndKeys: filters change the address, which has the whole state.
func TestFiltersAndKeys(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	p.open("#/results?namespace=shop")
	p.do(chromedp.Click(`input[value="critical"]`), chromedp.WaitVisible(`input[value="critical"]:checked`), ready)
	p.do(poll(`document.querySelector('main:not([aria-busy]) h1 + p')?.textContent.includes('of 65')`))
	if hash := eval[string](p, "location.hash"); hash != "#/results?namespace=shop&result=fail&result=error&result=warn&severity=critical" {
		t.Errorf("the address is %s", hash)
	}
	if value := eval[string](p, "document.activeElement.value"); value != "critical" {
		t.Errorf("after a click, the focus is on %q, want the same box", value)
	}
	if said := eval[string](p, "document.getElementById('status').textContent"); !strings.Contains(said, "of 65 in namespace shop") {
		t.Errorf("those who don't see the page are told %q", said)
	}
	p.do(chromedp.KeyEvent("/"))
	if name := eval[string](p, "document.activeElement.name"); name != "subject" {
		t.Errorf("the slash key goes to %q, want the filter of names", name)
	}
	p.do(poll(`document.querySelectorAll('#values-of-subject option').length === 1`))
	p.do(chromedp.KeyEvent("nobody\r"), poll(`document.querySelector('main:not([aria-busy])')?.innerText.includes('No results match')`))
}

// TestOtherBrowser: the link is spent, and what to do is said; also to a browser that was signed in.
func TestOtherBrowser(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	other := &person{T: t, tab: browser.tab(t), base: p.base}
	for target, text := range map[string]string{"/sign-in?token=old": "This link has been used", "/": "This browser is not signed in"} {
		other.do(chromedp.Navigate(p.base+target), ready)
		other.wants(text, "run in a terminal: docket console --context test")
	}
	p.console.session.mu.Lock()
	p.console.session.cookie = "another"
	p.console.session.mu.Unlock()
	p.do(chromedp.Click(`nav a[href^="#/results"]`), chromedp.WaitVisible(".problem"))
	p.wants("This browser is not signed in", "run in a terminal: docket console --context test")
}

// TestCommands: the commands that pages show, quoted for a shell.
func TestCommands(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	for params, want := range map[string]string{
		"":                                       `kubectl get policyresults,clusterpolicyresults -A -l 'results.docket.dev/result in (fail,error,warn)'`,
		"namespace=shop":                         `kubectl get policyresults -n shop -l 'results.docket.dev/result in (fail,error,warn)'`,
		"outside=1&result=all":                   `kubectl get clusterpolicyresults`,
		"result=all&severity=none":               `kubectl get policyresults,clusterpolicyresults -A -l '!results.docket.dev/severity'`,
		"result=pass&severity=none&severity=low": `kubectl get policyresults,clusterpolicyresults -A -l 'results.docket.dev/result=pass,results.docket.dev/severity notin (critical,high,medium,info)'`,
		"result=all&subject=web&kind=Pod":        `kubectl get policyresults,clusterpolicyresults -A --field-selector subject.name=web,subject.kind=Pod`,
		"result=all&policy=" + url.QueryEscape(quotes): `kubectl get policyresults,clusterpolicyresults -A --field-selector 'policy=it'\''s "a\\b"\, c\=d'`,
	} {
		got := eval[string](p, `Promise.all([import('/js/filters.js'), import('/js/router.js')]).then(([f, r]) => {
			const params = new URLSearchParams(%q);
			return f.command(['kubectl'], r.scopeOf({ params }), f.filtersOf(params));
		})`, params)
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", params, got, want)
		}
	}
}

// TestSQL: the queries that pages show find what the pages show, whatever is in the texts.
func TestSQL(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	const worst = `CASE result WHEN 'fail' THEN 0 WHEN 'error' THEN 1 WHEN 'warn' THEN 2 WHEN 'skip' THEN 3 WHEN 'pass' THEN 4 ELSE 5 END, ` +
		`CASE severity WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 WHEN 'low' THEN 3 WHEN 'info' THEN 4 ELSE 5 END`
	for params, want := range map[string]string{
		"":                     `SELECT * FROM policy_results WHERE result IN ('fail', 'error', 'warn') ORDER BY ` + worst + ` LIMIT 100`,
		"result=all":           `SELECT * FROM policy_results ORDER BY ` + worst + ` LIMIT 100`,
		"outside=1&result=all": `SELECT * FROM policy_results WHERE namespace = '' ORDER BY ` + worst + ` LIMIT 100`,
		"namespace=shop&result=all&severity=none&kind=Pod&policy=" + url.QueryEscape(quotes): `SELECT * FROM policy_results ` +
			`WHERE namespace = 'shop' AND severity IN ('') AND subject_kind = 'Pod' AND policy = 'it''s "a\b", c=d' ORDER BY ` + worst + ` LIMIT 100`,
	} {
		got := eval[string](p, `Promise.all([import('/js/filters.js'), import('/js/router.js')]).then(([f, r]) => {
			const params = new URLSearchParams(%q);
			return f.sql(r.scopeOf({ params }), f.filtersOf(params));
		})`, params)
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", params, got, want)
		}
	}
	p.open("#/results?namespace=shop&policy=no-root")
	if text := eval[string](p, "document.querySelector('.as').textContent"); !strings.Contains(text, "WHERE cluster = ") {
		t.Errorf("the query of the page does not name the cluster: %s", text)
	}
}

// TestYAML: what a page shows of an object is the object.
func TestYAML(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	const object = `{"a": "yes", "b": [{"c": [], "d": {}}, [1, [2.5, null]], "x: y", "- z", ""], "no": {"e f": true, "0x1": "12", "t": "a\nb\t\"'#"}, "~": "null", "k": "2026-11-25", "l": "1e3", "m": "y ", "n": " # c", "o": "a #b", "_1": "1_000", "p": ".5"}`
	text := eval[string](p, `import('/js/yaml.js').then((m) => m.yaml(%s))`, object)
	var got, want any
	if err := yaml.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	testkit.NoError(t, json.Unmarshal([]byte(object), &want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the YAML is another object (-want +got):\n%s\n%s", diff, text)
	}
}

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
