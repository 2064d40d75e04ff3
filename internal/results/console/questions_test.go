// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// answers are what the known questions answer about the reports of all tests: parts of rows, which have tabs between
// cells. Those that stay empty here have no results of their kind.
var answers = map[string][]string{
	"Where are the failures, by namespace and severity?":             {"shop\tcritical\t65", "cluster-scoped\tcritical\t1", "shop\thigh\t1"},
	"How severe are the failures of each namespace?":                 {"shop\t65\t1\t65"},
	"Which policies fail most, and in how many namespaces?":          {"engine\tmany\t130\t1\t1", "engine\tno-root\t1\t1\t1"},
	"What failed most recently?":                                     {"one of many", "Next page"},
	"How many failures were found each day?":                         {"–\tengine\t132"},
	"Which resources have critical findings of two sources or more?": {"No results."},
	"What share of the checks does each policy pass?":                {"no-root\tengine\t1\t0\t0\t0\t1\t50.0%", "many\tengine\t130\t0\t0\t0\t0\t0.0%", "3 of 6"},
	"Which namespaces have no failures?":                             {"0 of 1", "None."},
	"Which policies never fail?":                                     {"scan\tscanner\t0\t0\t1"},
	"Who produces the results?":                                      {"engine\t132\t1\t0\t1\t0.7%"},
	"Which messages are most frequent?":                              {"engine\tone of many\t130", "engine\tab‹U+202E›dc\t1"},
	"Which rules can’t be evaluated, and why?":                       {quotes, "ab‹U+202E›dc"},
	"Which reports are older than a day?":                            {"No results."},
	"Which images have the most critical ones?":                      {"No results."},
}

