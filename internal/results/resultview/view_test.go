// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/sarif"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func result(namespace, policy, outcome, severity, subject string) v1alpha1.PolicyResult {
	r := v1alpha1.PolicyResult{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: policy + "-" + strings.ToLower(strings.ReplaceAll(subject, "/", "-"))}}
	r.Source, r.Policy, r.Rule, r.Result.Result, r.Severity, r.Message = "kyverno", policy, "check", outcome, severity, "because of "+policy
	r.Report = v1alpha1.ReportReference{Kind: "PolicyReport", Name: "r"}
	if subject != "" {
		kind, name, _ := strings.Cut(subject, "/")
		r.Subject = &v1alpha1.Subject{Kind: kind, Namespace: namespace, Name: name}
	}
	return r
}

// cluster answers lists with these results, in pages. Results without a namespace are outside namespaces.
type cluster struct {
	t       *testing.T
	results []v1alpha1.PolicyResult
	// refused are the paths that are forbidden.
	refused []string
	// queries are those that were asked for.
	queries []url.Values
	// namespaces that exist beside those of results.
	namespaces []string
	// answer is what questions get, if not groups of the results; spec is the last one.
	answer v1alpha1.ResultQueryStatus
	spec   v1alpha1.ResultQuerySpec
}

func (c *cluster) client() *Client {
	c.t.Helper()
	server := httptest.NewServer(c)
	c.t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// ServeHTTP implements http.Handler.
func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	path := strings.TrimPrefix(r.URL.Path, "/apis/results.docket.dev/v1alpha1/")
	if slices.Contains(c.refused, path) {
		status := apierrors.NewForbidden(v1alpha1.Resource("x"), "", nil).Status()
		w.WriteHeader(http.StatusForbidden)
		c.write(w, status)
		return
	}
	if r.Method == http.MethodPost {
		var query v1alpha1.LocalResultQuery
		if err := json.NewDecoder(r.Body).Decode(&query); err != nil {
			c.t.Error(err)
		}
		c.spec, query.Status = query.Spec, c.answer
		if len(c.answer.Groups) == 0 && len(c.answer.Results) == 0 {
			namespace, _, _ := strings.Cut(strings.TrimPrefix(path, "namespaces/"), "/")
			query.Status = c.grouped(query.Spec, strings.Contains(path, "namespaces/"), namespace)
		}
		query.APIVersion, query.Kind = v1alpha1.SchemeGroupVersion.String(), "LocalResultQuery"
		if kind, ok := map[string]string{"resultqueries": "ResultQuery", "fleetqueries": "FleetQuery"}[path]; ok {
			query.Kind = kind
		}
		c.write(w, query)
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/"); ok {
		if !slices.Contains(c.namespaces, name) && !slices.ContainsFunc(c.results, func(r v1alpha1.PolicyResult) bool { return r.Namespace == name }) {
			status := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, name).Status()
			status.APIVersion, status.Kind = "v1", "Status"
			w.WriteHeader(http.StatusNotFound)
			c.write(w, status)
			return
		}
		c.write(w, metav1.PartialObjectMetadata{})
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/apis/results") {
		http.NotFound(w, r) // Its discovery knows nothing.
		return
	}
	c.queries = append(c.queries, r.URL.Query())
	namespace, kind := "", "PolicyResultList"
	if rest, ok := strings.CutPrefix(path, "namespaces/"); ok {
		namespace, _, _ = strings.Cut(rest, "/")
	}
	if path == "clusterpolicyresults" {
		kind = "ClusterPolicyResultList"
	}
	list := v1alpha1.PolicyResultList{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind}}
	selected := func(one *v1alpha1.PolicyResult) bool {
		for _, term := range strings.Split(r.URL.Query().Get("labelSelector"), "),") {
			label, values, ok := strings.Cut(strings.TrimSuffix(term, ")"), " in (")
			value := map[string]string{v1alpha1.LabelResult: one.Result.Result, v1alpha1.LabelSeverity: one.Severity, v1alpha1.LabelSource: v1alpha1.LabelValue(one.Source)}[strings.TrimPrefix(label, "!")]
			if ok && !slices.Contains(strings.Split(values, ","), value) || strings.HasPrefix(label, "!") && value != "" {
				return false
			}
		}
		_, name, named := strings.Cut(r.URL.Query().Get("fieldSelector"), "subject.name=")
		return !named || one.Subject != nil && one.Subject.Name == name
	}
	for _, one := range c.results {
		if !selected(&one) {
			continue
		}
		if (one.Namespace == "") == (path == "clusterpolicyresults") && (namespace == "" || namespace == one.Namespace) {
			list.Items = append(list.Items, one)
		}
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		c.t.Errorf("%s has no limit", r.URL)
	}
	if list.Items = list.Items[from:]; len(list.Items) > limit {
		list.Items, list.Continue = list.Items[:limit], strconv.Itoa(from+limit)
	}
	c.write(w, list)
}