// questions are the addresses of those that the page has.
func (p *person) questions() map[string]string {
	p.Helper()
	return eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll('.questions a')].map((a) => [a.textContent, a.hash]))`)
}

// TestQuestions: each known question is an address that is answered, and can be changed.
func TestQuestions(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	p.open("#/questions")
	p.sound()
	links := p.questions()
	if !slices.Equal(slices.Sorted(maps.Keys(links)), slices.Sorted(maps.Keys(answers))) {
		t.Errorf("the questions are %q", slices.Sorted(maps.Keys(links)))
	}
	for question, hash := range links {
		p.open(hash)
		rows := eval[string](p, `[...document.querySelectorAll('main tbody tr')].map((tr) => [...tr.cells].map((c) => c.innerText.replace(/^[✕!▲–✓]\n/, '').trim()).join('\t')).join('\n') + '\n' + document.querySelector('main').innerText`)
		for _, want := range answers[question] {
			if !strings.Contains(rows, want) {
				t.Errorf("%s: %q is missing in\n%s", question, want, rows)
			}
		}
		p.wants(question)
		p.sound()
	}
}

// TestOwnQuestion: what somebody asks becomes an address; what can't be asked is explained.
func TestOwnQuestion(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	p := visit(t, nil)
	p.open("#/question?namespace=shop")
	p.do(chromedp.SetValue(`input[name="filter"]`, `result == "warn"`), chromedp.Click(`input[name="by"][value="policy"]`), chromedp.Click(`.actions button`))
	p.do(poll(`location.hash.includes('by=policy') && document.querySelector('main:not([aria-busy]) table')?.innerText.includes('scan')`))
	if command := eval[string](p, "document.querySelector('.copy code').textContent"); !strings.Contains(command, `"groupBy":["policy"]`) || !strings.Contains(command, `"namespace":"shop"`) {
		t.Errorf("the command is %s", command)
	}
	p.open("#/question?filter=" + url.QueryEscape(`colour == "red"`))
	p.wants("undeclared reference to 'colour'")
	p.open("#/question?by=colour")
	p.wants("spec.groupBy[0]", "policy")
	p.open("#/question?by=policy&columns=" + url.QueryEscape("__proto__"))
	p.wants("many")
	p.sound()
}

// TestSortAndSearch: columns sort all results, not those of a page, and messages can be searched.
func TestSortAndSearch(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	p := visit(t, nil)
	p.open("#/results?namespace=shop&result=all")
	p.do(chromedp.Click(`thead th:nth-child(4) a`), chromedp.WaitVisible(`th[aria-sort="ascending"]`))
	first := func() string {
		return eval[string](p, `document.querySelector('tbody tr td:nth-child(4) a').textContent`)
	}
	if got := first(); !strings.HasPrefix(got, "<img") {
		t.Errorf("sorted by policy, the first is %q", got)
	}
	p.do(chromedp.Click(`thead th:nth-child(4) a`), chromedp.WaitVisible(`th[aria-sort="descending"]`))
	if got := first(); got != "scan" {
		t.Errorf("sorted by policy the other way round, the first is %q", got)
	}
	p.do(chromedp.Click("a.next"), poll(`document.querySelector('main:not([aria-busy]) .heading')?.innerText.includes('101–135 of 135')`))
	p.sound()
	p.open("#/results?message=" + url.QueryEscape("as ROOT"))
	p.wants("No results match")
	p.open("#/results?message=" + url.QueryEscape("as root"))
	p.wants("1–1 of 1", "runs as root")
	p.open("#/results?sort=" + url.QueryEscape("policy; DROP TABLE x"))
	if text := eval[string](p, "document.querySelector('.as').textContent"); strings.Contains(text, "DROP") {
		t.Errorf("what an address says gets into a query: %s", text)
	}
}

// TestExport: a file has all results that the filters select, with the same fields.
func TestExport(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	for _, params := range []string{"namespace=shop&result=all", "namespace=shop&result=all&sort=policy"} {
		p.open("#/results?" + params)
		text := eval[string](p, `new Promise((resolve) => {
			const address = URL.createObjectURL.bind(URL);
			URL.createObjectURL = (blob) => (resolve(blob.text()), address(blob));
			[...document.querySelectorAll('.export button')].find((b) => b.textContent.includes('CSV')).click();
		})`)
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || len(rows) != 1+many+5 {
			t.Fatalf("%s: %d rows, %v; want %d and a head", params, len(rows), err, many+5)
		}
		found := false
		for _, row := range rows {
			found = found || row[5] == quotes && row[15] == reversed
		}
		if !found || strings.Join(rows[0][:5], ",") != "cluster,namespace,report_kind,report,source" {
			t.Errorf("%s: the head is %v; the result with quotes is there: %v", params, rows[0], found)
		}
	}
	p.do(poll(fmt.Sprintf(`document.querySelector('.export').innerText.includes('%d results are saved')`, many+5)))
}

// TestExportedFormulasAreText: by the rule of docket results.
func TestExportedFormulasAreText(t *testing.T) {
	t.Parallel()
	data := testkit.Must(os.ReadFile("../resultview/testdata/formulas.json"))(t)
	var cells map[string]string
	testkit.NoError(t, json.Unmarshal(data, &cells))
	var items []map[string]any
	given := slices.Sorted(maps.Keys(cells))
	for _, cell := range given {
		items = append(items, map[string]any{"metadata": map[string]any{"namespace": cell}, "report": map[string]any{"kind": "PolicyReport"}, "message": cell})
	}
	argument := testkit.Must(json.Marshal(items))(t)
	p := visit(t, nil)
	text := eval[string](p, `import('/js/export.js').then((m) => m.csv(JSON.parse(%q)))`, argument)
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != len(given)+1 {
		t.Fatalf("%d rows, %v: %q", len(rows), err, text)
	}
	for i, cell := range given {
		if row := rows[i+1]; row[1] != cells[cell] || row[15] != cells[cell] {
			t.Errorf("%q became %q and %q, want %q", cell, row[1], row[15], cells[cell])
		}
	}
}

// TestCutAnswers: where an answer has the first groups only, no row lacks some of its own.
func TestCutAnswers(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	type row struct {
		Policy      string
		Pass, Total int
	}
	rows := func(more bool) []row {
		return eval[[]row](p, `import('/js/counts.js').then(({ pivot }) => pivot({ more: %t, groups: [
			{ by: { policy: 'a', result: 'fail' }, results: 2 }, { by: { policy: 'a', result: 'pass' }, results: 3 }, { by: { policy: 'b', result: 'fail' }, results: 4 },
		] }, ['policy'], 'result').map(({ by, numbers, total }) => ({ policy: by.policy, pass: numbers.get('pass') ?? 0, total })))`, more)
	}
	if got, want := rows(true), []row{{"a", 3, 5}}; !slices.Equal(got, want) {
		t.Errorf("of an answer that is cut, the rows are %v, want %v", got, want)
	}
	if got, want := rows(false), []row{{"a", 3, 5}, {"b", 0, 4}}; !slices.Equal(got, want) {
		t.Errorf("the rows are %v, want %v", got, want)
	}
	names := eval[[]string](p, `import('/js/missing.js').then(({ nearest }) => nearest('Require-Label', ['no-root', 'require-probes', 'require-labels', '']))`)
	if !slices.Equal(names, []string{"require-labels", "require-probes"}) {
		t.Errorf("the names offered are %q", names)
	}
}