// grouped counts the results that meet the filter, whose conditions are equalities.
func (c *cluster) grouped(spec v1alpha1.ResultQuerySpec, local bool, namespace string) v1alpha1.ResultQueryStatus {
	fields := func(r *v1alpha1.PolicyResult) map[string]string {
		values := map[string]string{"source": r.Source, "policy": r.Policy, "rule": r.Rule, "result": r.Result.Result, "severity": r.Severity, "category": r.Category}
		if r.Subject != nil {
			values["subject.kind"], values["subject.name"] = r.Subject.Kind, r.Subject.Name
		}
		return values
	}
	var status v1alpha1.ResultQueryStatus
	for i := range c.results {
		values := fields(&c.results[i])
		meets := !local || c.results[i].Namespace == namespace
		for _, condition := range strings.Split(spec.Filter, " && ") {
			if field, want, ok := strings.Cut(condition, " == "); ok && strconv.Quote(values[field]) != want {
				meets = false
			}
			if field, want, ok := strings.Cut(condition, " != "); ok && strconv.Quote(values[field]) == want {
				meets = false
			}
			if field, want, ok := strings.Cut(condition, " in "); ok && !strings.Contains(want, strconv.Quote(values[field])) {
				meets = false
			}
		}
		if !meets {
			continue
		}
		by := map[string]string{}
		for _, field := range spec.GroupBy {
			by[field] = values[field]
		}
		at := slices.IndexFunc(status.Groups, func(g v1alpha1.ResultGroup) bool { return maps.Equal(g.By, by) })
		if at < 0 {
			at, status.Groups = len(status.Groups), append(status.Groups, v1alpha1.ResultGroup{By: by})
		}
		status.Groups[at].Results++
	}
	return status
}

func (c *cluster) write(w http.ResponseWriter, object any) {
	if err := json.NewEncoder(w).Encode(object); err != nil {
		c.t.Error(err)
	}
}

func TestPagesAndLimit(t *testing.T) {
	c := &cluster{t: t}
	for range pageSize + 3 {
		c.results = append(c.results, result("shop", "p", "fail", "high", "Pod/web"))
	}
	client := c.client()
	for _, test := range []struct {
		limit, want int
		more        bool
	}{{0, pageSize + 3, false}, {2, 2, true}, {pageSize + 1, pageSize + 1, true}, {pageSize + 3, pageSize + 3, false}, {pageSize + 9, pageSize + 3, false}} {
		seen := 0
		more, err := client.Results(t.Context(), Place{Namespace: "shop"}, Selection{}, test.limit, func(*v1alpha1.PolicyResult) error { seen++; return nil })
		if err != nil || seen != test.want || more != test.more {
			t.Errorf("limit %d: saw %d, more %v, error %v; want %d, %v", test.limit, seen, more, err, test.want, test.more)
		}
	}
}

func TestSelectors(t *testing.T) {
	c := &cluster{t: t}
	by := Selection{Results: []string{"fail", "warn"}, Policies: []string{"Pod Security"}, Rule: "r", Subject: "Pod/web"}
	testkit.Must(c.client().Results(t.Context(), Place{}, by, 0, nil))(t)
	want := url.Values{
		"limit":         {strconv.Itoa(pageSize)},
		"labelSelector": {v1alpha1.LabelResult + " in (fail,warn)," + v1alpha1.LabelPolicy + " in (" + v1alpha1.LabelValue("Pod Security") + ")"},
		"fieldSelector": {"rule=r,subject.kind=Pod,subject.name=web"},
	}
	if got := c.queries[0]; got.Encode() != want.Encode() {
		t.Errorf("got %v, want %v", got, want)
	}
	const expression = `result in ["fail", "warn"] && policy in ["Pod Security"] && rule == "r" && subject.kind == "Pod" && subject.name == "web"`
	if got := by.expression(); got != expression {
		t.Errorf("got %s, want %s", got, expression)
	}
	for text, want := range map[string][2]string{"Pod/web": {"Pod", "web"}, "Pod": {"Pod", ""}, "web": {"", "web"}, "pod/web": {"pod", "web"}, "": {"", ""}} {
		if kind, name := subjectOf(text); kind != want[0] || name != want[1] {
			t.Errorf("%q is the kind %q and the name %q", text, kind, name)
		}
	}
	if err := (Selection{Severities: []string{"hihg"}}).Check(); err == nil || !strings.Contains(err.Error(), "--severity") {
		t.Errorf("got the error %v", err)
	}
}

func TestWhy(t *testing.T) {
	remedy := result("shop", "cve", "fail", "critical", "Deployment/web")
	remedy.Properties = map[string]string{"fixedVersion": "1.2.3", "score": "9"}
	older := result("shop", "probes", "fail", "low", "Deployment/web")
	newer := older
	newer.Message = "newer"
	older.Timestamp, newer.Timestamp = &metav1.Time{Time: time.Unix(1, 0)}, &metav1.Time{Time: time.Unix(2, 0)}
	c := &cluster{t: t, results: []v1alpha1.PolicyResult{
		result("shop", "labels", "pass", "", "Deployment/web"), older, newer, remedy,
		result("", "cluster", "warn", "", "Deployment/web"),
	}}
	var out bytes.Buffer
	if err := c.client().Why(t.Context(), &out, Style{Width: 40}, Table, "shop", "Deployment/web", false); err != nil {
		t.Fatal(err)
	}
	const want = `Deployment/web: 3 fail, 1 warn, 1 pass

FAIL cve / check  (critical, kyverno)
    because of cve
    fixedVersion: 1.2.3

FAIL probes / check  (low, kyverno)
    newer
    and 1 more of this rule

WARN cluster / check  (kyverno)
    because of cluster
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	// Results outside namespaces are left out if the caller may not read them.
	c.refused = []string{"clusterpolicyresults"}
	out.Reset()
	if err := c.client().Why(t.Context(), &out, Style{Width: 40}, Table, "shop", "Deployment/web", true); err != nil || strings.Contains(out.String(), "cluster") || !strings.Contains(out.String(), "PASS") {
		t.Errorf("got the error %v and\n%s", err, &out)
	}
	c.refused = []string{"namespaces/shop/policyresults"}
	if err := c.client().Why(t.Context(), &out, Style{}, Table, "shop", "Deployment/web", true); !apierrors.IsForbidden(err) {
		t.Errorf("a namespace that may not be read: got the error %v", err)
	}
	for _, subject := range []string{"web", "Deployment", "Deployment/"} {
		if err := c.client().Why(t.Context(), &out, Style{}, Table, "shop", subject, true); err == nil || !strings.Contains(err.Error(), "KIND/NAME") {
			t.Errorf("%s: got the error %v", subject, err)
		}
	}
}

func TestTop(t *testing.T) {
	c := &cluster{t: t, answer: v1alpha1.ResultQueryStatus{Groups: []v1alpha1.ResultGroup{
		{By: map[string]string{"source": "kyverno", "policy": "labels"}, Results: 30}, {By: map[string]string{"source": "trivy", "policy": "cve"}, Results: 1},
	}}}
	var out bytes.Buffer
	if _, err := c.client().Top(t.Context(), &out, Table, Extent{}, ByPolicy, Selection{Results: []string{"fail"}}, 7); err != nil {
		t.Fatal(err)
	}
	if c.spec.Filter != `result in ["fail"]` || c.spec.OrderBy != "results" || !c.spec.Descending || c.spec.Limit != 7 {
		t.Errorf("asked for %+v", c.spec)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) < 3 || !strings.HasSuffix(lines[1], strings.Repeat("#", barWidth)) || !strings.HasSuffix(lines[2], " #") {
		t.Errorf("got\n%s", &out)
	}
	if _, err := c.client().Top(t.Context(), &out, Table, Extent{}, "colours", Selection{}, 7); err == nil || !strings.Contains(err.Error(), "namespaces") {
		t.Errorf("got the error %v", err)
	}
}

// TestTopMessages: messages may be long and have line breaks, and there is one line for each.
func TestTopMessages(t *testing.T) {
	long := strings.Repeat("é", cellWidth+1)
	c := &cluster{t: t, answer: v1alpha1.ResultQueryStatus{Groups: []v1alpha1.ResultGroup{
		{By: map[string]string{"source": "kyverno", "message": "{name} has\nno label"}, Results: 3}, {By: map[string]string{"source": "kyverno", "message": long}, Results: 2},
		{By: map[string]string{"source": "kyverno"}, Results: 1},
	}}}
	var out bytes.Buffer
	if _, err := c.client().Top(t.Context(), &out, Table, Extent{Namespace: "shop"}, ByMessage, Selection{}, 7); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.spec.GroupBy, []string{"source", "message"}) {
		t.Errorf("asked for %+v", c.spec)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 5 || !strings.Contains(lines[1], "{name} has no label ") || !strings.Contains(lines[2], " "+strings.Repeat("é", cellWidth-1)+"… ") ||
		!strings.Contains(lines[3], "<none>") {
		t.Errorf("got\n%s", &out)
	}
}

func TestDiff(t *testing.T) {
	c := &cluster{t: t, results: []v1alpha1.PolicyResult{
		result("staging", "labels", "pass", "", "Pod/web"), result("staging", "probes", "fail", "", "Pod/web"), result("staging", "old", "fail", "", "Pod/web"),
		result("shop", "labels", "fail", "", "Pod/web"), result("shop", "probes", "fail", "", "Pod/web"), result("shop", "new", "fail", "", "Pod/db"),
	}}
	client := c.client()
	var out bytes.Buffer
	sides := [2]Side{{client, Place{Namespace: "staging"}, "staging"}, {client, Place{Namespace: "shop"}, "shop"}}
	differ, err := Diff(t.Context(), &out, Style{}, Table, sides[0], sides[1], Selection{})
	const want = `--- staging
+++ shop

POLICY   NEW   GONE   CHANGED
labels   0     0      1
new      1     0      0
old      0     1      0

Pod/db  new / check: NONE -> FAIL
Pod/web  labels / check: PASS -> FAIL
Pod/web  old / check: FAIL -> NONE
`
	if err != nil || differ != 3 || out.String() != want {
		t.Errorf("%d differ, error %v, got\n%s", differ, err, &out)
	}
}

// hostile is what a report may hold.
const hostile = "=cmd|' /C calc'!A0\x1b[31m\n\u202eevil\t<script>"

func TestFormats(t *testing.T) {
	bad := result("shop", "p", "fail", "high", "Pod/web")
	bad.Message = hostile
	results := []v1alpha1.PolicyResult{bad, result("shop", "q", "pass", "", ""), result("", "c", "warn", "low", "Namespace/shop")}
	outputs := map[Format]string{}
	for _, name := range Formats() {
		var out bytes.Buffer
		w := testkit.Must(NewWriter(&out, Format(name), true))(t)
		for i := range results {
			testkit.NoError(t, w.Write(results[i].DeepCopy()))
		}
		testkit.NoError(t, w.Close())
		outputs[Format(name)] = out.String()
	}
	for _, name := range []Format{Table, Wide} {
		lines := strings.Split(strings.TrimSpace(outputs[name]), "\n")
		if len(lines) != 4 || strings.ContainsAny(outputs[name], "\x1b\u202e\t") || !strings.HasPrefix(lines[0], "NAMESPACE") {
			t.Errorf("%s:\n%s", name, outputs[name])
		}
	}
	rows, err := csv.NewReader(strings.NewReader(outputs[CSV])).ReadAll()
	if err != nil || len(rows) != 4 || rows[1][15] != "'"+hostile {
		t.Errorf("csv: %v\n%s", err, outputs[CSV])
	}
	var list struct{ Items []v1alpha1.PolicyResult }
	if err := json.Unmarshal([]byte(outputs[JSON]), &list); err != nil || len(list.Items) != 3 || list.Items[0].Message != hostile || list.Items[2].Kind != "ClusterPolicyResult" {
		t.Errorf("json: %v\n%s", err, outputs[JSON])
	}
	var log struct{ Runs []sarif.Run }
	if err := json.Unmarshal([]byte(outputs[SARIF]), &log); err != nil || len(log.Runs[0].Results) != 2 || log.Runs[0].Results[1].Level != "warning" {
		t.Errorf("sarif: %v\n%s", err, outputs[SARIF])
	}
	if _, err := NewWriter(&bytes.Buffer{}, "xml", false); err == nil {
		t.Error("xml is a format")
	}
}

func TestEmptyLists(t *testing.T) {
	for _, name := range Formats() {
		var out bytes.Buffer
		w, err := NewWriter(&out, Format(name), false)
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(out.String(), "null") {
			t.Errorf("%s: %s", name, &out)
		}
	}
}

func TestMissingGroup(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	client := testkit.Must(NewClient(&rest.Config{Host: server.URL}))(t)
	if _, err := client.Results(t.Context(), Place{}, Selection{}, 0, nil); err == nil || !strings.Contains(err.Error(), "docket bootstrap") {
		t.Errorf("got the error %v", err)
	}
}
